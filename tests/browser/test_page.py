"""The page for people, in a real browser."""

from __future__ import annotations

import re
from typing import Literal

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.chromium import PHONE
from tests.browser.conftest import OpenWindow
from tests.browser.content import BIG, EVIL, SCRIPT, Client
from tests.support.server import Server
from tests.support.wire import pub

pytestmark = pytest.mark.xdist_group("browser")
COLOURS: tuple[Literal["light", "dark"], ...] = ("light", "dark")
PLACES = [
    "", "#/streams", "#/streams/$G/ORDERS", "#/streams/$G/ODD", "#/buckets", "#/buckets/$G/conf",
    "#/connections",
]  # fmt: skip


def status(page: Page) -> Locator:
    return page.get_by_role("banner").get_by_role("status")


def tile(page: Page, name: str) -> Locator:
    return page.locator(".tile").filter(has=page.get_by_text(name, exact=True)).locator("dd")


def cells(table: Locator, column: int) -> list[str]:
    return table.locator(f"tbody td:nth-child({column})").all_text_contents()


def payload(page: Page) -> Locator:
    return page.get_by_role("dialog").get_by_label("Payload")


# -- overview --------------------------------------------------------------------------------------


def test_overview_shows_what_happens_now(full: Client, window: OpenWindow) -> None:
    view = window(full.server)
    page = view.open()
    expect(status(page)).to_have_text("Live")
    expect(page).to_have_title("full · jetstream-py")
    expect(tile(page, "Connections").first).to_have_text("1")
    expect(tile(page, "Streams").first).to_have_text("3")
    expect(tile(page, "Consumers").last).to_have_text("60 messages behind")
    expect(tile(page, "Slow consumers").first).to_have_text("0")
    before = tile(page, "Streams").last.text_content()
    full.client.exchange(pub(b"core", b"x" * 100) * 5000)
    full.publish("odd.now")
    view.look()
    expect(tile(page, "Streams").last).not_to_have_text(before or "")
    busy = re.compile(r"^Messages in[1-9][\d.]*K?/s[\d.]+ [KM]iB/s$")
    expect(page.locator(".tile").first).to_have_text(busy)


def test_plots_show_the_hour_that_was(full: Client, window: OpenWindow) -> None:
    view = window(full.server)
    count = 720
    level = [i * 10 for i in range(count)]
    names = ("in_msgs", "in_bytes", "out_msgs", "out_bytes", "connections", "storage", "memory")
    samples = dict.fromkeys(names, level)
    samples["time"] = [1_700_000_000_000 + i * 5000 for i in range(count)]
    view.answer("/history", {"interval": 5, "samples": samples})
    page = view.open()
    plot = page.get_by_role("img", name="Messages per second over the last hour")
    expect(plot).to_have_accessible_name(
        "Messages per second over the last hour: in now 2, out now 2, at most 2"
    )
    line = plot.locator("path.series-0").get_attribute("d") or ""
    assert (line.count("M"), line.count("L")) == (1, count - 2)
    plot.hover()
    expect(page.locator(".plot").first.locator(".reading")).to_have_text(
        re.compile(r"^\d\d:\d\d:\d\d +2 · 2$")
    )


def test_an_empty_server_says_how_to_begin(bare: Server, window: OpenWindow) -> None:
    page = window(bare).open("#/streams")
    expect(page.get_by_role("main")).to_contain_text("Start the server with -js")
    page.get_by_role("link", name="Connections", exact=True).first.click()
    expect(page.get_by_role("main")).to_contain_text("Nobody is connected. Try: nats pub")


def test_a_server_that_went_away_and_came_back(full: Client, window: OpenWindow) -> None:
    view = window(full.server)
    page = view.open()
    expect(status(page)).to_have_text("Live")
    view.context.set_offline(True)
    page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    expect(status(page)).to_have_text(
        re.compile(r"^The server does not answer since \d\d:\d\d:\d\d, trying again$")
    )
    expect(tile(page, "Streams").first).to_have_text("3")  # the last values stay
    view.context.set_offline(False)
    view.look()
    expect(status(page)).to_have_text("Live")


# -- streams and messages --------------------------------------------------------------------------


def test_streams_sort_and_filter(full: Client, window: OpenWindow) -> None:
    page = window(full.server).open("#/streams")
    table = page.get_by_role("table", name="Streams")
    expect(table.get_by_role("cell", name="ORDERS", exact=True)).to_be_visible()
    assert cells(table, 1) == ["KV_conf", "ODD", "ORDERS"]
    table.get_by_role("button", name="Messages", exact=True).click()
    expect(table.get_by_role("columnheader", name="Messages")).to_have_attribute(
        "aria-sort", "descending"
    )
    assert cells(table, 1)[0] == "ORDERS"
    page.get_by_label("Filter Streams").fill("kv")
    expect(table.locator("tbody tr")).to_have_count(1)
    page.get_by_label("Filter Streams").fill("nothing like it")
    expect(page.get_by_text("Nothing matches the filter.")).to_be_visible()


