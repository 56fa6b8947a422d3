"""Reports, opened in a real browser: nothing is complained of, nothing asked for elsewhere, everything can be read."""

import numpy as np
import pytest
from selenium.webdriver.common.by import By

from pictures_help import beam_of_two_fields, in_the_plane_and_time, is_to_be_had, measured, two_fields
from pinnbo import PDE, Optimizer, Space, plots
from pinnbo.operators import partial
from pinnbo.pages import words
from pinnbo.pages.html import inert
from pinnbo.plots.canvas import Names
from pinnbo.replay import LeftOut
from pinnbo.studies.stopping import outlook


def partial_0(f):
    return partial(f, 0)


NASTY = "</script><script>document.title='hacked'</script><img src=x onerror=\"document.title='hacked'\">"


STUDIES = {
    "1-D": lambda: measured("beam-1", 4),
    "2-D": lambda: measured("heat-1", 9),
    "10-D": lambda: measured("styblinski-tang-10", 6),
    "half failed": lambda: measured("heat-1", 8, failing=True),
    "empty": lambda: measured("dropwave-2", 0),
    "two fields": lambda: beam_of_two_fields(4),
    "two fields in the plane": lambda: two_fields(6),
    "in time": lambda: in_the_plane_and_time(6),
}
QUICK = ("1-D", "half failed", "empty", "two fields")


@pytest.mark.parametrize(
    "name", [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in STUDIES]
)
def test_a_report_opens_without_errors_or_requests_and_is_accessible(name, browser, tmp_path):
    optimizer, file = STUDIES[name](), tmp_path / "report.html"
    optimizer.report(file, title=name)
    n = len(optimizer.to_dict()["records"])
    pictures = sum(is_to_be_had(kind, optimizer) for kind in plots.KINDS)
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
    assert bool(driver.find_elements(By.TAG_NAME, "math")) == any(pde.equation for pde in optimizer.physics)
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


def test_the_slider_moves_the_plane_and_buttons_change_the_field(browser, tmp_path):
    space = Space(x=(0.0, 1.0), y=(0.0, 1.0), t=(0.0, 2.0))
    optimizer = Optimizer(space, method="random")
    points = space.sobol(9, seed=1)
    optimizer.tell(points, points @ [1.0, 2.0, 3.0])
    file = tmp_path / "report.html"
    optimizer.report(file, units={"t": "s"})
    driver = browser.driver
    browser.look()
    driver.get(file.as_uri())
    slider, place = (driver.find_element(By.CSS_SELECTOR, f".slider {part}") for part in ("input", ".place"))
    before = driver.execute_script("return document.querySelector('canvas').toDataURL()")
    slider.send_keys("\ue010")  # end
    assert place.text == "t [s] = 2"
    assert slider.get_attribute("aria-valuetext") == "t [s] = 2"
    assert driver.execute_script("return document.querySelector('canvas').toDataURL()") != before
    driver.find_element(By.TAG_NAME, "canvas").send_keys("\ue014")
    assert "t [s] = 2:" in driver.find_element(By.TAG_NAME, "output").text
    beam_of_two_fields(3).report(file)
    driver.get(file.as_uri())
    first, second = driver.find_elements(By.CSS_SELECTOR, ".fields button")
    assert (first.text, second.text) == ("w", "M")
    second.click()
    driver.find_element(By.TAG_NAME, "canvas").send_keys("\ue014")
    assert ": M = " in driver.find_element(By.TAG_NAME, "output").text
    assert not browser.errors()


def test_text_of_a_problem_cannot_bring_a_script(browser, tmp_path):
    optimizer = Optimizer(Space(**{f"n{NASTY}": (0.0, 1.0)}), PDE(partial_0, name=NASTY), method="random")
    optimizer.tell([[0.2], [0.8]], [1.0, 2.0])
    file = tmp_path / "report.html"
    units = {f"n{NASTY}": NASTY, f"v{NASTY}": NASTY}
    optimizer.report(file, title=f"t{NASTY}", value=f"v{NASTY}", units=units, settings=[(NASTY, NASTY)])
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
    optimizer = measured("beam-1", 5)
    monkeypatch.setattr(Optimizer, "diagnostics", lambda self: {"hypotheses": shares})
    assert said in words.equation(optimizer)
    few = measured("beam-1", 1)
    assert "too few measurements to test" in words.equation(few)


def test_report_from_the_shell(lab):
    lab.ok("tell", "0.5", "--at", "x=0.5")
    lab.ok("tell", "0", "0.7", "--replace")
    assert lab.ok("report").strip().endswith("lab.html")
    text = (lab.folder / "lab.html").read_text()
    assert "was 0.5" in text
    assert "Budget" in text
    assert "ends in .html" in lab.refused("report", "--output", "report.pdf")
    assert "cannot be written" in lab.refused("report", "--output", str(lab.folder / "no" / "report.html"))
