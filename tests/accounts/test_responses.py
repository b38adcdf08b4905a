"""allow_responses: leave to answer what one was asked, and nothing more."""

from __future__ import annotations

import pytest

from tests.accounts.support import Stage, scenario
from tests.support.wire import connect, hpub, pub

BLOCK = b"NATS/1.0\r\nA: b\r\n\r\n"

CONFIG = """
authorization { users: [
  {user: all, password: all}
  {user: one, password: one, permissions: {subscribe: ">", allow_responses: true}}
  {user: three, password: three, permissions: {
    subscribe: ">", allow_responses: {max: 3, expires: "1m"}}}
  {user: many, password: many, permissions: {subscribe: ">", allow_responses: {max: -1}}}
  {user: zero, password: zero, permissions: {subscribe: ">", allow_responses: {max: 0}}}
  {user: both, password: both, permissions: {
    publish: ["ok.>", "inbox.ok"], subscribe: ">", allow_responses: true}}
  {user: denied, password: denied, permissions: {
    publish: {deny: ["inbox.no", "x"]}, subscribe: ">", allow_responses: true}}
  {user: allowdeny, password: allowdeny, permissions: {
    publish: {allow: "ok.>", deny: "inbox.no"}, subscribe: ">", allow_responses: true}}
  {user: never, password: never, permissions: {
    publish: "ok.>", subscribe: ">", allow_responses: false}}
  {user: brief, password: brief, permissions: {
    subscribe: ">", allow_responses: {max: 5, expires: "1ms"}}}
  {user: forever, password: forever, permissions: {
    subscribe: ">", allow_responses: {max: 2, expires: "-1s"}}}
  {user: lone, password: lone, permissions: {allow_responses: true}}
] }
"""


@scenario("AUTH-018", config=CONFIG)
@pytest.mark.parametrize(
    "name", ["one", "three", "many", "zero", "both", "denied", "allowdeny", "never", "forever"]
)
def test_number_of_answers(stage: Stage, name: str) -> None:
    service, client = stage.enter(name), stage.enter("all")
    service.say(b"SUB ask 1\r\n")
    client.say(b"SUB > 1\r\n")
    service.say(pub(b"inbox.1", b"too early"))
    client.say(
        pub(b"ask", b"?", b"inbox.1")
        + pub(b"ask", b"?", b"inbox.ok")
        + pub(b"ask", b"?", b"inbox.no")
    )
    service.hear()
    for _ in range(5):
        service.say(pub(b"inbox.1", b"a") + pub(b"inbox.ok", b"a") + pub(b"inbox.no", b"a"))
    service.say(pub(b"x", b"other") + pub(b"ok.a", b"own"))
    client.hear()


@scenario("AUTH-018", config=CONFIG)
def test_same_reply_twice(stage: Stage) -> None:
    service, client = stage.enter("one"), stage.enter("all")
    service.say(b"SUB ask 1\r\n")
    client.say(pub(b"ask", b"?", b"inbox.1") * 2)
    service.hear()
    service.say(pub(b"inbox.1") * 3)
    client.say(pub(b"ask", b"?", b"inbox.1"))
    service.hear()
    service.say(pub(b"inbox.1") * 3)


@scenario("AUTH-018", config=CONFIG)
def test_several_subscriptions_for_one_request(stage: Stage) -> None:
    service, client = stage.enter("one"), stage.enter("all")
    service.say(b"SUB ask 1\r\nSUB as* 2\r\nSUB * 3\r\n")
    client.say(pub(b"ask", b"?", b"inbox.1"))
    service.hear()
    service.say(pub(b"inbox.1") * 4)


@scenario("AUTH-018", config=CONFIG)
def test_request_through_a_queue(stage: Stage) -> None:
    service, other, client = stage.enter("one"), stage.enter("one", "other"), stage.enter("all")
    service.say(b"SUB ask grp 1\r\n")
    client.say(b"SUB inbox.* 1\r\n" + hpub(b"ask", BLOCK, b"?", b"inbox.1"))
    service.hear()
    other.say(pub(b"inbox.1", b"not asked"))
    service.say(hpub(b"inbox.1", BLOCK, b"a") + hpub(b"inbox.1", BLOCK, b"b"))
    client.hear()


@scenario("AUTH-018", config=CONFIG)
def test_request_of_oneself(stage: Stage) -> None:
    service = stage.enter("both")
    service.say(b"SUB ok.ask 1\r\n" + pub(b"ok.ask", b"?", b"inbox.1") + pub(b"inbox.1") * 2)


@scenario("AUTH-018", config=CONFIG)
def test_answer_without_receivers(stage: Stage) -> None:
    service, client = stage.enter("one"), stage.enter("all")
    service.say(b"SUB ask 1\r\nSUB back 2\r\n")
    client.say(pub(b"ask", b"?", b"inbox.1"))
    service.hear()
    service.say(pub(b"inbox.1", b"a", b"back") + pub(b"inbox.1", b"a", b"back"))


@scenario("AUTH-018", config=CONFIG)
def test_wildcard_replies(stage: Stage) -> None:
    service, client = stage.enter("one"), stage.enter("all")
    service.say(b"SUB ask 1\r\n")
    client.say(pub(b"ask", b"?", b"inbox.*") + pub(b"ask", b"?", b">") + pub(b"ask", b"?", b"a..b"))
    service.hear()
    service.say(pub(b"inbox.1") + pub(b"inbox.*") * 2 + pub(b">") * 2 + pub(b"a..b") * 2)


@scenario("AUTH-018", config=CONFIG)
def test_refused_answer_uses_up_nothing_else(stage: Stage) -> None:
    service, client = stage.enter("denied"), stage.enter("all")
    service.say(b"SUB ask 1\r\n")
    client.say(b"SUB inbox.* 1\r\n" + pub(b"ask", b"?", b"inbox.no"))
    service.hear()
    service.say(pub(b"inbox.no", b"a") * 2)
    client.hear()


@scenario("AUTH-019", config=CONFIG)
def test_answers_expire(stage: Stage) -> None:
    """The requests pass the millisecond: each waits for a round trip, and one of them takes longer."""
    service, client = stage.enter("brief"), stage.enter("all")
    service.say(b"SUB ask 1\r\n")
    client.say(pub(b"ask", b"?", b"inbox.1"))
    service.hear()
    refused = False
    while not refused:
        refused = bool(service.client.exchange(pub(b"inbox.1")))
    service.say(pub(b"inbox.1"))


@scenario("AUTH-018", config=CONFIG)
def test_only_responses_are_allowed(stage: Stage) -> None:
    user = stage.enter("lone")
    user.say(b"SUB any 1\r\n" + pub(b"any", b"x") + pub(b"_INBOX.x", b"x"))


@scenario("AUTH-018", config=CONFIG)
def test_plain_answer_in_verbose_mode(stage: Stage) -> None:
    service, client = (
        stage.connect("loud", connect(user="one", verbose=True, **{"pass": "one"})),
        stage.enter("all"),
    )
    service.say(b"SUB ask 1\r\n")
    client.say(pub(b"ask", b"?", b"inbox.1"))
    service.hear()
    service.say(pub(b"inbox.1") + pub(b"inbox.1"))
