"""Services across accounts: requests, replies, headers, permissions, latency."""

from __future__ import annotations

import pytest

from tests.accounts.support import Stage, scenario
from tests.support.wire import hpub, pub

BLOCK = b"NATS/1.0\r\nA: b\r\n\r\n"

CONFIG = """
accounts {
  S {
    users: [{user: s, password: s}, {user: s2, password: s2}
            {user: resp, password: resp, permissions: {subscribe: ">", allow_responses: true}}
            {user: nopub, password: nopub, permissions: {subscribe: ">", publish: "ok.>"}}
            {user: rpub, password: rpub, permissions: {subscribe: ">", publish: "_R_.>"}}]
    exports: [
      {service: "help"}
      {service: "multi", response_type: stream}
      {service: "chunk", response_type: chunked}
      {service: "wild.*.x"}
      {service: "deep.>"}
      {service: "private", accounts: [C]}
      {service: "swap.*.*"}
      {service: "lit.a"}
      {service: "chain"}
      {service: "shared"}
    ]
  }
  C {
    users: [{user: c, password: c}, {user: c2, password: c2}
            {user: cperm, password: cperm, permissions: {
              publish: ["help", "get.help"], subscribe: "_INBOX.>"}}]
    imports: [
      {service: {account: S, subject: "help"}}
      {service: {account: S, subject: "help"}, to: "get.help"}
      {service: {account: S, subject: "shared"}, to: "shared.help", share: true}
      {service: {account: S, subject: "multi"}}
      {service: {account: S, subject: "chunk"}}
      {service: {account: S, subject: "wild.*.x"}, to: "w.*"}
      {service: {account: S, subject: "deep.>"}, to: "d.>"}
      {service: {account: S, subject: "private"}}
      {service: {account: S, subject: "swap.*.*"}, to: "swp.$2.$1"}
      {service: {account: S, subject: "lit.a"}}
      {service: {account: S, subject: "chain"}, to: "link"}
    ]
    exports: [{service: "link"}]
  }
  D {
    users: [{user: d, password: d}]
    imports: [{service: {account: C, subject: "link"}, to: "far"}]
  }
}
"""

IMPORTS = [
    b"help",
    b"get.help",
    b"shared.help",
    b"multi",
    b"chunk",
    b"w.one",
    b"d.a.b",
    b"private",
    b"swp.a.b",
    b"lit.a",
]


@scenario("AUTH-025", "AUTH-026", "AUTH-027", "AUTH-028", "AUTH-031", config=CONFIG)
@pytest.mark.parametrize("subject", IMPORTS)
def test_round_trip(stage: Stage, subject: bytes) -> None:
    service, client = (
        stage.enter("s"),
        stage.enter("c", lang="python", version="1.0", name="client"),
    )
    service.say(b"SUB > 1\r\n")
    client.say(b"SUB inbox.* 1\r\n" + pub(subject, b"?", b"inbox.1"))
    service.hear()
    reply = service.reply
    for payload in (b"first", b"second", b"", b"after"):
        service.say(pub(reply, payload, b"box"))
        client.hear()


@scenario("AUTH-025", config=CONFIG)
def test_own_connection_sees_what_others_get(stage: Stage) -> None:
    """A subscriber in the importing account competes with nobody."""
    service, client, local = stage.enter("s"), stage.enter("c"), stage.enter("c2")
    service.say(b"SUB help 1\r\n")
    local.say(b"SUB help 1\r\nSUB > 2\r\n")
    client.say(b"SUB inbox.* 1\r\n" + pub(b"help", b"?", b"inbox.1"))
    local.hear(any_order=True)
    service.hear()
    service.answer(b"yes")
    client.hear()
    local.hear(any_order=True)


