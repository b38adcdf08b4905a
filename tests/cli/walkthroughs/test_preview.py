"""The technical preview of 2019: message sets and observables, now streams and consumers.

`python -m tests.cli.walkthroughs.test_preview URL` plays the part with the many messages with a million.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

from jetstream_py.embed import Server
from tests.cli.shell import PATIENCE, Answers, Done, Shell

FEW = 5_000
MILLION = 1_000_000


def said(done: Done, *words: str) -> str:
    assert done.status == 0, done
    for each in words:
        assert each in done.out, (each, done.out)
    return done.out


def make_set(shell: Shell, name: str, subjects: str, age: str = "") -> None:
    answers: Answers = [
        ("Stream name: ", name),
        ("Subjects: ", subjects),
        ("Storage (file, memory) [file]: ", "file"),
        ("Retention policy", ""),
        ("Discard policy", ""),
        ("Most messages [-1]: ", "-1"),
        ("Most per subject [-1]: ", ""),
        ("Total size [-1]: ", "-1"),
        ("Message age [-1]: ", age),
        ("Message size [-1]: ", ""),
        ("Duplicate window [2m]: ", "1m" if age else ""),
    ]
    said(shell.typed("stream", "add", answers=answers), name, "Storage: File")


def state(shell: Shell, stream: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(shell.ok("stream", "info", stream, "--json"))["state"]
    return found


def until_stored(shell: Shell, stream: str, messages: int) -> None:
    """Publishes without an ack are stored when a server gets to it."""
    deadline = time.monotonic() + PATIENCE
    while (found := state(shell, stream)["messages"]) != messages:
        assert time.monotonic() < deadline, f"{found} messages, not {messages}"


def observed(shell: Shell, stream: str, consumer: str) -> tuple[int, int, int, int, int]:
    """Delivered and acked, by the observable's count and the set's, and what was delivered again."""
    found = json.loads(shell.ok("consumer", "info", stream, consumer, "--json"))
    delivered, floor = found["delivered"], found["ack_floor"]
    return (
        delivered["consumer_seq"],
        delivered["stream_seq"],
        floor["stream_seq"],
        found["num_ack_pending"],
        found["num_redelivered"],
    )


def fill_derek(shell: Shell, messages: int) -> None:
    make_set(shell, "derek", "foo bar")
    said(shell.typed("account", "info"), "Streams: 1 of unlimited")
    said(shell.typed("stream", "ls"), "│ derek │")
    said(shell.typed("stream", "info", "derek"), "Subjects: foo, bar", "Messages: 0")

    said(shell.typed("pub", "foo", "hello"), "Published 5 bytes")
    answer = said(shell.typed("request", "bar", "world", "--raw"))
    assert json.loads(answer[answer.index("{") :])["seq"] == 2
    until_stored(shell, "derek", 2)
    assert state(shell, "derek")["bytes"] == 76  # as the preview had it

    # With acks: what is published faster than a stream can store it is dropped, today, by both servers.
    line = f"bench js pub foo --stream derek --clients 20 --size 128 --msgs {messages}"
    said(shell.typed(*line.split()), f"Messages: {messages:,}")
    until_stored(shell, "derek", messages + 2)
    total = f"{messages + 2:,}"
    said(shell.typed("stream", "info", "derek"), f"Messages: {total}", f"Sequence: {total}")
    found = state(shell, "derek")
    assert (found["first_seq"], found["last_seq"]) == (1, messages + 2)
    assert found["bytes"] == 76 + messages * (30 + 3 + 128)


def test_a_set_is_made_filled_deleted_and_made_again_with_an_age(shell: Shell) -> None:
    fill_derek(shell, FEW)
    removed = shell.typed("stream", "rm", "derek", answers=[("delete stream derek? [y/N]: ", "y")])
    said(removed, "derek")

    make_set(shell, "derek", "foo, bar, baz.*", age="1m")
    said(shell.typed("stream", "info", "derek"), "Age: 1m", "Subjects: foo, bar, baz.*")
    shell.ok("bench", "js", "pub", "baz.x", "--stream", "derek", "--msgs", "100")
    assert state(shell, "derek")["messages"] == 100


def test_after_a_minute_and_after_thirty_seconds(tmp_path: Path) -> None:
    """Time is moved by hand, so the server is ours, in this process."""
    with Server(manual_clock=True, store=tmp_path) as server:
        shell = Shell(server.url)
        make_set(shell, "derek", "foo, bar, baz.*", age="1m")
        shell.ok("bench", "js", "pub", "baz.x", "--stream", "derek", "--msgs", "100")
        shell.ok("consumer", "add", "derek", "p1", "--pull", "--defaults")
        next_one = ("consumer", "next", "derek", "p1", "--no-ack")
        said(shell.typed(*next_one), "str seq: 1 ", "tries: 1")
        server.clock.advance(29.9)
        said(shell.typed(*next_one), "str seq: 2 ", "tries: 1")
        server.clock.advance(0.2)
        said(shell.typed(*next_one), "str seq: 1 ", "tries: 2")
        assert observed(shell, "derek", "p1") == (3, 2, 0, 2, 1)
        server.clock.advance(29.8)
        assert state(shell, "derek")["messages"] == 100
        server.clock.advance(0.2)
        found = state(shell, "derek")
        assert (found["messages"], found["last_seq"]) == (0, 100)


def test_observables_pull_and_push(shell: Shell) -> None:
    make_set(shell, "wc", "*")
    for subject in "12345":
        said(shell.typed("pub", subject, "hello"), "Published 5 bytes")
    until_stored(shell, "wc", 5)

    answers = [
        ("Consumer name: ", "p1"),
        ("Delivery target", ""),
        ("Start policy", ""),
        ("Ack policy", ""),
        ("Replay policy", ""),
        ("Filter by subjects", ""),
        ("Most deliveries", ""),
    ]
    said(shell.typed("consumer", "add", "wc", answers=answers), "p1")
    assert observed(shell, "wc", "p1") == (0, 0, 0, 0, 0)

    # A pull by hand, as plain NATS: the message comes with its own subject.
    pulled = said(shell.typed("request", "$JS.API.CONSUMER.MSG.NEXT.wc.p1", "1", "--json"))
    message = json.loads(pulled)
    assert (message["subject"], message["data"]) == ("1", "hello")
    assert observed(shell, "wc", "p1") == (1, 1, 0, 1, 0)
    said(shell.typed("consumer", "info", "wc", "p1"), "Outstanding Acks: 1")

    # Not taken, it comes again: the observable's count goes on, the set's does not.
    said(shell.typed("pub", "-q", message["reply"], "--", "-NAK"))
    said(shell.typed("consumer", "next", "wc", "p1", "--nak"), "hello", "tries: 2")
    delivered, of_set, acked, _, again = observed(shell, "wc", "p1")
    assert (delivered, of_set, acked, again) == (2, 1, 0, 1)
    said(shell.typed("consumer", "next", "wc", "p1", "--ack"), "hello", "tries: 3")
    assert observed(shell, "wc", "p1") == (3, 1, 1, 0, 0)

    # A push observable waits until somebody listens.
    answers[0:2] = [("Consumer name: ", "p2"), ("Delivery target", "d.p2")]
    answers[3] = ("Ack policy", "none")
    said(shell.typed("consumer", "add", "wc", answers=answers), "p2")
    assert observed(shell, "wc", "p2")[0] == 0
    heard = said(shell.typed("sub", "d.p2", "--count", "5"))
    for number in range(1, 6):
        assert f"stream: wc seq {number} / subject: {number}" in heard
    assert observed(shell, "wc", "p2") == (5, 5, 5, 0, 0)
    said(shell.typed("pub", "foo", "hello jetstream"))
    said(shell.typed("sub", "d.p2", "--count", "1"), "seq 6 / subject: foo", "hello jetstream")


if __name__ == "__main__":
    fill_derek(Shell(sys.argv[1]), MILLION)
    print("1,000,002 messages are in the set")
