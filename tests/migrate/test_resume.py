"""Migrations that are cut off and run again, and sources that go on living."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from jetstream_py.migrate import MigrateError, copy, messages
from jetstream_py.migrate.report import ALREADY, DONE, FAILED
from jetstream_py.migrate.stage import NOTE
from tests.jetstream.support import JetStream
from tests.migrate.support import Pair, StoppedError, numbered, once, place, stop_at

COUNT = 120
GAPS = (7, 40, 41, 65)
CUT = """
import asyncio, os, signal, sys
from jetstream_py.migrate import Endpoint, Options, copy, messages, migrate
messages.REQUESTS, copy.WINDOW = 10, 20

def progress(step, stream, done, total):
    if step == "copy" and done >= 40:
        os.kill(os.getpid(), signal.SIGKILL)

asyncio.run(migrate(Options(
    Endpoint(sys.argv[1]), Endpoint(sys.argv[2]), ("S",), method="copy", progress=progress,
)))
"""


@pytest.fixture(autouse=True)
def _short_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that there is a middle to stop in."""
    monkeypatch.setattr(messages, "REQUESTS", 10)
    monkeypatch.setattr(copy, "WINDOW", 20)


def fill(js: JetStream) -> None:
    sequences = [seq for seq in range(5, COUNT) if seq not in GAPS]
    place(js, "S", numbered("s.a", *sequences), subjects=["s.>"], max_msgs=1000)


@pytest.mark.parametrize("done", [0, 60, COUNT - 1])
def test_copy_goes_on(pair: Pair, done: int) -> None:
    """Whatever has arrived stays, nothing comes twice, also of what was still on its way."""
    fill(pair.source)
    with pytest.raises(StoppedError):
        pair.migrate(method="copy", progress=stop_at("copy", done))
    under_way = pair.target.info("S")
    assert under_way["config"]["metadata"][NOTE] == "copy"
    assert pair.target.ask("STREAM.INFO.S")["config"]["subjects"] != ["s.>"]
    outcome = pair.one()
    assert (outcome.status, outcome.error, outcome.verified) == (DONE, "", True)
    assert outcome.notes[0].startswith("went on behind ")
    pair.assert_same("S")


def test_killed(pair: Pair) -> None:
    fill(pair.source)
    urls = [f"nats://127.0.0.1:{js.server.port}" for js in (pair.source, pair.target)]
    root = str(Path(__file__).parents[2])
    environ = {**os.environ, "PYTHONPATH": root}
    done = subprocess.run([sys.executable, "-c", CUT, *urls], env=environ, timeout=60)
    assert done.returncode == -signal.SIGKILL
    assert 0 < pair.target.state("S")["messages"] < COUNT - len(GAPS) - 5
    assert pair.one().status == DONE
    pair.assert_same("S")


@pytest.mark.parametrize("method", ["backup", "rebuild", "copy"])
def test_cut_off_before_the_end(inwards: Pair, method: str) -> None:
    """Everything is there, but was not compared: the second run does that and opens the stream."""
    fill(inwards.source)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("jetstream_py.migrate.verify.compare", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            inwards.migrate(method=method)
    assert inwards.one().method == method
    inwards.assert_same("S")


def test_restore_that_is_cut_off_begins_again(pair: Pair) -> None:
    fill(pair.source)
    with pytest.raises(StoppedError):
        pair.migrate(method="rebuild", progress=stop_at("rebuild", 40))
    assert "error" in pair.target.ask("STREAM.INFO.S")
    assert pair.one().error == ""
    pair.assert_same("S")


def test_second_time_there_is_nothing_to_do(pair: Pair) -> None:
    fill(pair.source)
    first, second = pair.one(), pair.one()
    assert (first.status, second.status) == (DONE, ALREADY)
    assert second.digest == first.digest


def test_what_the_source_lost_meanwhile_is_not_missed(inwards: Pair) -> None:
    fill(inwards.source)
    with pytest.raises(StoppedError):
        inwards.migrate(method="copy", progress=stop_at("copy", 40))
    for seq in (20, 100):
        inwards.source.ok("STREAM.MSG.DELETE.S", {"seq": seq})
    outcome = inwards.one()
    assert outcome.error == ""
    assert "removed at the source meanwhile: 1" in outcome.notes
    assert inwards.target.message("S", seq=20)["subject"] == "s.a"


def test_a_difference_is_found(pair: Pair) -> None:
    """Nothing is opened; for a copy the next run says what to do."""
    fill(pair.source)

    def delete() -> None:
        pair.target.ok("STREAM.MSG.DELETE.S", {"seq": 20})

    outcome = pair.one(method="copy", progress=once("copy", delete, 40))
    assert outcome.status == FAILED
    assert outcome.error == "not the same: message 20 is missing"
    assert pair.target.info("S")["config"]["metadata"][NOTE] == "copy"
    assert "delete the stream there and run again" in pair.one().error


def test_another_stream_of_the_name(pair: Pair) -> None:
    fill(pair.source)
    with pytest.raises(StoppedError):
        pair.migrate(method="copy", progress=stop_at("copy", 40))
    pair.source.delete("S")
    fill(pair.source)
    assert "filled from another stream" in pair.one().error


@pytest.mark.parametrize("method", ["backup", "rebuild", "copy"])
def test_follow(pair: Pair, method: str) -> None:
    """What is published meanwhile arrives under its sequence."""
    fill(pair.source)
    more = once(method, lambda: publish(pair.source))
    outcome = pair.one(method=method, follow=True, progress=more, quiet=0)
    assert (outcome.error, outcome.last_seq) == ("", COUNT + 2)
    pair.assert_same("S")


def test_not_followed(inwards: Pair) -> None:
    fill(inwards.source)
    outcome = inwards.one(method="copy", progress=once("copy", lambda: publish(inwards.source)))
    assert (outcome.error, outcome.last_seq, outcome.verified) == ("", COUNT - 1, True)


def publish(js: JetStream) -> None:
    js.publish_all("s.b", "s.a", "s.b")


def test_no_such_stream(inwards: Pair) -> None:
    with pytest.raises(MigrateError, match="no stream 'S'"):
        inwards.migrate("S")