@scenario("AUTH-026", config=CONFIG)
def test_request_headers(stage: Stage) -> None:
    service, client = stage.enter("s"), stage.enter("c")
    service.say(b"SUB help 1\r\nSUB shared 2\r\n")
    client.say(b"SUB inbox.* 1\r\n")
    for block in [
        BLOCK,
        b"NATS/1.0\r\n\r\n",
        b"NATS/1.0\r\nNats-Request-Info: fake\r\n\r\n",
        b"NATS/1.0\r\nA: b\r\nNats-Request-Info: fake\r\nC: d\r\nNats-Request-Info: again\r\n\r\n",
        b"NATS/1.0\r\nnats-request-info: lower\r\n\r\n",
        b"NATS/1.0 100 Idle\r\nA: b\r\n\r\n",
        b"junk",
        b"",
    ]:
        for subject in (b"help", b"shared.help"):
            client.say(hpub(subject, block, b"x", b"inbox.1"))
            service.hear()


@scenario("AUTH-026", config=CONFIG)
def test_local_requests_have_no_info(stage: Stage) -> None:
    service, client = stage.enter("s"), stage.enter("s2")
    service.say(b"SUB help 1\r\n")
    client.say(b"SUB inbox.* 1\r\n" + pub(b"help", b"x", b"inbox.1"))
    service.hear()
    client.say(hpub(b"help", b"NATS/1.0\r\nNats-Request-Info: fake\r\n\r\n", b"x", b"inbox.1"))
    service.hear()


@scenario("AUTH-025", config=CONFIG)
def test_service_without_headers_support(stage: Stage) -> None:
    service, client = stage.enter("s", headers=False, no_responders=False), stage.enter("c")
    service.say(b"SUB help 1\r\n")
    client.say(
        b"SUB inbox.* 1\r\n"
        + pub(b"help", b"x", b"inbox.1")
        + hpub(b"help", BLOCK, b"y", b"inbox.2")
    )
    service.hear()
    service.answer(b"plain")
    client.hear()


@scenario("AUTH-025", config=CONFIG)
def test_answer_with_headers(stage: Stage) -> None:
    service, client = stage.enter("s"), stage.enter("c")
    service.say(b"SUB help 1\r\n")
    client.say(b"SUB inbox.* 1\r\n" + pub(b"help", b"x", b"inbox.1"))
    service.hear()
    service.say(b"SUB back 2\r\n" + hpub(service.reply, BLOCK, b"with headers", b"back"))
    client.hear()
    client.answer(b"to the answer")
    service.hear()
    client.answer(b"again")
    service.hear()


@scenario("AUTH-030", config=CONFIG)
@pytest.mark.parametrize(
    "subject", [b"help", b"get.help", b"multi", b"d.a", b"w.one", b"link", b"swp.a.b"]
)
def test_nobody_serves(stage: Stage, subject: bytes) -> None:
    client = stage.enter("c")
    client.say(b"SUB inbox.* 1\r\n" + pub(subject, b"x", b"inbox.1"))
    client.say(hpub(subject, BLOCK, b"x", b"inbox.2"))
    client.say(pub(subject, b"no reply"))
    quiet = stage.enter("c", "quiet", no_responders=False)
    quiet.say(b"SUB inbox.* 1\r\n" + pub(subject, b"x", b"inbox.1"))


@scenario("AUTH-030", config=CONFIG)
def test_nobody_serves_but_the_importer_listens(stage: Stage) -> None:
    client, local = stage.enter("c"), stage.enter("c2")
    local.say(b"SUB help 1\r\n")
    client.say(b"SUB inbox.* 1\r\n" + pub(b"help", b"x", b"inbox.1"))
    local.hear()


@scenario("AUTH-025", config=CONFIG)
def test_request_without_reply(stage: Stage) -> None:
    service, client = stage.enter("s"), stage.enter("c")
    service.say(b"SUB > 1\r\n")
    client.say(pub(b"help", b"x") + pub(b"shared.help", b"y") + hpub(b"get.help", BLOCK, b"z"))
    service.hear()


@scenario("AUTH-025", config=CONFIG)
def test_queue_of_servants(stage: Stage) -> None:
    service, client = stage.enter("s"), stage.enter("c")
    service.say(b"SUB help grp 1\r\n")
    client.say(b"SUB inbox.* 1\r\n")
    for number in (b"1", b"2"):
        client.say(pub(b"help", number, b"inbox." + number))
        service.hear()
        service.answer(b"answer " + number)
        client.hear()


