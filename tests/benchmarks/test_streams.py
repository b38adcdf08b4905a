"""Every JetStream mode gets every answer, and the stream holds what was acknowledged. Counts only."""

from __future__ import annotations

import json
import re
from pathlib import Path

import lmdb
import pytest

from benchmarks import disk, wire
from benchmarks.__main__ import _options, _plans
from benchmarks.__main__ import main as command
from benchmarks.cases import Case, Run
from benchmarks.compare import contenders
from benchmarks.crew import WorkerFailed
from benchmarks.loadgen import BATCH_MODES, JS_MODES, run_case
from benchmarks.restart import measure_restarts
from benchmarks.roles.streams import FILL, Publishes
from benchmarks.servers import (
    NATS,
    NATS_ALWAYS,
    OURS,
    Server,
    ServerFailed,
    null_server,
    running,
)
from benchmarks.streams import MEMORY, STREAM, Api, ApiError, create, stream, with_jetstream

MESSAGES = {"js-pub-1": 30, "js-pub-100": 500}
FEW = 2500
LOADS = (wire.Load(128, 1), wire.Load(1024, 200, binary=True))  # nats-server plays the second only


def check(run: Run, case: Case, messages: int) -> None:
    """Every request has its own answer, and every ack its own sequence."""
    (report,) = run.reports
    assert run.messages == report.facts["messages"] == messages
    if case.by_latency:
        assert len(report.facts["latencies"]) == messages
        assert 0 < run.p50 <= run.p99
    else:
        assert report.facts["distinct_replies"] == messages
    assert report.facts["stored"] == (FILL if case.reads else messages) + 1


def check_disk(server: Server, run: Run, load: wire.Load) -> None:
    """So few may lie in our write-ahead log yet, whose file does not grow for them."""
    assert run.disk_per_message > load.size or server.name == OURS


@pytest.mark.parametrize("mode", JS_MODES)
def test_everything_is_answered_and_stored(server: Server, mode: str) -> None:
    messages = MESSAGES.get(mode, FEW)
    for load in LOADS[server.name != OURS :]:
        case = Case(mode, load.size, load.subjects, load.binary, verify=True)
        run = run_case(server, case, messages)
        check(run, case, messages)
        if not case.reads and not case.by_latency:
            assert run.reports[0].facts["distinct_sequences"] == messages
        if case.grows:
            check_disk(server, run, load)
        else:
            assert run.disk_bytes == 0


@pytest.mark.parametrize("mode", BATCH_MODES)
def test_batches_are_answered_and_stored(server: Server, mode: str) -> None:
    for load in LOADS[server.name != OURS :]:
        case = Case(mode, load.size, load.subjects, load.binary, verify=True)
        run = run_case(server, case, FEW)
        assert run.messages == FEW
        check_disk(server, run, load)


@pytest.mark.parametrize("mode", JS_MODES)
def test_the_null_server_answers(mode: str) -> None:
    messages = MESSAGES.get(mode, FEW)
    case = Case(mode, 128, 200, verify=True)
    with null_server(mode, case.size, case.subjects) as server:
        for _ in range(2 if mode == "js-pub-100" else 1):
            check(run_case(server, case, messages), case, messages)


def test_always_syncs_and_the_default_does_not() -> None:
    for name, always in ((NATS, False), (NATS_ALWAYS, True)):
        with with_jetstream(name) as server:
            assert server.monitor("/jsz")["config"].get("sync_always", False) is always


def test_a_stream_is_gone_however_its_block_is_left(server: Server) -> None:
    for error in (None, KeyboardInterrupt()):
        try:
            with stream(server, MEMORY) as home:
                home.check(0)
                with pytest.raises(ServerFailed, match="0 stored, 1 acknowledged"):
                    home.check(1)
                if error:
                    raise error
        except KeyboardInterrupt:
            assert error
        with Api(server.port) as api, pytest.raises(ApiError, match="stream not found"):
            api.ask(f"STREAM.INFO.{STREAM}")


