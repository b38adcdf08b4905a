"""Notes on streams: ORDERS, templates, where consumers begin and how fast they are served."""

from __future__ import annotations

import json
import re
from itertools import islice

import pytest

from jetstream_py.cli.pub import Body, Times
from tests.cli.shell import Shell
from tests.cli.walkthroughs.test_preview import said

BODY = "US Order #  {{Count}} at {{TimeStamp}}"


def bodies(shell: Shell, consumer: str, count: int) -> list[str]:
    line = f"consumer next ORDERS {consumer} --raw --count {count}"
    return re.findall(r"#  (\d+) at", said(shell.typed(*line.split())))


def test_orders(shell: Shell) -> None:
    shell.ok("stream", "add", "ORDERS", "--subjects", "orders.*", "--defaults")
    line = ("pub", "orders.us", BODY, "--count", "4", "--sleep", "1ms")
    assert said(shell.typed(*line)).count("Published") == 4
    messages = said(shell.typed("stream", "view", "ORDERS"))
    stamped = re.findall(r"US Order #  (\d) at \d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", messages)
    assert stamped == ["1", "2", "3", "4"]
    shell.ok("pub", "orders.eu", "EU Order #  5 at once")

    begins = {
        "all": ["1", "2", "3", "4", "5"],
        "last": ["5"],
        "3": ["3", "4", "5"],
        "subject": ["4", "5"],
        "1h": ["1", "2", "3", "4", "5"],
    }
    for number, (start, wanted) in enumerate(begins.items()):
        for replay in ("instant", "original"):
            name = f"my-consumer-{number}-{replay}"
            options = f"--pull --deliver {start} --replay {replay} --filter orders.* --defaults"
            said(shell.typed("consumer", "add", "ORDERS", name, *options.split()), replay.title())
            assert bodies(shell, name, len(wanted)) == wanted

    names = said(shell.typed("consumers", "ls", "ORDERS", "--names"))
    assert len(re.findall("my-consumer-", names)) == 10
    answers = [("delete consumer ORDERS > my-consumer-0-instant? [y/N]: ", "y")]
    said(shell.typed("consumer", "rm", "ORDERS", "my-consumer-0-instant", answers=answers))
    left = json.loads(shell.ok("consumers", "ls", "ORDERS", "--names", "--json"))
    assert len(left) == 9

    said(shell.typed("stream", "ls"), "│ ORDERS │")
    said(shell.typed("stream", "rm", "ORDERS", answers=[("[y/N]: ", "y")]))
    assert json.loads(shell.ok("stream", "ls", "--json")) == []


@pytest.mark.parametrize("start", ["2020-01-01T00:00:00Z", "new"])
def test_a_consumer_begins_at_a_time(shell: Shell, start: str) -> None:
    shell.ok("stream", "add", "ORDERS", "--subjects", "orders.*", "--defaults")
    shell.ok("pub", "orders.us", "#  1 at", "-J")
    shell.ok("consumer", "add", "ORDERS", "C", "--pull", "--deliver", start, "--defaults")
    shell.ok("pub", "orders.us", "#  2 at", "-J")
    wanted = ["2"] if start == "new" else ["1", "2"]
    assert bodies(shell, "C", len(wanted)) == wanted


def test_orders_without_end() -> None:
    """`--count=-1`, as the notes have it."""
    endless = Body("#{{Count}}", newline=False, templates=True).payloads(
        Times(1).convert("-1", None, None)
    )
    assert list(islice(endless, 3)) == [b"#1", b"#2", b"#3"]
