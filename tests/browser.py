"""A real browser for the tests of the pages."""

import json
import os
import subprocess
from importlib.resources import files
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[1] / "scripts" / "chromium"
_FLAGS = (
    *(
        "headless",
        "no-sandbox",
        "disable-gpu",
        "disable-quic",
        "no-first-run",
        "disable-background-networking",
    ),
    *("disable-component-update", "disable-sync", "disable-dev-shm-usage"),
)


class Browser:
    """Chromium without a window, with a profile of its own."""

    def __init__(self, folder: str) -> None:
        from selenium import webdriver
        from selenium.webdriver.chrome.service import Service

        found = subprocess.run([SCRIPT, "where"], capture_output=True, text=True, check=False)
        if found.returncode:
            pytest.fail(found.stderr)
        binary, driver = found.stdout.split()
        options = webdriver.ChromeOptions()
        options.binary_location = binary
        for flag in (*_FLAGS, f"user-data-dir={folder}"):
            options.add_argument(f"--{flag}")
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        os.environ["SE_AVOID_STATS"] = "true"
        self.driver = webdriver.Chrome(options, Service(driver))
        self.driver.set_script_timeout(60)

    def look(self, *, width=1280, height=900, dark=False):
        """The width and the colours of the screen."""
        screen = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)
        scheme = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": scheme})

    def errors(self):
        """What the console complained of since the last time."""
        return [entry["message"] for entry in self.driver.get_log("browser") if entry["level"] == "SEVERE"]

    def requests(self):
        """The addresses that were asked for since the last time."""
        messages = [json.loads(entry["message"])["message"] for entry in self.driver.get_log("performance")]
        sent = [m["params"]["request"]["url"] for m in messages if m["method"] == "Network.requestWillBeSent"]
        return [url for url in sent if not url.startswith("data:")]

    def inaccessible(self):
        """What axe finds serious about the page."""
        self.driver.execute_script(files("axe_core_python").joinpath("axe.min.js").read_text())
        found = self.driver.execute_async_script("axe.run().then(arguments[0])")
        return [
            (one["id"], [node["html"][:120] for node in one["nodes"]])
            for one in found["violations"]
            if one["impact"] in ("serious", "critical")
        ]

    def overflows(self):
        """Whether the page is wider than the screen."""
        return self.driver.execute_script(
            "return document.documentElement.scrollWidth > document.documentElement.clientWidth"
        )

    def close(self):
        self.driver.quit()
