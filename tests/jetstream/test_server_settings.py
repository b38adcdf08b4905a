"""The `jetstream` block of the configuration: domain, strictness, limits."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.jetstream import pulling
from tests.jetstream.support import API, SECOND, OwnServer, own_server
from tests.support.server import KINDS, ORACLE, OURS, Kind, StartError, StartServer

HUB = "jetstream { domain: hub }\n"
UNKNOWN = {"name": "S", "nobody_knows": 1}


@own_server("PUB-001", "STR-099", config=HUB)
def test_domain_in_answers(js: OwnServer) -> None:
    js.create("S", subjects=["s.>"], allow_direct=True)
    js.update("S", subjects=["s.>"], allow_direct=True, max_msgs=10)
    js.publish("s.1", b"x", {"Nats-Msg-Id": "1"})
    js.publish("s.1", b"x", {"Nats-Msg-Id": "1"})
    js.info("S")
    js.ok("STREAM.LIST")
    js.ok("STREAM.NAMES")
    js.ok("INFO")
    js.direct("S", seq=1)
    assert js.server.client().info["domain"] == "hub"


@own_server(config=HUB)
def test_the_api_by_its_other_name(js: OwnServer) -> None:
    def ask(verb: str, body: object = None) -> None:
        js.request(f"$JS.hub.API.{verb}", json.dumps(body).encode() if body else b"")

    ask("STREAM.CREATE.S", {"name": "S", "subjects": ["s.>"], "allow_direct": True})
    js.publish("s.1", b"x")
    for verb, body in (
        ("INFO", None),
        ("STREAM.INFO.S", None),
        ("STREAM.INFO.T", None),
        ("STREAM.MSG.GET.S", {"seq": 1}),
        ("DIRECT.GET.S", {"seq": 1}),
        ("DIRECT.GET.T", {"seq": 1}),
        ("DIRECT.GET.S.s.1", None),
        ("STREAM.PURGE.S", None),
        ("STREAM.DELETE.S", None),
    ):
        ask(verb, body)
    js.silent("$JS.hub.API.STREAM.NOTHING")
    for subject in ("$JS.other.API.INFO", "$JS.hub.API", "$JS.hub.OTHER", "$JS.hub.API.NOTHING"):
        assert js.request(subject).status == "503"


@own_server(config=HUB)
def test_buckets_by_the_domain(js: OwnServer) -> None:
    js.create("KV_b", subjects=["$KV.b.>"], allow_direct=True)
    js.publish("$JS.hub.API.$KV.b.key", b"value", {"Own": "header"})
    js.cast("$JS.hub.API.$KV.b.key", b"without reply")
    js.settled("KV_b", messages=2)
    assert js.direct("KV_b", last_by_subj="$KV.b.key").data == b"without reply"
    js.request("$JS.hub.API.$KV.nobody.key", b"x")
    js.request("$JS.hub.API.$OBJ.nobody.key", b"x")


@own_server("STR-101", config=HUB)
def test_domain_in_advisories(js: OwnServer) -> None:
    js.listen("$JS.EVENT.ADVISORY.>")
    js.create("S")
    js.heard(2)
    js.request("$JS.hub.API.STREAM.DELETE.S")
    js.heard(2)


@own_server(config=HUB)
def test_consumers_by_the_domain(js: OwnServer) -> None:
    def ask(verb: str, body: object = None) -> None:
        js.request(f"$JS.hub.API.CONSUMER.{verb}", json.dumps(body).encode() if body else b"")

    pulling.stream(js, 2)
    js.listen("$JS.EVENT.ADVISORY.CONSUMER.>")
    config = {"durable_name": "C", "ack_policy": "explicit"}
    ask("DURABLE.CREATE.S.C", {"stream_name": "S", "config": config})
    pulling.advisories(js, 1)
    ask("INFO.S.C")
    ask("NAMES.S")
    pull = pulling.Pull(js).send("$JS.hub.API.CONSUMER.MSG.NEXT.S.C", {"batch": 2})
    assert [message.data for message in pull.messages(2)] == [b"m1", b"m2"]
    ask("DELETE.S.C")
    pulling.advisories(js, 1)


@own_server(config=HUB)
def test_domain_in_advisories_about_messages(js: OwnServer) -> None:
    pulling.stream(js, 3)
    consumer = pulling.consumer(js, sample_freq="100")
    js.listen("$JS.EVENT.ADVISORY.CONSUMER.>")
    for answer in (b"+TERM why", b"+TERM", b"-NAK"):
        [message] = consumer.fetch()
        consumer.ack(message, answer)
        pulling.advisories(js, 1)


@own_server(config=HUB)
def test_acks_by_the_domain(js: OwnServer) -> None:
    """The second form of ack subjects names it."""
    pulling.stream(js, 2)
    consumer = pulling.consumer(js)
    for domain in ("hub", "_"):
        [message] = consumer.fetch()
        rest = message.reply.removeprefix("$JS.ACK.")
        js.note(js.request(f"$JS.ACK.{domain}.szMpdrwD.{rest}").headers)
    js.note(consumer.info()["num_ack_pending"])


@own_server(config="jetstream { limits { max_request_batch: 5, max_ack_pending: 7 } }\n")
def test_limits_of_consumers(js: OwnServer) -> None:
    def make(name: str, **config: object) -> None:
        body = {"stream_name": "S", "config": {"durable_name": name, **config}}
        js.api(f"CONSUMER.DURABLE.CREATE.S.{name}", body)

    js.create("S", subjects=["s.>"])
    make("A", ack_policy="explicit")
    make("B", ack_policy="explicit", max_ack_pending=8)
    make("C", ack_policy="explicit", max_ack_pending=6, max_batch=3)
    make("D", ack_policy="none", max_batch=6)
    make("E", ack_policy="explicit", deliver_subject="d")
    pull = pulling.Pull(js).send(f"{API}CONSUMER.MSG.NEXT.S.A", {"batch": 6})
    assert pull.status() == "409 Exceeded MaxRequestBatch of 5"


@own_server(config="jetstream { strict: false }\n")
def test_unknown_fields_may_pass(js: OwnServer) -> None:
    js.api("STREAM.CREATE.S", UNKNOWN)
    js.api("STREAM.UPDATE.S", UNKNOWN)
    js.publish("S", b"x")
    js.api("STREAM.INFO.S", {"nobody_knows": 1})
    js.api("STREAM.NAMES", {"nobody_knows": 1})
    js.api("STREAM.LIST", {"nobody_knows": 1})
    js.api("STREAM.MSG.GET.S", {"seq": 1, "nobody_knows": 1})
    js.api("STREAM.PURGE.S", {"nobody_knows": 1})
    js.api("STREAM.MSG.DELETE.S", {"seq": 1, "nobody_knows": 1})
    js.api("STREAM.CREATE.T", b'{"name":"T","max_msgs":"text"}')
    config = {"durable_name": "C", "ack_policy": "explicit", "nobody_knows": 1}
    js.api("CONSUMER.DURABLE.CREATE.S.C", {"stream_name": "S", "config": config, "other": 1})
    js.api("CONSUMER.NAMES.S", {"nobody_knows": 1})
    js.api("CONSUMER.LIST.S", {"nobody_knows": 1})


@own_server(config='jetstream { limits { duplicate_window: "10s", max_ack_pending: 5 } }\n')
def test_limits(js: OwnServer) -> None:
    assert js.create("S")["config"]["duplicate_window"] == 10 * SECOND
    js.create("T", duplicate_window=5 * SECOND)
    js.create_refused("U", duplicate_window=11 * SECOND)
    js.create_refused("U", pedantic=True)
    js.update_refused("T", duplicate_window=11 * SECOND)
    js.create("V", consumer_limits={"max_ack_pending": 50})
    js.ok("INFO")


CONFIGS = [
    "jetstream { }",
    "jetstream { domain: hub }",
    "jetstream { strict: false, sync_interval: always }",
    'jetstream { limits { max_request_batch: 10, max_ha_assets: 3, duplicate_window: "1m" } }',
    "jetstream { limits { max_ack_pending: 5 } }",
]


@pytest.mark.parametrize("config", CONFIGS)
def test_varz(start_server: StartServer, config: str) -> None:
    """Sizes and directories are the machine's; syncing is another story."""

    def told(kind: Kind) -> dict[str, Any]:
        server = start_server(kind, config, ["-m", "-1", "-sd", "store"])
        found: dict[str, Any] = server.monitor("/varz")["jetstream"]
        for key in ("max_memory", "max_storage", "store_dir", "sync_interval", "sync_always"):
            found["config"].pop(key, None)
        return found

    assert told(OURS) == told(ORACLE)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("domain", ['"a.b"', '"*"', '">"', '"a b"'])
def test_a_domain_is_one_token(start_server: StartServer, kind: Kind, domain: str) -> None:
    with pytest.raises(StartError, match="invalid domain name: "):
        start_server(kind, f"jetstream {{ domain: {domain} }}", ["-sd", "store"])


def test_the_log_names_the_domain(start_server: StartServer) -> None:
    log = start_server(OURS, "jetstream { domain: hub, strict: false }", ["-sd", "s"]).log()
    assert "  Domain:          hub" in log
    assert "Strict:" not in log
