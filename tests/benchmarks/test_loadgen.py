"""Every mode moves every message, on both servers and on the null server."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from benchmarks.__main__ import main as command
from benchmarks.cases import Case, Run
from benchmarks.crew import WorkerFailed
from benchmarks.loadgen import CORE_MODES, run_case
from benchmarks.servers import NATS, OURS, Server, ServerFailed, null_server, running

MESSAGES = {"reqrep-1": 50, "reqrep-1-core": 50, "reqrep-1000": 3000}
SUBSCRIBERS = {"pub": 0, "pub-sub": 1, "fanout5": 5}


def play(server: Server, case: Case) -> Run:
    return run_case(server, case, MESSAGES.get(case.mode, 4000))


def check(run: Run, case: Case) -> None:
    """All roles agree on the number of messages, and none was lost or doubled."""
    assert run.messages > 0
    assert {report.facts["messages"] for report in run.reports} == {run.messages}
    assert run.seconds > 0
    assert run.generator_cpu > 0
    assert run.server_cpu >= 0
    facts = [report.facts for report in run.reports]
    if case.mode in SUBSCRIBERS:
        assert len(facts) == SUBSCRIBERS[case.mode] + 1
        assert all(fact["frames"] == run.messages for fact in facts[:-1])
    elif case.by_latency:
        assert len(facts[-1]["latencies"]) == run.messages
        assert 0 < run.p50 <= run.p99
    else:
        assert facts[-1]["distinct_replies"] == run.messages


@pytest.mark.parametrize("mode", CORE_MODES)
def test_all_messages_arrive(server: Server, mode: str) -> None:
    for subjects in (1, 200) if server.name == OURS else (200,):
        case = Case(mode, 128, subjects, verify=True)
        check(play(server, case), case)


@pytest.mark.parametrize("mode", ["pub-sub", "reqrep-1000"])
def test_binary_payloads_arrive_too(server: Server, mode: str) -> None:
    case = Case(mode, 1024, 200, binary=True, queue=False, verify=True)
    check(play(server, case), case)


@pytest.mark.parametrize("mode", CORE_MODES)
def test_the_null_server_serves_run_after_run(mode: str) -> None:
    case = Case(mode, 128, 200, verify=True)
    with null_server(mode, case.size, case.subjects) as server:
        for _ in range(2):
            check(play(server, case), case)


def test_a_server_is_ended_however_the_block_is_left(contender: str) -> None:
    def fail_inside() -> int:
        with running(contender) as server:
            seen.append(server.pid)
            raise KeyboardInterrupt

    seen: list[int] = []
    with pytest.raises(KeyboardInterrupt):
        fail_inside()
    assert not Path(f"/proc/{seen[0]}").exists()


def test_a_server_that_does_not_start_is_an_error_with_its_words() -> None:
    with pytest.raises(ServerFailed, match="exit code"), running(NATS, config="nonsense: ["):
        pass


def test_a_run_against_nobody_is_an_error() -> None:
    nobody = Server("nobody", os.getpid(), 1, 1, "", 0.0)
    with pytest.raises(WorkerFailed, match=r"nobody: Publisher.*Connection refused"):
        run_case(nobody, Case("pub", 128, 1), 1, timeout=5)


def test_the_command_compares_both_servers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "figures.json"
    options = "--modes pub-sub --sizes 128 --subjects 1 --rounds 2 --seconds 0.05 --starts 1"
    code = command([*options.split(), "--servers", f"{NATS},{OURS}", "--json", str(file)])
    figures = json.loads(file.read_text())
    (case,) = figures["cases"]
    assert code == 0
    assert case["error"] == ""
    assert [len(to["ratios"]) for to in case["to"].values()] == [2]
    assert [len(runs) for runs in case["runs"].values()] == [2, 2]
    assert "gen ceiling" in capsys.readouterr().out
