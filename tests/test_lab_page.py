"""The lab page, used as people would: typed into in a real browser, reloaded, doubled, killed."""

import json
import re
import signal
import urllib.error
import urllib.request

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import Select, WebDriverWait

from pinnbo.studies import problem_file
from pinnbo.studies.campaign import open_campaign
from pinnbo.studies.lab import LabPage

TWELVE = """
goal = "minimize"
budget = 12
method = "random"
seed = 0
name = "<script>alert(1)</script> lab"
[space]
x = [0.0, 3.0]
"<b>y</b>" = [-1.0, 1.0]
"""


class Page:
    def __init__(self, browser):
        self.browser, self.driver = browser, browser.driver

    def until(self, condition):
        return WebDriverWait(self.driver, 60, poll_frequency=0.1).until(lambda _: condition())

    def text(self, id):
        return self.driver.find_element(By.ID, id).text

    def click(self, id):
        self.until(lambda: self.driver.find_element(By.ID, id).is_enabled())
        self.driver.find_element(By.ID, id).click()

    def type(self, id, text):
        field = self.driver.find_element(By.ID, id)
        field.clear()
        field.send_keys(text)

    def trial(self):
        return int(self.until(lambda: self.text("trial")))

    def answer(self, value, noise=""):
        """Type a value and wait for the next point; returns the trial."""
        trial = self.trial()
        self.type("value", value)
        self.type("noise", noise)
        self.driver.find_element(By.CSS_SELECTOR, "#entry button[type=submit]").click()
        self.stored(trial)
        return trial

    def stored(self, trial):
        """Wait until a trial is answered and the page has gone on."""
        self.until(lambda: self.text("trial") != str(trial))
        self.until(lambda: not self.driver.execute_script("return busy"))


def started(lab, port="0"):
    process = lab.start("lab", "--port", port)
    address = re.search(r"http://127\S+", process.stdout.readline())[0]
    return process, address


def stop(process, how):
    process.send_signal(how)
    process.communicate(timeout=60)


def test_a_study_is_typed_in_and_nothing_is_lost_or_doubled(lab, browser):
    lab.problem(base=TWELVE)
    process, address = started(lab)
    try:
        page = Page(browser)
        browser.look()
        browser.errors(), browser.requests()
        page.driver.get(address)
        page.until(lambda: "0 of 12" in page.text("progress"))
        page.click("ask")
        page.answer("1.5")
        slip = page.answer("250", noise="0.1")
        # a slip is corrected
        page.until(
            lambda: page.driver.find_elements(By.CSS_SELECTOR, f"button[aria-label='Correct trial {slip}']")
        )[0].click()
        page.type("corrected", "2.5")
        page.driver.find_element(By.CSS_SELECTOR, "#correction button[type=submit]").click()
        page.until(lambda: "is 2.5 now" in page.text("said"))
        # not a number
        page.type("value", "2,5")
        page.driver.find_element(By.CSS_SELECTOR, "#entry button[type=submit]").click()
        page.until(lambda: "Expected a number" in page.text("trouble"))
        page.answer("3.5")
        bad = page.trial()
        page.click("impossible")
        page.stored(bad)
        # a reload in the middle keeps the trial in front
        before = page.trial()
        page.driver.refresh()
        assert page.trial() == before
        page.answer("4.5")
        # a second page answers the same trial first
        both = page.trial()
        first = page.driver.current_window_handle
        page.driver.switch_to.new_window("tab")
        page.driver.get(address.partition("?")[0])
        assert page.trial() == both
        page.answer("5.5")
        page.driver.close()
        page.driver.switch_to.window(first)
        page.driver.execute_script("mine = arguments[0]; tell(99, '99')", both)
        page.until(lambda: "already" in page.text("trouble"))
        assert page.driver.find_element(By.TAG_NAME, "h1").text == "<script>alert(1)</script> lab"
        page.until(lambda: "Best point" in page.text("words"))
        errors = [line for line in browser.errors() if "409" not in line]
        assert not errors
        assert all(url.startswith(address.partition("?")[0]) for url in browser.requests())
        assert not browser.inaccessible()
        for dark in (False, True):
            browser.look(width=390, height=800, dark=dark)
            assert not browser.overflows()
        assert not browser.inaccessible()
        browser.look()

        # the server is killed while a value is being typed, and started again on the same port
        page.until(lambda: page.text("trial"))
        open_trial = page.trial()
        page.type("value", "6.5")
        port = address.partition("?")[0].rstrip("/").rpartition(":")[2]
        stop(process, signal.SIGKILL)
        page.driver.find_element(By.CSS_SELECTOR, "#entry button[type=submit]").click()
        page.until(lambda: "does not answer" in page.text("trouble"))
        assert page.driver.find_element(By.ID, "value").get_attribute("value") == "6.5"
        process, address = started(lab, port)
        page.until(lambda: "started again" in page.text("trouble"))
        page.driver.get(address)
        assert page.trial() == open_trial
        for k in range(6):
            page.answer(f"{6.5 + k}")
            if "12 of 12" in page.text("progress"):
                break
        page.until(lambda: "12 of 12" in page.text("progress"))
    finally:
        stop(process, signal.SIGTERM)
    rows = [row for row in lab.rows() if row["meaning"] in ("measured", "infeasible")]
    assert len(rows) == 12
    assert [row["trial"] for row in rows if row["meaning"] == "infeasible"] == [bad]
    values = [row["value"] for row in rows if row["meaning"] == "measured"]
    assert sorted(values) == [1.5 + k for k in range(11)]
    (corrected,) = [row for row in rows if row["was"]]
    assert (corrected["trial"], corrected["value"], corrected["noise"], corrected["was"]) == (
        slip,
        2.5,
        0.1,
        [250.0],
    )


