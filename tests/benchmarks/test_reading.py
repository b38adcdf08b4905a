"""Every mode of reading delivers everything once, on both servers and on the null server."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks import consumers
from benchmarks.__main__ import main as command
from benchmarks.cases import Case
from benchmarks.crew import WorkerFailed
from benchmarks.loadgen import READ_MODES, run_case
from benchmarks.reading import KEYS
from benchmarks.servers import NATS, Server, null_server

FEW = 1_200
FEWER = {"js-pull-1": 50, "js-pull-1x2": 50, "js-sparse": 10, "kv-put-1": 30, "kv-get-1": 50}


def case_of(mode: str, size: int = 128) -> Case:
    return Case(mode, size, KEYS if mode.startswith("kv-") else 200, verify=True)


def least(mode: str) -> int:
    """What a run must have delivered: all but what does not divide by its consumers."""
    return FEWER.get(mode, FEW) // 10 * 10 if mode != "js-filter" else FEW // 21 * 21


@pytest.mark.parametrize("mode", READ_MODES)
def test_everything_is_delivered_once_and_in_order(server: Server, mode: str) -> None:
    wanted = FEWER.get(mode, FEW)
    run = run_case(server, case_of(mode), wanted)
    assert least(mode) <= run.messages <= wanted + 1
    if run.p50:
        assert len(run.reports[-1].facts["latencies"]) == run.messages


def test_a_stream_that_is_only_read_grows_as_needed(server: Server) -> None:
    """What is published later continues where the first fill has ended."""
    for wanted in (500, 500, FEW):
        assert run_case(server, case_of("js-push-ack"), wanted).messages == wanted


@pytest.mark.parametrize("mode", ["js-pull-500", "js-push-none", "js-workers-10"])
def test_binary_payloads_of_another_size(server: Server, mode: str) -> None:
    case = Case(mode, 1024, 1, binary=True, verify=True)
    assert run_case(server, case, FEW).messages == FEW


@pytest.mark.parametrize("mode", [mode for mode in READ_MODES if Case(mode, 128, 1).has_ceiling])
def test_the_null_server_delivers(mode: str) -> None:
    wanted = FEWER.get(mode, FEW)
    case = case_of(mode)
    with null_server(mode, case.size, case.subjects) as server:
        for _ in range(2 if mode in ("js-pull-100", "js-ordered") else 1):
            assert run_case(server, case, wanted).messages == least(mode)


def test_a_consumer_of_another_stream_is_found_out() -> None:
    """The null server delivers the subjects of its own load, whatever the reader expects."""
    with null_server("js-pull-100", 128, 7) as server, pytest.raises(WorkerFailed, match="publish"):
        run_case(server, case_of("js-pull-100"), FEW, timeout=5)


def test_the_command_compares_reads(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "figures.json"
    modes = "js-pull-500,js-catchup"
    options = f"--quick --modes {modes} --rounds 2 --seconds 0.02 --catch-up-messages 3000"
    code = command([*options.split(), "--servers", f"{NATS},{NATS}", "--json", str(file)])
    shown = capsys.readouterr().out
    assert code == 0, shown
    pull, catch_up = json.loads(file.read_text())["cases"]
    for case in (pull, catch_up):
        assert [len(runs) for runs in case["runs"].values()] == [2, 2]
    assert catch_up["runs"][NATS][0]["messages"] == 3000
    assert catch_up["generator_ceiling"] is None
    assert pull["generator_ceiling"]["messages"] > 0


def test_many_consumers_and_many_subjects(contender: str) -> None:
    scale = consumers.SMALL
    result = consumers.measure(contender, scale)
    assert result.consumers == scale.consumers
    assert result.delivered == scale.consumers * (scale.waiting + scale.live)
    assert result.subjects == scale.subjects
    assert min(result.rss_alone, result.rss_consumers, result.rss_served, result.rss_read) > 0
    assert f"{scale.subjects:,}" in consumers.render([result])
