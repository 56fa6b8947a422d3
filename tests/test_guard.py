"""Every page that is served: by whom it is reached, and what a broken or hostile connection does to it."""

import json
import re
import socket
import struct
import threading

import pytest

from pinnbo.studies import serving
from pinnbo.studies.guard import Guard

HOST = "127.0.0.1:8080"


def page(environ, start_response):
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [b"the page"]


@pytest.fixture
def guard():
    made = Guard(page, writable=False)
    made.hosts.add(HOST)
    return made


def visit(guard, **environ):
    """Status and headers of an answer."""
    said = {}

    def start_response(status, headers):
        said["status"], said["headers"] = int(status.split()[0]), dict(headers)

    b"".join(guard({"REQUEST_METHOD": "GET", "HTTP_HOST": HOST, "PATH_INFO": "/", **environ}, start_response))
    return said["status"], said["headers"]


def cookie(guard):
    return visit(guard, QUERY_STRING=f"token={guard.token}")[1]["Set-Cookie"].partition(";")[0]


@pytest.mark.parametrize(
    ("environ", "status"),
    [
        ({}, 200),
        ({"HTTP_ORIGIN": f"http://{HOST}"}, 200),
        # rebinding: the visitor's browser holds the cookie of another name, or of this one by a mistake
        ({"HTTP_HOST": "evil.example:8080"}, 403),
        ({"HTTP_HOST": "127.0.0.1"}, 403),
        ({"HTTP_HOST": f"{HOST},evil.example"}, 403),
        ({"HTTP_HOST": ""}, 403),
        # cross-site
        ({"HTTP_ORIGIN": "http://evil.example"}, 403),
        ({"HTTP_ORIGIN": "null"}, 403),
        ({"HTTP_ORIGIN": f"https://{HOST}"}, 403),
        ({"HTTP_ORIGIN": f"http://{HOST}.evil.example"}, 403),
        ({"HTTP_ORIGIN": ""}, 403),
        # without the token
        ({"HTTP_COOKIE": ""}, 401),
        ({"HTTP_COOKIE": "pinnbo-8080=guess"}, 401),
        ({"HTTP_COOKIE": "pinnbo-8080=\xff\x00"}, 401),
        ({"HTTP_COOKIE": "=;=;" * 500}, 401),
        ({"HTTP_COOKIE": "", "QUERY_STRING": "token=guess"}, 401),
        ({"HTTP_COOKIE": "", "QUERY_STRING": "token=%ff%00&token&&==;"}, 401),
        # a change
        *[({"REQUEST_METHOD": method}, 403) for method in ("POST", "PUT", "DELETE", "PATCH", "OPTIONS", "", "get")],
    ],
)  # fmt: skip
def test_who_is_let_in(guard, environ, status):
    got, headers = visit(guard, **{"HTTP_COOKIE": cookie(guard), **environ})
    assert got == status
    assert headers["X-Frame-Options"] == "DENY"
    assert guard.token not in json.dumps(headers)


@pytest.mark.parametrize(
    ("path", "location"),
    [
        ("", "/"),
        ("/state", "/state"),
        ("//evil.example/x", "/evil.example/x"),
        ("/a\r\nSet-Cookie: b=c", "/a%0D%0ASet-Cookie%3A%20b%3Dc"),
        ("/\xff\\", "/%FF%5C"),
    ],
)
def test_the_token_leads_to_this_server_only(guard, path, location):
    status, headers = visit(guard, PATH_INFO=path, QUERY_STRING=f"token={guard.token}")
    assert (status, headers["Location"]) == (303, location)


def test_connections_that_break_off_or_make_no_sense_leave_no_trace(capfd):
    def failing(environ, start_response):
        raise RuntimeError("the page fails")

    server, address = serving.server_for(failing, "test", "127.0.0.1", 0, writable=True)
    token = address.partition("token=")[2]
    assert re.fullmatch(r"[\w-]{32}", token)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    host = f"127.0.0.1:{server.server_port}"
    letters = [
        b"",
        b"\r\n",
        b"GET",
        b"GET / HTTP/9.9\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01",
        b"GET /" + b"a" * 70_000 + b" HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1\r\n" + b"A: b\r\n" * 500 + b"\r\n",
        b"POST / HTTP/1.1\r\nHost: " + host.encode() + b"\r\nContent-Length: 99999\r\n\r\n{",
        f"GET /?token={token} HTTP/1.1\r\nHost: {host}\r\nCookie: pinnbo-{server.server_port}={token}\r\n\r\n".encode(),
        f"GET / HTTP/1.1\r\nHost: {host}\r\nCookie: pinnbo-{server.server_port}={token}\r\n\r\n".encode(),
    ]
    with server:
        for letter in letters:
            for reset in (True, False):
                with socket.create_connection(("127.0.0.1", server.server_port), timeout=30) as visitor:
                    visitor.sendall(letter)
                    if reset:  # instead of a farewell
                        visitor.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                    else:
                        visitor.shutdown(socket.SHUT_WR)
                        while visitor.recv(65536):
                            pass
        server.shutdown()
        thread.join()
    assert capfd.readouterr() == ("", "")