NASTY = "</script><script>document.title='hacked'</script><img src=x onerror=\"document.title='hacked'\">"
LINK = "![x](http://evil.example/x.png)<b>"
HOSTILE = f"""
goal = "minimize"
budget = 12
method = "random"
seed = 0
name = {json.dumps(f"n {NASTY} {LINK}")}
value = {json.dumps(f"v{NASTY}")}
equation = "d(T, x) = 0"
[space]
x = [0.0, 3.0]
{json.dumps(f"y{NASTY}")} = [-1.0, 1.0]
[units]
x = {json.dumps(NASTY)}
{json.dumps(f"v{NASTY}")} = {json.dumps(NASTY)}
"""


def test_text_of_a_problem_file_cannot_bring_a_script_into_a_page(lab, browser):
    lab.problem(base=HOSTILE)
    driver, page = browser.driver, Page(browser)
    browser.look()
    driver.get("about:blank")
    browser.errors()  # of pages before, whose servers were killed

    def harmless():
        assert "hacked" not in driver.title.replace(NASTY, "")
        assert not driver.find_elements(By.CSS_SELECTOR, "img[src=x], img[src*=evil]")
        assert not [url for url in browser.requests() if "evil" in url or url.endswith("/x")]

    process, address = started(lab)
    try:
        driver.get(address)
        page.until(lambda: "0 of 12" in page.text("progress"))
        page.type("who", NASTY[:40])
        page.click("ask")
        page.answer("1.5")
        page.until(lambda: "Best point" in page.text("words"))
        page.until(lambda: NASTY in page.text("what"))
        assert NASTY[:20] in page.text("queue") or "yours" in page.text("queue")
        harmless()
        assert not browser.errors()
    finally:
        driver.get("about:blank")  # or it would go on asking
        stop(process, signal.SIGTERM)
    process = lab.start("dashboard", "--port", "0")
    try:
        driver.get(re.search(r"http://127\S+", process.stdout.readline())[0])
        # our words and our map come first
        assert "the best point is" in driver.find_element(By.CSS_SELECTOR, ".summary").text
        assert driver.find_element(By.TAG_NAME, "h1").text == f"n {NASTY} {LINK}"
        assert driver.find_elements(By.TAG_NAME, "canvas")
        harmless()
        assert not browser.inaccessible()
        assert not browser.errors()
        driver.find_element(By.CSS_SELECTOR, "a.button").click()
        page.until(lambda: "dashboard/studies" in driver.current_url)
        driver.get(driver.current_url + "/note")
        page.until(lambda: "still to be gained" in driver.find_element(By.TAG_NAME, "body").text)
        harmless()
    finally:
        stop(process, signal.SIGTERM)


ROD = """
goal = "maximize"
budget = 6
noise = 0.01
seed = 0
equation = "d2(T, x) = T"
[space]
x = [0.0, 1.0]
[sensors]
flux = "-0.6*d(T, x)"
"<b>mean</b>" = {over = {shape = "box", sides = [0.1]}}
"""


def test_what_another_sensor_read_is_entered_as_that(lab, browser):
    lab.problem(base=ROD)
    process, address = started(lab)
    try:
        page = Page(browser)
        browser.look(width=390)
        browser.errors()
        page.driver.get(address)
        page.click("ask")
        page.trial()
        select = Select(page.driver.find_element(By.ID, "of"))
        page.until(lambda: len(select.options) == 3)
        assert [option.text for option in select.options] == ["what is optimised", "flux", "<b>mean</b>"]
        select.select_by_visible_text("flux")
        page.answer("-0.7")
        assert (
            select.first_selected_option.text == "what is optimised"
        )  # the next value is one of these again
        page.answer("1.2")
        page.until(lambda: "reading of flux" in page.driver.find_element(By.ID, "answers").text)
        assert not browser.inaccessible()
        assert not browser.overflows()
        assert not browser.errors()
    finally:
        stop(process, signal.SIGINT)
    assert [(row["meaning"], row.get("of")) for row in lab.rows()][:2] == [
        ("read", "flux"),
        ("measured", None),
    ]


