"""Reports, opened in a real browser: nothing is complained of, nothing asked for elsewhere, everything can be read."""

import numpy as np
import pytest
from selenium.webdriver.common.by import By

from pinnbo import Optimizer, Space, problems
from pinnbo.methods.auto import Auto
from pinnbo.pages import words
from pinnbo.pages.html import inert
from pinnbo.plots.canvas import Names
from pinnbo.replay import LeftOut
from pinnbo.studies.stopping import outlook

NASTY = "</script><script>document.title='hacked'</script><img src=x onerror=\"document.title='hacked'\">"


def searched(name, n, *, failing=False, pde=True):
    problem, rng = problems.get(name), np.random.default_rng(0)
    optimizer = Optimizer(
        problem.space, problem.pde if pde else None, goal=problem.goal, method=Auto(collocation=60)
    )
    for k, x in enumerate(problem.space.sobol(max(n, 1), seed=3)[:n]):
        optimizer.tell(x, np.nan if failing and k % 2 else problem.observe(x, rng))
    return optimizer


@pytest.mark.parametrize(
    ("name", "n", "failing", "pictures"),
    [
        ("beam-1", 4, False, 7),
        ("heat-1", 8, True, 7),
        pytest.param("heat-1", 9, False, 7, marks=pytest.mark.slow),
        pytest.param("styblinski-tang-10", 6, False, 7, marks=pytest.mark.slow),
        ("dropwave-2", 0, False, 0),
    ],
)
def test_a_report_opens_without_errors_or_requests_and_is_accessible(
    name, n, failing, pictures, browser, tmp_path
):
    optimizer, file = searched(name, n, failing=failing), tmp_path / "report.html"
    optimizer.report(file, title=name)
    browser.look()
    browser.errors(), browser.requests()
    driver = browser.driver
    driver.get(file.as_uri())
    assert not browser.errors()
    assert browser.requests() == [file.as_uri()]
    shown = driver.find_elements(By.TAG_NAME, "img")
    assert len(shown) == pictures
    assert all(driver.execute_script("return arguments[0].naturalWidth", one) > 200 for one in shown)
    assert all(one.get_attribute("alt") for one in shown)
    first = driver.find_element(By.CSS_SELECTOR, ".summary").text
    assert ("Nothing has been measured" if n == 0 else "the best point is") in first
    lines = driver.find_elements(By.CSS_SELECTOR, "#table tbody tr")
    assert len(lines) == n
    for width, dark in ((1280, False), (390, False), (1280, True), (390, True)):
        browser.look(width=width, dark=dark)
        assert not browser.overflows()
        if width == 390:
            assert not browser.inaccessible()


def test_the_map_reads_out_and_the_table_is_sorted_and_turned(browser, tmp_path):
    space = Space(x=(0.0, 1.0), y=(0.0, 2.0))
    optimizer = Optimizer(space, method="random")
    points = space.sobol(60, seed=1)
    optimizer.tell(points, points.sum(axis=1))
    file = tmp_path / "report.html"
    optimizer.report(file, units={"x": "m", "f": "K"})
    browser.look()
    driver = browser.driver
    driver.get(file.as_uri())
    canvas = driver.find_element(By.TAG_NAME, "canvas")
    canvas.send_keys("\ue014")  # arrow to the right
    assert "x [m] = 0.5" in driver.find_element(By.TAG_NAME, "output").text
    driver.find_element(By.CSS_SELECTOR, "button[data-layer=std]").click()
    assert driver.find_element(By.ID, "page").text == "Rows 1 to 25 of 60"
    driver.find_element(By.ID, "on").click()
    assert driver.find_element(By.ID, "page").text == "Rows 26 to 50 of 60"
    value = driver.find_elements(By.CSS_SELECTOR, "#table th button")[4]
    assert value.text == "f [K]"
    value.click()
    cells = [float(e.text) for e in driver.find_elements(By.CSS_SELECTOR, "#table tbody td:nth-child(5)")]
    np.testing.assert_allclose(cells, np.sort(points.sum(axis=1))[:25], rtol=1e-5)


