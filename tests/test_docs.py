"""The documentation: its code runs, its links lead somewhere, the site is built and can be read."""

import html.parser
import re
import subprocess
import sys
import tomllib
from urllib.parse import unquote, urlsplit

import pytest

import pages
import pinnbo

PAGES = pages.all_pages()
# pages whose code takes seconds; the others belong to make test-all
QUICK = ("README", "guide/cookbook", "guide/equations")
WITH_CODE = [page for page in PAGES if any(b.language in ("python", "console") for b in pages.blocks(page))]
LAB_DAY = pages.DOCS / "guide" / "studies.md"  # has a test of its own


@pytest.mark.parametrize("page", PAGES, ids=pages.name)
def test_blocks_are_code_that_can_be_read(page):
    for block in pages.blocks(page):
        if block.language == "python":
            compile(block.code, str(page), "exec")
        elif block.language == "toml":
            tomllib.loads(block.code)
        elif block.language == "console":
            assert all(command.startswith("pinnbo ") for command, _ in pages.commands(block))
        else:
            assert block.language in pages.SHOWN or block.language.startswith("{"), block.language


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(p, marks=[] if pages.name(p) in QUICK else pytest.mark.slow)
        for p in WITH_CODE
        if p != LAB_DAY
    ],
    ids=pages.name,
)
def test_the_code_of_a_page_runs(page, tmp_path):
    pages.run(page, tmp_path)


def test_there_is_code_to_run():
    assert len(WITH_CODE) >= 12


@pytest.mark.slow
def test_a_day_in_the_lab_ends_as_the_page_says(tmp_path):
    said = pages.run(LAB_DAY, tmp_path)
    told = {command.split("  ")[0]: answer for command, answer in said.items()}
    assert "trial 0: 0.94 instead of 9.4" in told["pinnbo tell plate.toml 0 0.94 --replace"]
    assert "3 of 20 (1 infeasible)" in told["pinnbo status plate.toml"]
    assert re.search(r"http://127\.0\.0\.1:\d+/\?token=", told["pinnbo dashboard plate.toml"])
    assert "Best(x=" in told["python"]
    rows = (tmp_path / "plate.csv").read_text().splitlines()
    assert [row.split(",")[1] for row in rows[1:]] == ["measured", "infeasible", "measured"]
    assert rows[1].endswith(",0.94,,9.4,")


@pytest.mark.parametrize("page", PAGES, ids=pages.name)
def test_links_of_a_page_lead_to_files(page):
    prose = re.sub(r"```.*?```|`[^`]*`", "", pages.text_of(page), flags=re.DOTALL)
    local = [urlsplit(link) for link in re.findall(r"\]\(([^)\s]+)\)", prose)]
    missing = [
        link.path
        for link in local
        if not link.netloc and link.path and not (page.parent / link.path).exists()
    ]
    assert missing == []


def test_every_equation_has_its_place_in_the_cookbook():
    sys.path.insert(0, str(pages.DOCS / "_site"))
    import catalogue

    from pinnbo import equations

    text = catalogue.text()
    assert [name for name in equations.available() if f"## {name}\n" not in text] == []
    assert set(catalogue.conditions()) <= set(equations.available())


def test_parameters_of_a_docstring_become_fields():
    sys.path.insert(0, str(pages.DOCS / "_site"))
    import docstrings

    lines = [
        "What.",
        "",
        "Parameters",
        "----------",
        "a: first,",
        "    and more",
        "b, c: both",
        "",
        "Rest",
        "----",
    ]
    assert docstrings.converted(lines) == [
        *("What.", "", ""),
        *(":param a: first,", "    and more", ":param b: both", ":param c: both", "", ".. rubric:: Rest", ""),
    ]


def test_the_citation_is_that_of_this_version():
    cited = (pages.ROOT / "CITATION.cff").read_text()
    assert re.search(r"^version: (.*)$", cited, flags=re.MULTILINE)[1] == pinnbo.__version__
    assert "cff-version: 1.2.0" in cited


def test_the_readme_is_short():
    assert len((pages.ROOT / "README.md").read_text().splitlines()) <= 75


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The site, built from nothing with warnings as errors."""
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-E", "-q", "-b", "html", pages.DOCS, folder],
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    return folder


class _Links(html.parser.HTMLParser):
    """What a page links to, and what on it can be linked to."""

    def __init__(self, text):
        super().__init__()
        self.links, self.anchors = [], set()
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        self.anchors |= {given[key] for key in ("id", "name") if given.get(key)}
        self.links += [given[key] for key in ("href", "src") if given.get(key)]


@pytest.mark.slow
def test_the_site_has_no_dead_link_of_its_own(site):
    found = {path: _Links(path.read_text()) for path in site.rglob("*.html")}
    assert len(found) > 40
    dead = []
    for path, page in found.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            there = found[target].anchors if target in found else ()
            if not target.exists() or (there and parts.fragment and unquote(parts.fragment) not in there):
                dead.append((path.name, link))
    assert dead == []


@pytest.mark.slow
@pytest.mark.parametrize("width", [1280, 390])
def test_the_site_can_be_read_in_a_browser(site, browser, width):
    browser.look(width=width)
    for page in ("index", "start/first-experiment", "guide/cookbook", "gallery/room", "reference/python"):
        browser.requests()
        browser.driver.get((site / f"{page}.html").as_uri())
        assert browser.errors() == [], page
        assert not browser.overflows(), page
        assert [url for url in browser.requests() if not url.startswith("file:")] == [], page
        assert browser.driver.execute_script(
            "return [...document.images].every(image => image.complete && image.naturalWidth > 0)"
        ), page
        assert browser.inaccessible() == [], page