def test_several_people_see_who_has_which_point(lab, browser):
    lab.problem(base=TWELVE)
    process, address = started(lab)
    driver, page = browser.driver, Page(browser)
    browser.look()
    try:
        driver.get(address)
        page.until(lambda: "0 of 12" in page.text("progress"))
        page.type("who", "Anna")
        page.click("ask")
        hers = page.trial()
        page.until(lambda: "yours" in page.text("queue"))
        anna = driver.current_window_handle
        driver.switch_to.new_window("tab")
        driver.get(address.partition("?")[0])
        page.until(lambda: "Anna" in driver.find_element(By.ID, "who").get_attribute("value"))
        page.type("who", "Ben\t")
        # hers is not offered to him, unless he takes it
        page.until(lambda: "with Anna" in page.text("queue"))
        driver.execute_script("sessionStorage.clear(); mine = null; show()")
        page.until(lambda: not driver.find_element(By.ID, "turn").is_displayed())
        page.click("ask")
        his = page.trial()
        assert his != hers
        page.answer("1.0")
        page.until(lambda: page.text("trial") not in ("", str(his)) and "is yours" in page.text("said"))
        driver.find_element(By.CSS_SELECTOR, f"button[aria-label='Trial {hers}: Take it']").click()
        page.until(lambda: page.text("queue").count("yours") == 2)
        driver.close()
        driver.switch_to.window(anna)
        page.until(lambda: f"Trial {hers}" in page.text("queue") and "with Ben" in page.text("queue"))
    finally:
        stop(process, signal.SIGTERM)
    assert [row["value"] for row in lab.rows() if row["meaning"] == "measured"] == [1.0]


def test_the_version_is_that_of_what_is_shown(lab, monkeypatch):
    """A point that gets its name between two readings of the storage is shown with it at the next look."""
    lab.problem(base=TWELVE)
    with open_campaign(problem_file.read(lab.file), create=True) as campaign:
        page = LabPage(campaign)
        page._ask({})
        real, looks = LabPage._holders, []

        def named_meanwhile(self):
            looks.append(real(self))
            if len(looks) == 1:
                page._take({"trial": 0, "who": "Anna"})
            return looks[-1]

        monkeypatch.setattr(LabPage, "_holders", named_meanwhile)
        first, second = page.state(), page.state()
    assert [one["queue"][0]["who"] for one in (first, second)] == ["", "Anna"]
    assert first["version"] != second["version"]


def test_a_request_from_elsewhere_is_refused(lab):
    process, address = started(lab)
    base = address.partition("?")[0]
    opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
    try:
        assert opener.open(address, timeout=30).status == 200

        def asked(path="state", data=None, **headers):
            names = {name.replace("_", "-"): text for name, text in headers.items()}
            request = urllib.request.Request(base + path, data, {"Content-Type": "application/json", **names})
            try:
                with opener.open(request, timeout=60) as answer:
                    return answer.status, json.load(answer)
            except urllib.error.HTTPError as error:
                with error:
                    return error.code, error.read().decode()

        assert asked()[0] == 200
        assert asked(Host="evil.example")[0] == 403
        assert asked("ask", b"{}", Origin="http://evil.example")[0] == 403
        assert asked("ask", b"x=1", Content_Type="application/x-www-form-urlencoded")[0] == 409
        assert urllib_status(base + "state") == 401
        assert asked("nothing")[0] == 404
        assert asked("tell", b'{"trial": 7, "value": 1}')[0] == 409
        assert asked("ask", b"{}")[0] == 200
        for who in (b"3", b'"\\n"', json.dumps("n" * 41).encode()):
            assert asked("take", b'{"trial": 0, "who": ' + who + b"}")[0] == 409
        assert asked("take", b'{"trial": 5, "who": ""}')[0] == 409
        for value in (b'"nan"', b"true", b"1e999", b"[1]", b"null"):
            assert asked("tell", b'{"trial": 0, "value": ' + value + b"}")[0] == 409
        assert asked("tell", b'{"trial": 0, "value": 1, "noise": -1}')[0] == 409
        assert asked("tell", b"{" * 20_000)[0] == 409
        assert asked()[1]["queue"][0]["trial"] == 0
    finally:
        stop(process, signal.SIGTERM)
    assert [row["meaning"] for row in lab.rows()] == ["pending"]


def urllib_status(url):
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(url, timeout=30)
    refused.value.close()
    return refused.value.code