def test_a_stream(full: Client, window: OpenWindow) -> None:
    page = window(full.server).open("#/streams")
    page.get_by_role("link", name="ORDERS").click()
    expect(page.locator(".facts")).to_contain_text("Subjectsorders.>")
    expect(page.locator(".facts")).to_contain_text("Sequences1 to 60")
    consumers = page.get_by_role("table", name="Consumers of the stream")
    expect(consumers.get_by_role("row").last).to_contain_text("worker60")
    messages = page.get_by_role("table", name="messages")
    expect(messages.locator("tbody tr")).to_have_count(50)
    assert cells(messages, 2)[:2] == ["60", "59"]
    page.get_by_role("button", name="More").click()
    expect(messages.locator("tbody tr")).to_have_count(60)
    page.get_by_label("Subject, like").fill("orders.paid")
    page.get_by_label("From sequence").fill("20")
    page.get_by_role("button", name="Show").click()
    expect(messages.locator("tbody tr")).to_have_count(5)
    assert cells(messages, 2) == ["20", "30", "40", "50", "60"]
    page.get_by_label("Subject, like").fill("not..good")
    page.get_by_role("button", name="Show").click()
    expect(page.get_by_text("is not a subject that one could subscribe to")).to_be_visible()


def test_a_message_by_keyboard(full: Client, window: OpenWindow) -> None:
    page = window(full.server).open("#/streams/$G/ORDERS")
    first = page.get_by_role("button", name="orders.paid").first
    first.focus()
    page.keyboard.press("Enter")
    dialog = page.get_by_role("dialog", name="Message 60")
    expect(dialog).to_contain_text("orders.paid")
    expect(payload(page)).to_have_text('{ "order": 60, "open": true }')
    dialog.get_by_role("button", name="Text").press("Enter")
    expect(payload(page)).to_have_text('{"order":60,"open":true}')
    dialog.get_by_role("button", name="Hex").press("Enter")
    expect(payload(page)).to_contain_text("000000 7b 22 6f 72 64 65 72")
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    expect(first).to_be_focused()


def test_payloads_that_are_no_text(full: Client, window: OpenWindow) -> None:
    page = window(full.server).open("#/streams/$G/ODD")
    page.get_by_role("button", name="odd.binary").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_role("group").get_by_role("button")).to_have_text(["Hex"])
    expect(payload(page)).to_contain_text("0000f0 f0 f1 f2")
    page.keyboard.press("Escape")
    page.get_by_role("button", name="odd.empty").click()
    expect(dialog).to_contain_text("No payload.")
    page.keyboard.press("Escape")
    page.get_by_role("button", name="odd.big").click()
    expect(dialog.locator(".note").last).to_have_text(f"The first 256 KiB of {BIG // 1024} KiB")


def test_a_bucket(full: Client, window: OpenWindow) -> None:
    page = window(full.server).open("#/buckets")
    page.get_by_role("link", name="conf").click()
    table = page.get_by_role("table", name="keys")
    expect(table.locator("tbody tr")).to_have_count(4)
    rows = dict(zip(cells(table, 1), cells(table, 5), strict=True))
    assert rows == {"web.theme": "dark", "web.limit": "20", "old": "deleted", EVIL: SCRIPT}
    page.get_by_label("Key, like").fill("web.*")
    page.keyboard.press("Enter")
    expect(table.locator("tbody tr")).to_have_count(2)
    table.get_by_role("row").filter(has_text="web.limit").get_by_role(
        "link", name="History"
    ).click()
    messages = page.get_by_role("table", name="messages")
    expect(messages.locator("tbody tr")).to_have_count(2)
    assert cells(messages, 5) == ["20", "10"]


def test_connections(full: Client, window: OpenWindow) -> None:
    page = window(full.server).open("#/connections")
    table = page.get_by_role("table", name="Connections")
    expect(table.get_by_role("cell", name=EVIL)).to_be_visible()
    gone = full.server.client()
    gone.exchange()
    gone.close()
    page.get_by_label("Which connections").select_option("closed")
    expect(table.get_by_role("cell", name=re.compile("^Client Closed, "))).to_be_visible()


# -- for everybody ---------------------------------------------------------------------------------