@scenario("AUTH-025", config=CONFIG)
def test_two_services_answer_one_request(stage: Stage) -> None:
    one, two, client = stage.enter("s"), stage.enter("s2"), stage.enter("c")
    one.say(b"SUB help 1\r\n")
    two.say(b"SUB help 1\r\n")
    client.say(b"SUB inbox.* 1\r\n" + pub(b"help", b"?", b"inbox.1"))
    one.hear()
    two.hear()
    one.answer(b"one")
    two.answer(b"two")
    client.hear()


@scenario("AUTH-028", config=CONFIG)
def test_answer_from_elsewhere(stage: Stage) -> None:
    """Whoever knows the reply subject may use it, but only in the account of the service."""
    service, other, client, thief = (
        stage.enter("s"),
        stage.enter("s2"),
        stage.enter("c"),
        stage.enter("c2"),
    )
    service.say(b"SUB help 1\r\n")
    client.say(b"SUB inbox.* 1\r\n" + pub(b"help", b"?", b"inbox.1"))
    service.hear()
    thief.say(b"SUB box 1\r\n" + pub(service.reply, b"stolen", b"box"))
    other.say(pub(service.reply, b"other"))
    client.hear()


@scenario("AUTH-028", config=CONFIG)
def test_reserved_subjects(stage: Stage) -> None:
    service, client = stage.enter("s"), stage.enter("c")
    service.say(
        b"SUB _R_.> 1\r\nSUB box 2\r\n"
        + pub(b"_R_.abc.def", b"x")
        + pub(b"_R_.abc.def", b"x", b"box")
    )
    service.say(b"SUB help 3\r\n")
    client.say(b"SUB inbox.* 1\r\n" + pub(b"help", b"?", b"inbox.1"))
    service.hear()
    service.say(pub(service.reply, b"mine too"), any_order=True)
    client.hear()


@scenario("AUTH-025", config=CONFIG)
def test_requester_has_left(stage: Stage) -> None:
    service, client = stage.enter("s"), stage.enter("c")
    service.say(b"SUB help 1\r\nSUB box 2\r\n")
    client.say(b"SUB inbox.* 1\r\n" + pub(b"help", b"?", b"inbox.1"))
    service.hear()
    client.say(b"UNSUB 1\r\n")
    service.say(pub(service.reply, b"late", b"box"))
    service.say(pub(service.reply, b"later", b"box"))


@scenario("AUTH-025", config=CONFIG)
def test_answer_goes_to_all_who_listen(stage: Stage) -> None:
    service, client, other = stage.enter("s"), stage.enter("c"), stage.enter("c2")
    service.say(b"SUB help 1\r\n")
    other.say(b"SUB inbox.> 1\r\nSUB inbox.* q 2\r\n")
    client.say(pub(b"help", b"?", b"inbox.1"))
    service.hear()
    service.answer(b"all")
    other.hear(any_order=True)


@scenario("AUTH-025", config=CONFIG)
def test_chain_of_imports(stage: Stage) -> None:
    service, middle, client = stage.enter("s"), stage.enter("c"), stage.enter("d")
    service.say(b"SUB > 1\r\n")
    middle.say(b"SUB > 1\r\n")
    client.say(b"SUB inbox.* 1\r\n" + pub(b"far", b"?", b"inbox.1"))
    middle.hear()
    service.hear()
    service.answer(b"from afar")
    middle.hear()
    client.hear()


@scenario("AUTH-030", config=CONFIG)
def test_nobody_at_the_end_of_the_chain(stage: Stage) -> None:
    client = stage.enter("d")
    client.say(b"SUB inbox.* 1\r\n" + pub(b"far", b"?", b"inbox.1") + pub(b"far", b"?"))