def test_text_of_a_problem_cannot_bring_a_script(browser, tmp_path):
    optimizer = Optimizer(Space(**{f"n{NASTY}": (0.0, 1.0)}), method="random")
    optimizer.tell([[0.2], [0.8]], [1.0, 2.0])
    file = tmp_path / "report.html"
    optimizer.report(file, title=f"t{NASTY}", value=f"v{NASTY}", settings=[(NASTY, NASTY)])
    browser.errors()
    browser.driver.get(file.as_uri())
    assert browser.driver.title == f"t{NASTY}"
    assert not browser.errors()
    # and if a mistake of ours let one through, the page's policy would not run it
    file.write_text(file.read_text().replace("</main>", f"{NASTY}</main>"))
    browser.driver.get(file.as_uri())
    assert browser.driver.title == f"t{NASTY}"
    assert any("Content Security Policy" in line for line in browser.errors())


def test_json_in_a_page_ends_no_element():
    assert "<" not in inert({"a": "</script><!--", "b": "&lt;"})


@pytest.mark.slow
def test_a_report_of_ten_thousand_evaluations_is_below_ten_megabytes(tmp_path):
    space = Space.box(np.zeros(10), np.ones(10))
    optimizer = Optimizer(space, method="random")
    points = space.sobol(10_000, seed=1)
    optimizer.tell(points, points.sum(axis=1))
    file = tmp_path / "report.html"
    optimizer.report(file)
    assert file.stat().st_size < 10e6


# ---------------------------------------------------------------- in words


def test_words_say_whether_intervals_hold_and_whether_to_go_on():
    optimizer = Optimizer(Space(x=(0.0, 1.0)), noise=0.1)
    at = np.linspace(0, 1, 12)
    optimizer.tell(at[:, None], (at - 0.5) ** 2)
    names, now = Names(optimizer.space, "cost", {"cost": "EUR"}), outlook(optimizer)
    held = LeftOut(np.zeros(20), np.zeros(20), np.ones(20), 20)
    missed = held._replace(values=np.where(np.arange(20) < 5, 9.0, 0.0))
    good, bad = (
        " ".join(s.text for s in words.summary(optimizer, names, now, one)) for one in (held, missed)
    )
    assert "20 of 20" in good
    assert "as it should be" in good
    assert "15 of 20" in bad
    assert "larger than stated" in bad
    assert "EUR" in good
    assert "hardly worth it" in words.going_on(optimizer, names, now._replace(expected_improvement=0.01))
    assert "worth a measurement to you" in words.going_on(
        optimizer, names, now._replace(expected_improvement=5.0)
    )
    assert "No equation is stated" in good


@pytest.mark.parametrize(
    ("shares", "said"),
    [
        ({"exact": 0.9, "nearly true": 0.1, "wrong": 0.0}, "agree with the stated equation"),
        ({"exact": 0.1, "nearly true": 0.8, "wrong": 0.1}, "nearly true, and still helps"),
        ({"exact": 0.1, "nearly true": 0.1, "wrong": 0.8}, "contradict the stated equation"),
        ({"exact": 0.4, "nearly true": 0.3, "wrong": 0.3}, "do not tell yet"),
    ],
)
def test_words_follow_the_likeliest_hypothesis(shares, said, monkeypatch):
    optimizer = searched("beam-1", 1)
    monkeypatch.setattr(Optimizer, "diagnostics", lambda self: {"hypotheses": shares})
    assert said in words.equation(optimizer)


def test_report_from_the_shell(lab):
    lab.ok("tell", "0.5", "--at", "x=0.5")
    lab.ok("tell", "0", "0.7", "--replace")
    assert lab.ok("report").strip().endswith("lab.html")
    text = (lab.folder / "lab.html").read_text()
    assert "was 0.5" in text
    assert "Budget" in text
    assert "ends in .html" in lab.refused("report", "--output", "report.pdf")
    assert "cannot be written" in lab.refused("report", "--output", str(lab.folder / "no" / "report.html"))
