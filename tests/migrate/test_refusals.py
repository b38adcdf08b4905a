"""Plans, refusals, what the command says and how it ends."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from jetstream_py.cli.migrate import main
from jetstream_py.migrate import Endpoint, MigrateError, Options, plan, stage
from jetstream_py.migrate.report import FAILED, PLANNED
from tests.migrate.support import USER, Pair, numbered, place
from tests.support.certs import Authority
from tests.support.server import OURS, Server, StartServer


def command(pair: Pair, *arguments: str) -> int:
    urls = [f"nats://127.0.0.1:{js.server.port}" for js in (pair.source, pair.target)]
    return main(["--from", urls[0], "--to", urls[1], *arguments])


def test_plan(inwards: Pair, capsys: pytest.CaptureFixture[str]) -> None:
    place(inwards.source, "S", numbered("s", 3, 5), subjects=["s"])
    assert command(inwards, "--all", "--dry-run") == 0
    heading, line = capsys.readouterr().out.splitlines()
    assert heading.split()[:4] == ["stream", "target", "status", "method"]
    assert line.split() == ["S", "S", PLANNED, "backup", "2", "3-5", "0", "no"]
    assert inwards.target.ask("STREAM.NAMES")["streams"] in (None, [])


def test_report(inwards: Pair, capsys: pytest.CaptureFixture[str]) -> None:
    place(inwards.source, "KV_b", numbered("$KV.b.k", 1), subjects=["$KV.b.>"])
    place(inwards.source, "OBJ_o", numbered("$O.o.C.x", 1), subjects=["$O.o.>"])
    assert command(inwards, "--kv", "b", "--object", "o", "--json", "--rename", "OBJ_o=OBJ_p") == 1
    kv, objects = json.loads(capsys.readouterr().out)["streams"]
    assert (kv["stream"], kv["status"], kv["verified"]) == ("KV_b", "done", True)
    assert (objects["target"], objects["status"]) == ("OBJ_p", FAILED)
    assert "cannot be renamed" in objects["error"]


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ((), "say what to migrate"),
        (("--rename", "x"), "say what to migrate"),
        (("--all", "--rename", "x"), "--rename takes OLD=NEW"),
        (("--all", "--method", "x"), "invalid choice"),
        (("--bogus",), "unrecognized arguments"),
    ],
)
def test_usage(
    inwards: Pair, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], text: str
) -> None:
    assert command(inwards, *arguments) == 2
    assert text in capsys.readouterr().err


def test_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    assert "--drop-unsupported" in capsys.readouterr().out


def test_servers_that_do_not_serve(
    inwards: Pair, ours: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    url = f"nats://127.0.0.1:{inwards.source.server.port}"
    wrong = url.replace("//", "//a:wrong@")
    for address, text in (
        ("nats://127.0.0.1:1", "target: cannot connect"),
        (ours.url, "target: JetStream is not enabled"),
        (wrong, "Authorization"),
    ):
        assert main(["--from", url, "--to", address, "--all"]) == 3
        assert text in capsys.readouterr().err


def test_stream_that_is_not_ours(pair: Pair) -> None:
    for js in (pair.source, pair.target):
        js.create("S", subjects=["s"])
        js.publish("s", js.server.kind.encode())
    before = pair.stored(pair.target, "S")
    outcome = pair.one()
    assert outcome.status == FAILED
    assert "there is a stream S at the target" in outcome.error
    assert pair.stored(pair.target, "S") == before
    assert pair.one(renames={"S": "T"}).status == FAILED  # its subject is taken


def test_permissions(pair: Pair) -> None:
    """A way that is forbidden is passed over, unless it is the only one that was asked for."""
    place(pair.source, "S", numbered("s", 1, 2), subjects=["s"])
    asked = pair.one(method="backup", source="reader:r@")
    text = 'Permissions Violation for Publish to "$JS.API.STREAM.SNAPSHOT.S"'
    assert asked.error.lower() == f"source: {text}".lower()
    outcome = pair.one(source="reader:r@", target="writer:w@")
    assert (outcome.method, outcome.error) == ("copy", "")
    assert [note.split(":")[0] for note in outcome.notes] == ["no backup", "no rebuild"]
    pair.assert_same("S")


def test_nkey(inwards: Pair) -> None:
    place(inwards.source, "S", numbered("s", 1, 2), subjects=["s"])
    assert inwards.one(source=f"{USER.seed}@", target=f"{USER.seed}@").error == ""


def test_tls(inwards: Pair, start_server: StartServer, tmp_path: Path) -> None:
    """The target trusts nobody but who shows a certificate."""
    authority = Authority(tmp_path)
    server, client = authority.server(), authority.server("client")
    config = f"""tls {{
        cert_file: "{server.cert}", key_file: "{server.key}", ca_file: "{authority.cert}", verify: true
    }}"""
    target = start_server(OURS, config, ["-js", "-sd", str(tmp_path / "store")])
    place(inwards.source, "S", numbered("s", 1, 2), subjects=["s"])
    source = f"nats://127.0.0.1:{inwards.source.server.port}"
    end = ["--to", f"nats://localhost:{target.port}", "--to-ca", str(authority.cert)]
    assert main(["--from", source, *end, "--all"]) == 3
    end += ["--to-cert", str(client.cert), "--to-key", str(client.key)]
    assert main(["--from", source, *end, "--all"]) == 0


def test_limits_of_the_target(outwards: Pair) -> None:
    outwards.source.create("S", subjects=["s"])
    outcome = outwards.one(replicas=3)
    assert "replicas > 1 not supported" in outcome.error
    assert outwards.one(replicas=1).error == ""


def test_interest_without_consumers(inwards: Pair) -> None:
    place(inwards.source, "S", numbered("s", 1), subjects=["s"])
    inwards.source.ok(
        "CONSUMER.CREATE.S.C",
        {"stream_name": "S", "config": {"durable_name": "C", "ack_policy": "explicit"}},
    )
    inwards.source.update("S", subjects=["s"], retention="interest")
    assert "no durable one" in inwards.one(consumers=False).error


@pytest.mark.parametrize("method", ["rebuild", "copy"])
def test_fields_that_the_target_does_not_know(
    pair: Pair, method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = stage.wanted
    monkeypatch.setattr(stage, "wanted", lambda *given: {**wanted(*given), "bogus": 1})
    place(pair.source, "S", numbered("s", 1, 2), subjects=["s"])
    refused = pair.one(method=method)
    assert "bogus" in refused.error
    assert "error" in pair.target.ask("STREAM.INFO.S")
    outcome = pair.one(method=method, drop_unsupported=True)
    assert (outcome.error, outcome.notes) == ("", ["unknown to the target and dropped: bogus"])
    monkeypatch.undo()
    pair.assert_same("S")


def test_fields_that_an_old_target_passes_over() -> None:
    asked = {"name": "S", "allow_msg_ttl": True, "max_age": 0, "metadata": {"a": "b"}}
    got = {"name": "S", "max_age": 0, "metadata": {"a": "b", "_nats.ver": "2.15.1"}}
    assert stage.ignored(asked, got) == ["allow_msg_ttl"]


@pytest.mark.parametrize(
    ("source", "target", "takes_old", "ways"),
    [
        ((2, 15), (2, 15), False, ["backup", "rebuild", "copy"]),
        ((2, 14), (2, 15), False, ["rebuild", "copy"]),
        ((2, 10), (2, 15), True, ["backup", "rebuild", "copy"]),
        ((2, 15), (2, 14), False, ["copy"]),
        ((2, 10), (2, 14), False, ["backup", "copy"]),
    ],
)
def test_ways_between_versions(
    source: tuple[int, int], target: tuple[int, int], takes_old: bool, ways: list[str]
) -> None:
    state = {"messages": 0, "bytes": 0, "first_seq": 0, "last_seq": 0}
    end = Endpoint("")
    item = plan.Item("S", "S", {"config": {"name": "S"}, "state": state}, [], [])
    assert plan.methods(item, source, target, takes_old, Options(end, end, ("*",))) == ways
    for way in {"backup", "rebuild"} - set(ways):
        with pytest.raises(MigrateError, match=way):
            plan.methods(item, source, target, takes_old, Options(end, end, ("*",), method=way))