@scenario("AUTH-018", "AUTH-028", config=CONFIG)
@pytest.mark.parametrize("name", ["resp", "nopub", "rpub"])
def test_permissions_of_the_servant(stage: Stage, name: str) -> None:
    service, client = stage.enter(name), stage.enter("c")
    service.say(b"SUB help 1\r\n")
    client.say(b"SUB inbox.* 1\r\n" + pub(b"help", b"?", b"inbox.1"))
    service.hear()
    service.answer(b"one")
    service.answer(b"two")
    client.hear()


@scenario("AUTH-025", config=CONFIG)
def test_permissions_of_the_requester(stage: Stage) -> None:
    service, client = stage.enter("s"), stage.enter("cperm")
    service.say(b"SUB help 1\r\nSUB shared 1\r\n")
    client.say(b"SUB _INBOX.x 1\r\nSUB other 2\r\n")
    for subject in (b"help", b"get.help", b"shared.help"):
        client.say(pub(subject, b"?", b"_INBOX.x"))
        service.hear()
        service.answer(b"yes")
        client.hear()
    client.say(pub(b"help", b"?", b"other"))
    service.hear()
    service.answer(b"to nobody")
    client.hear()


@scenario("AUTH-025", config=CONFIG)
def test_reply_subject_with_wildcards(stage: Stage) -> None:
    service, client = stage.enter("s"), stage.enter("c")
    service.say(b"SUB help 1\r\n")
    client.say(
        b"SUB inbox.* 1\r\n" + pub(b"help", b"?", b"inbox.*") + pub(b"help", b"?", b"bad..reply")
    )
    for frame in service.hear():
        service.say(pub(frame.split(b" ")[3], b"a"))
    client.hear()


@scenario("AUTH-025", config=CONFIG)
def test_subscription_to_the_imported_subject(stage: Stage) -> None:
    """An import of a service brings no messages of the other account."""
    service, client = stage.enter("s"), stage.enter("c")
    client.say(b"SUB > 1\r\n")
    service.say(pub(b"help", b"x") + pub(b"get.help", b"y"))
    client.hear()


@scenario("AUTH-025", config=CONFIG)
def test_wildcard_publish_to_an_import(stage: Stage) -> None:
    service, client = stage.enter("s"), stage.enter("c")
    service.say(b"SUB > 1\r\n")
    for subject in [b"w.*", b"w.>", b"d.>", b"d.*", b"w.a.b", b"w", b"d", b"swp.a", b"he*"]:
        client.say(pub(subject, b"x", b"inbox.1"))
        service.hear()


@scenario("AUTH-025", config=CONFIG)
def test_echo_and_services(stage: Stage) -> None:
    service, client = stage.enter("s"), stage.enter("c", echo=False)
    service.say(b"SUB help 1\r\n")
    client.say(b"SUB inbox.* 1\r\n" + pub(b"help", b"?", b"inbox.1"))
    service.hear()
    service.answer(b"yes")
    client.hear()


@scenario("AUTH-025", config=CONFIG)
def test_verbose_request(stage: Stage) -> None:
    client = stage.enter("c", verbose=True)
    client.say(b"SUB inbox.* 1\r\n" + pub(b"help", b"?", b"inbox.1") + pub(b"help"))


@scenario("AUTH-025", config=CONFIG, own=True)
def test_counters_of_the_accounts(stage: Stage) -> None:
    service, client = stage.enter("s"), stage.enter("c")
    service.say(b"SUB help 1\r\n")
    client.say(b"SUB inbox.* 1\r\n" + pub(b"help", b"12345", b"inbox.1"))
    service.hear()
    service.answer(b"123")
    client.hear()
    keys = ("in_msgs", "in_bytes", "out_msgs", "account", "authorized_user", "subscriptions")
    stage.connections("sort=cid&auth=1", *keys)
    page = stage.server.monitor("/varz")
    stage.note("varz", {key: page[key] for key in ("in_msgs", "in_bytes", "out_msgs")})