def test_a_publish_without_an_ack_is_an_error(server: Server) -> None:
    with Api(server.port) as api:
        create(api, MEMORY)
        api.ask(
            f"STREAM.UPDATE.{STREAM}", {"name": STREAM, "subjects": ["else"], "storage": MEMORY}
        )
        with pytest.raises(ServerFailed, match="already in use"), stream(server, MEMORY):
            pass
        api.ask(f"STREAM.DELETE.{STREAM}")
    with null_server("pub", 128, 1) as silent, pytest.raises(WorkerFailed, match="StreamPublisher"):
        run_case(silent, Case("js-pub-100", 128, 1), 10, timeout=1)


def test_a_server_without_jetstream_says_so() -> None:
    with running(NATS) as server, Api(server.port) as api, pytest.raises(ApiError, match="503"):
        api.ask("INFO")


def test_a_killed_server_comes_back_with_its_messages() -> None:
    ours, nats = measure_restarts(contenders(f"{OURS},{NATS}"), FEW, rounds=2)
    assert ours.error == nats.error == ""
    assert ours.stored == nats.stored == FEW
    assert ours.kept == FEW
    assert 0 < nats.kept <= FEW
    for one in (ours, nats):
        assert len(one.info_seconds) == len(one.answer_seconds) == 2
        assert one.disk_bytes > 0


def test_the_command_compares_three_servers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "figures.json"
    options = "--quick --modes js-pub-100,js-get,js-restart --rounds 2 --seconds 0.05"
    servers = f"{OURS},{NATS},{NATS_ALWAYS}"
    code = command(
        [*options.split(), "--servers", servers, "--restart-messages", "500", "--json", str(file)]
    )
    figures = json.loads(file.read_text())
    assert code == 0
    publish, get = figures["cases"]
    labels = [one["label"] for one in figures["contenders"]]
    assert [len(publish["runs"][label]) for label in labels] == [2, 2, 2]
    assert list(publish["to"]) == labels[1:]
    assert publish["to"][NATS_ALWAYS]["target"] == 20
    assert NATS_ALWAYS not in get["runs"]  # Reads do not sync.
    assert [one["stored"] for one in figures["restarts"]] == [500, 500, 500]
    shown = capsys.readouterr().out
    assert f"to {NATS_ALWAYS}" in shown
    assert "after SIGKILL" in shown


def test_publishes_have_distinct_replies_and_varied_payloads() -> None:
    load = wire.Load(128, 200)
    publishes = Publishes(load, 1000)
    data = publishes.render(0, 400) + publishes.render(400, 1000)
    found = re.findall(rb"PUB (bench\.\S+) (\S+) 128\r\n(.{128})\r\n", data)
    assert sum(len(wire.pub(*(name + b" " + reply, body))) for name, reply, body in found) == len(
        data
    )
    assert len({reply for _, reply, _ in found}) == len(found) == 1000
    assert {name for name, _, _ in found} <= set(wire.subjects(200))
    assert len({body for _, _, body in found}) == len(wire.payloads(load))


def test_subjects_come_equally_often_in_mixed_order() -> None:
    names = wire.subjects(200)
    order = wire.published_names(wire.Load(128, 200), 0, 4200)
    assert {order.count(name) for name in names} == {21}
    assert order[:200] != names


def test_disk_use_counts_all_files_below_a_folder(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "b").write_bytes(bytes(range(256)) * 256)
    assert disk.used_bytes(tmp_path) >= 65_536
    assert disk.used_bytes(tmp_path) == disk.settled_bytes(tmp_path)
    assert disk.file_system()


def test_an_lmdb_file_counts_by_its_pages_in_use(tmp_path: Path) -> None:
    assert filled(tmp_path, bytes(1 << 20)) >= 1 << 20
    assert filled(tmp_path, b"") < 1 << 20


def filled(folder: Path, value: bytes) -> int:
    with lmdb.open(str(folder / "a.mdb"), subdir=False, max_dbs=2, map_size=1 << 24) as env:
        database = env.open_db(b"one")
        with env.begin(write=True) as txn:
            txn.put(b"key", value, db=database)
    return disk.used_bytes(folder)


def test_the_large_restart_runs_only_by_its_name() -> None:
    def messages(*argv: str) -> list[int]:
        return [plan.restart_messages for plan in _plans(_options(argv))]

    assert messages("--modes", "js-restart-10m") == [10_000_000]
    assert messages("--modes", "js-restart", "--restart-messages", "5") == [5]
    assert messages("--modes", "js")[0] == 1_000_000
    assert messages("--modes", "core") == [0]
