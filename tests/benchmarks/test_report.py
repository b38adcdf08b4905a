"""Ratios, targets and the table, from made-up runs."""

from __future__ import annotations

import json
import re

import pytest

from benchmarks import report
from benchmarks.cases import Case, Run
from benchmarks.compare import Outcome, contenders
from benchmarks.crew import Report
from benchmarks.restart import Restart
from benchmarks.servers import NATS, NATS_ALWAYS, OURS
from benchmarks.startup import Startup

WHO = contenders("ours,nats")


def made_up(rate: float, p50: float = 0.0) -> Run:
    done = Report("Publisher", {}, started=0.0, ended=1.0, cpu=0.25, queued=0.25)
    return Run(int(rate), 1.0, 0.5, 0.25, [done], p50=p50, p99=p50 * 2)


def outcome(case: Case, ours: list[Run], nats: list[Run]) -> Outcome:
    return Outcome(case, WHO, {"ours": ours, "nats": nats}, made_up(10_000_000, 20))


def test_a_repeated_server_gets_a_number() -> None:
    assert [one.label for one in contenders("nats,nats,ours")] == ["nats", "nats-2", "ours"]
    assert [one.kind for one in contenders("nats,nats,ours")] == ["nats", "nats", "ours"]


def test_rates_compare_ours_to_theirs_round_by_round() -> None:
    rows = outcome(
        Case("pub", 128, 1), [made_up(100), made_up(300)], [made_up(200), made_up(100), made_up(1)]
    )
    assert rows.ratios(WHO[1]) == [0.5, 3.0]


def test_latencies_compare_theirs_to_ours() -> None:
    rows = outcome(Case("reqrep-1", 128, 1), [made_up(1, 50)], [made_up(1, 100)])
    assert rows.ratios(WHO[1]) == [2.0]


def test_one_server_alone_has_no_ratio() -> None:
    alone = contenders("nats")
    rows = Outcome(Case("pub", 128, 1), alone, {"nats": [made_up(100)]})
    assert not rows.others
    assert "100" in report.outcome_table([rows], alone)


@pytest.mark.parametrize(
    ("case", "wanted"),
    [
        (Case("pub", 128, 1), 0.5),
        (Case("pub-sub", 1024, 200), 0.8),
        (Case("fanout5", 128, 1), 0.8),
        (Case("fanout5", 128, 30_000), 0.5),
        (Case("reqrep-1", 128, 1), 1.0),
        (Case("reqrep-1", 128, 30_000), 1.0),
        (Case("reqrep-1000", 128, 1), None),
    ],
)
def test_targets(case: Case, wanted: float | None) -> None:
    assert report.target(case) == wanted
    if wanted is not None:
        assert report.verdict(case, wanted) == "ok"
        assert report.verdict(case, wanted - 0.01) == "BELOW"
    else:
        assert report.verdict(case, 0.0) == "-"


@pytest.mark.parametrize(
    ("mode", "default", "always"),
    [
        ("js-pub-5000", 1.0, 50.0),
        ("js-pub-5000-mem", 1.0, None),
        ("js-pub-100", None, 20.0),
        ("js-pub-1", None, 0.67),
        ("js-get", None, None),
    ],
)
def test_targets_of_jetstream(mode: str, default: float | None, always: float | None) -> None:
    case = Case(mode, 128, 1)
    assert report.target(case) == default
    assert report.target(case, NATS_ALWAYS) == always


def test_three_servers_have_two_ratios_and_reads_only_one() -> None:
    three = contenders(f"{OURS},{NATS},{NATS_ALWAYS}")
    runs = {OURS: [made_up(600)], NATS: [made_up(200)], NATS_ALWAYS: [made_up(10)]}
    publish = Outcome(Case("js-pub-5000", 128, 1), three, runs)
    get = Outcome(Case("js-get", 128, 1), three[:2], {OURS: runs[OURS], NATS: runs[NATS]})
    heading, first, second = report.outcome_table([publish, get], three).splitlines()
    assert [heading.index(f"to {one}") > 0 for one in (NATS, NATS_ALWAYS)] == [True, True]
    assert first.split().count("ok") == 2
    assert "3.00" in first
    assert "60.00" in first
    assert "3.00" in second
    assert "60.00" not in second


def test_restarts_are_a_table_with_failures_below() -> None:
    good = Restart(OURS, 1000, 1000, [0.1], [0.2], 10_000_000, 190_000)
    bad = Restart(NATS, error="not installed")
    _, first, last = report.restart_table([good, bad]).splitlines()
    shown = ["ours", "1,000", "1,000", "100 ms", "200 ms", "10 MB", "190 B/msg"]
    assert re.split("  +", first) == shown
    assert last == "FAILED restart of nats: not installed"


def test_the_table_is_aligned_and_names_failures() -> None:
    slow = outcome(Case("pub", 128, 1), [made_up(100)], [made_up(1000)])
    fast = outcome(Case("reqrep-1", 1024, 200), [made_up(1, 50)], [made_up(1, 100)])
    failed = Outcome(Case("fanout5", 128, 1), WHO, error="Subscriber has died")
    heading, first, second, last = report.outcome_table([slow, fast, failed], WHO).splitlines()
    assert len(heading) == len(first) == len(second)
    assert "0.10" in first
    assert "BELOW" in first
    assert "50/100 µs" in second
    assert " ok " in second
    assert last == "FAILED fanout5 128 B, 1 subjects: Subscriber has died"


def test_start_and_memory_have_targets() -> None:
    good = Startup("ours", "2", seconds=[0.1, 0.15, 0.9], idle_rss=[40_000_000])
    bad = Startup("nats", "2", seconds=[0.2], idle_rss=[41_000_000])
    none = Startup("none", error="not installed")
    _, first, second, third, last = report.startup_table([good, bad, none]).splitlines()
    assert first.split().count("ok") == 2
    assert second.split().count("BELOW") == 2
    assert third.split().count("BELOW") == 2
    assert last == "FAILED start of none: not installed"


def test_everything_becomes_json() -> None:
    rows = outcome(Case("pub", 128, 1), [made_up(100)], [made_up(200)])
    figures = json.loads(json.dumps(report.as_json([rows], [Startup("ours")], WHO)))
    (case,) = figures["cases"]
    assert case["to"]["nats"]["ratio"] == 0.5
    assert case["to"]["nats"]["verdict"] == "ok"
    assert case["runs"]["ours"][0]["generator"][0]["waiting_share"] == 0.5
