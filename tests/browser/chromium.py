"""Chromium, driven by Playwright: the browser of the system, never one that is downloaded."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, Request, Route, sync_playwright

from tests.support.server import Server, port_of

NAMES = ("chromium", "chromium-browser", "google-chrome")
TIMEOUT = 10_000  # milliseconds until something that should come counts as missing
DESK = (1200, 900)
PHONE = (360, 740)
AXE = Path(__file__).parents[1] / "clients/js/node_modules/axe-core/axe.min.js"


@contextmanager
def chromium() -> Iterator[Browser]:
    """The browser; where it is missing the tests are skipped, and say so."""
    found = next(filter(None, map(shutil.which, NAMES)), None)
    if found is None:
        pytest.skip("Chromium is not installed: nothing was tested in a browser")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found)
        yield browser
        browser.close()


def monitor_url(server: Server) -> str:
    return f"http://127.0.0.1:{port_of(server.ports['monitoring'][0])}"


class Window:
    """A page, watched: whatever it complains of or asks others for is remembered.

    A new one costs the better part of a second, so tests take the same one in turn.
    """

    def __init__(self, browser: Browser) -> None:
        self.context = browser.new_context()
        self.page: Page = self.context.new_page()
        self.page.set_default_timeout(TIMEOUT)
        self.url = ""
        self.visits = 0
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self.page.on("console", lambda said: self._console(said.type, said.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))

    def turn_to(self, url: str, size: tuple[int, int]) -> None:
        """Begin with a server, as if the window were new."""
        self.url = url
        self.page.set_viewport_size({"width": size[0], "height": size[1]})
        self.page.emulate_media(color_scheme="light")
        self.requests.clear()

    def leave(self) -> None:
        """Take back what a test changed, and forget what the page kept."""
        self.page.unroute_all()
        self.context.set_offline(False)
        self.page.evaluate("localStorage.clear()")
        self.page.goto("about:blank")
        self.complaints.clear()

    def _console(self, kind: str, text: str) -> None:
        # That a request was refused is not a mistake of the page; it is told to the reader.
        if kind in ("error", "warning") and "Failed to load resource" not in text:
            self.complaints.append(text)

    def open(self, place: str = "") -> Page:
        """Go to a place within the page, afresh."""
        self.visits += 1  # another address, so that it is not a mere jump within the page
        self.page.goto(f"{self.url}/?visit={self.visits}{place}")
        return self.page

    def look(self) -> None:
        """Make the page ask the server now, as it does when it comes to the front."""
        with self.page.expect_response("**/varz"):
            self.page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")

    def answer(self, path: str, value: object) -> None:
        """Answer requests for a path instead of the server."""

        def fulfil(route: Route, request: Request) -> None:
            route.fulfill(body=json.dumps(value), content_type="application/json")

        self.page.route(f"**{path}", fulfil)

    def sideways(self) -> int:
        """How far the page can be scrolled to the side."""
        inner = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        return int(self.page.evaluate(inner))

    def violations(self) -> list[str]:
        """What axe finds that keeps people from using the page."""
        if not AXE.exists():
            pytest.skip("npm install was not run: accessibility was NOT tested")
        if not self.page.evaluate("'axe' in window"):
            self.page.evaluate(AXE.read_text())  # from outside: the page's policy would not load it
        found: list[dict[str, Any]] = self.page.evaluate("axe.run().then((all) => all.violations)")
        return [f"{each['id']}: {each['nodes'][0]['html']}" for each in found]