def test_what_clients_send_stays_text(full: Client, window: OpenWindow) -> None:
    view = window(full.server)
    for place in ("#/connections", "#/buckets/$G/conf"):
        page = view.open(place)
        expect(page.get_by_text(EVIL)).to_be_visible()
        assert page.evaluate("typeof pwned") == "undefined"
    page = view.open("#/streams/$G/ODD")
    page.get_by_role("button", name=EVIL).click()
    expect(payload(page)).to_have_text(SCRIPT)
    expect(page.get_by_role("dialog").locator(".headers")).to_have_text(f"Evil{EVIL}")
    assert page.locator("img").count() == 1  # the icon
    assert page.locator("script").count() == 1
    assert page.evaluate("typeof pwned") == "undefined"


def test_the_policy_holds(full: Client, window: OpenWindow) -> None:
    """Even markup that got into the page would do nothing."""
    view = window(full.server)
    page = view.open()
    page.evaluate(
        """(evil) => {
            document.body.insertAdjacentHTML("beforeend", `<img src=x onerror="pwned=1">${evil}`);
            const script = document.createElement("script");
            script.textContent = "pwned = 3";
            document.body.append(script);
        }""",
        EVIL,
    )
    assert page.evaluate("fetch('http://127.0.0.1:1/').then(() => 1, () => 0)") == 0
    assert page.evaluate("typeof pwned") == "undefined"
    assert {"Content Security Policy" in text for text in view.complaints} == {True}
    view.complaints.clear()
    view.requests.clear()


def test_a_phone_never_scrolls_sideways(full: Client, window: OpenWindow) -> None:
    view = window(full.server, size=PHONE)
    for place in PLACES:
        page = view.open(place)
        expect(status(page)).to_have_text("Live")
        expect(page.locator("tbody tr").first).to_be_visible()
        assert (place, view.sideways()) == (place, 0)
    page = view.open("#/streams/$G/ODD")
    page.get_by_role("button", name="longlong").click()
    expect(payload(page)).to_be_visible()
    assert view.sideways() == 0


def test_nothing_keeps_people_from_using_it(full: Client, window: OpenWindow) -> None:
    view = window(full.server)
    for place in ("", "#/streams/$G/ODD"):
        page = view.open(place)
        expect(status(page)).to_have_text("Live")
        expect(page.locator("tbody tr").last).to_be_visible()
        for scheme in COLOURS:
            page.emulate_media(color_scheme=scheme)
            assert view.violations() == []


def test_dark_and_light(full: Client, window: OpenWindow) -> None:
    view = window(full.server)
    view.page.emulate_media(color_scheme="dark")
    page = view.open()
    background = "getComputedStyle(document.body).backgroundColor"
    button = page.get_by_role("button", name="Theme: system")
    dark = page.evaluate(background)
    button.click()
    expect(page.get_by_role("button", name="Theme: light")).to_be_visible()
    assert page.evaluate(background) != dark
    page.reload()
    expect(page.get_by_role("button", name="Theme: light")).to_be_visible()
    page.get_by_role("button", name="Theme: light").click()
    assert page.evaluate(background) == dark


# -- who may see messages --------------------------------------------------------------------------


def sign_in(page: Page, user: str, password: str) -> None:
    page.get_by_label("User (empty for a token)").fill(user)
    page.get_by_label("Password or token").fill(password)
    page.get_by_role("button", name="Sign in").click()


def test_messages_need_a_password_where_clients_do(guarded: Client, window: OpenWindow) -> None:
    view = window(guarded.server)
    page = view.open("#/streams/$G/ORDERS")
    expect(page.locator(".facts")).to_contain_text("Sequences1 to 60")  # counters are not secret
    table = page.get_by_role("table", name="messages")
    expect(page.get_by_role("button", name="Sign in")).to_be_visible()
    expect(table).to_be_hidden()
    sign_in(page, "ann", "wrong")
    expect(page.get_by_role("alert")).to_have_text("User, password or token are not right")
    expect(page.get_by_label("Password or token")).to_be_focused()
    sign_in(page, "ann", "secret")
    expect(table.locator("tbody tr")).to_have_count(50)
    expect(page.get_by_role("button", name="Sign in")).to_be_hidden()
    page.get_by_role("link", name="Buckets").click()
    page.get_by_role("link", name="conf").click()
    expect(page.get_by_role("table", name="keys").locator("tbody tr")).to_have_count(4)
    page.reload()  # nothing was kept
    expect(page.get_by_role("button", name="Sign in")).to_be_visible()


def test_one_sees_what_one_may_subscribe_to(guarded: Client, window: OpenWindow) -> None:
    page = window(guarded.server).open("#/streams/$G/ORDERS?subject=orders.%3E")
    sign_in(page, "bob", "letmein")
    table = page.get_by_role("table", name="messages")
    expect(table.locator("tbody tr")).to_have_count(50)
    assert set(cells(table, 1)) == {"orders.new"}
    expect(page.get_by_text("you may not subscribe to their subjects")).to_have_text(
        "50 shown, 6 not: you may not subscribe to their subjects"
    )