LATENCY = """
accounts {
  S {
    users: [{user: s, password: s}]
    exports: [
      {service: "help", latency: {sampling: 100, subject: "lat.help"}}
      {service: "short", latency: "lat.short"}
      {service: "traced", latency: {sampling: headers, subject: "lat.traced"}}
      {service: "slow", response_threshold: "10ms", latency: "lat.slow"}
      {service: "shared", latency: "lat.shared"}
    ]
  }
  C {
    users: [{user: c, password: c}]
    imports: [
      {service: {account: S, subject: "help"}}
      {service: {account: S, subject: "short"}, to: "get.short"}
      {service: {account: S, subject: "traced"}}
      {service: {account: S, subject: "slow"}}
      {service: {account: S, subject: "shared"}, share: true}
    ]
  }
}
"""


@scenario("AUTH-032", config=LATENCY)
@pytest.mark.parametrize("subject", [b"help", b"get.short", b"shared"])
def test_latency(stage: Stage, subject: bytes) -> None:
    service, client = (
        stage.enter("s", lang="go", version="1.2"),
        stage.enter("c", lang="python", version="1.0"),
    )
    service.say(b"SUB help 1\r\nSUB short 2\r\nSUB shared 3\r\nSUB lat.> 4\r\n")
    client.say(b"SUB inbox 1\r\n" + pub(subject, b"?", b"inbox"))
    service.hear()
    service.client.send(pub(service.reply, b"yes"))
    service.wait()
    client.wait()


@scenario("AUTH-032", config=LATENCY)
@pytest.mark.parametrize(
    "block",
    [
        b"Uber-Trace-Id: a:b:c:1",
        b"X-B3-Sampled: 1\r\nX-B3-TraceId: 80f198ee56343ba8",
        b"traceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
        b"B3: 80f198ee56343ba864fe8b2a57d3eff7-e457b5a2e4d86bd1-1",
    ],
    ids=["jaeger", "zipkin", "w3c", "b3"],
)
def test_latency_of_traced_requests(stage: Stage, block: bytes) -> None:
    service, client = stage.enter("s"), stage.enter("c")
    service.say(b"SUB traced 1\r\nSUB lat.> 4\r\n")
    client.say(
        b"SUB inbox 1\r\n" + hpub(b"traced", b"NATS/1.0\r\n" + block + b"\r\n\r\n", b"?", b"inbox")
    )
    service.hear()
    service.client.send(pub(service.reply, b"yes"))
    service.wait()


@scenario("AUTH-032", config=LATENCY)
@pytest.mark.parametrize(
    "block", [b"X-B3-Sampled: 0", b"A: b", b"B3: 0", b"Uber-Trace-Id: a:b:c:0"]
)
def test_untraced_requests_are_not_measured(stage: Stage, block: bytes) -> None:
    """What the other service measures comes later, and comes alone."""
    service, client = stage.enter("s"), stage.enter("c")
    service.say(b"SUB traced 1\r\nSUB help 2\r\nSUB lat.> 4\r\n")
    client.say(
        b"SUB inbox 1\r\n" + hpub(b"traced", b"NATS/1.0\r\n" + block + b"\r\n\r\n", b"?", b"inbox")
    )
    service.hear()
    service.answer(b"yes")
    client.say(pub(b"help", b"?", b"inbox"))
    service.hear()
    service.client.send(pub(service.reply, b"yes"))
    service.wait()


@scenario("AUTH-030", "AUTH-032", config=LATENCY)
def test_latency_of_what_fails(stage: Stage) -> None:
    service, client = stage.enter("s"), stage.enter("c")
    service.say(b"SUB lat.> 1\r\nSUB slow 2\r\n")
    client.say(b"SUB inbox 1\r\n" + pub(b"help", b"nobody", b"inbox"))
    service.wait()
    client.client.send(pub(b"slow", b"too late", b"inbox"))
    service.wait()
    reply = service.reply
    service.wait()
    service.say(pub(reply, b"late"))
    client.hear()


@scenario("AUTH-032", config=LATENCY)
def test_latency_of_a_request_without_reply(stage: Stage) -> None:
    service, client = stage.enter("s"), stage.enter("c")
    service.say(b"SUB lat.> 1\r\nSUB help 2\r\n")
    client.client.send(pub(b"help", b"no reply"))
    service.wait(2)
