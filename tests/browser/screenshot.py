"""Take the picture of the page that docs show: python -m tests.browser.screenshot URL FILE"""

from __future__ import annotations

import sys

from playwright.sync_api import expect

from tests.browser.chromium import DESK, Window, chromium


def main(url: str, file: str) -> None:
    with chromium() as browser:
        window = Window(browser)
        window.turn_to(url, DESK)
        page = window.open()
        expect(page.locator("tbody tr").first).to_be_visible()
        window.look()
        page.screenshot(path=file, full_page=True, animations="disabled")


if __name__ == "__main__":
    main(*sys.argv[1:])
