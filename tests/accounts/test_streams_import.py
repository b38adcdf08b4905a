"""Accounts keep their messages apart; a stream import is the door between them."""

from __future__ import annotations

import pytest

from tests.accounts.support import Stage, scenario
from tests.support.wire import hpub, messages, pub

BLOCK = b"NATS/1.0\r\nA: b\r\n\r\n"

CONFIG = """
accounts {
  A {
    users: [{user: a, password: a}]
    exports: [
      {stream: "ev.>"}
      {stream: "lit"}
      {stream: "pair.*.*"}
      {stream: "private.>", accounts: [B]}
      {stream: "ticks.*"}
      {stream: "all.>"}
    ]
  }
  B {
    users: [{user: b, password: b}, {user: b2, password: b2}
            {user: perm, password: perm, permissions: {
              subscribe: {allow: ["fromA.>", "same.lit"], deny: "fromA.ev.no"}}}
            {user: ev, password: ev, permissions: {subscribe: "ev.>"}}]
    imports: [
      {stream: {account: A, subject: "ev.>"}, prefix: "fromA"}
      {stream: {account: A, subject: "lit"}, to: "same.lit"}
      {stream: {account: A, subject: "pair.*.*"}, to: "swapped.$2.$1"}
      {stream: {account: A, subject: "private.>"}}
      {stream: {account: A, subject: "ticks.7"}, to: "seven"}
      {stream: {account: A, subject: "all.>"}, to: "all.>"}
    ]
    exports: [{stream: "fromA.>"}]
  }
  C {
    users: [{user: c, password: c}]
    imports: [
      {stream: {account: B, subject: "fromA.>"}}
      {stream: {account: A, subject: "ev.one"}, prefix: "direct"}
    ]
  }
  D { users: [{user: d, password: d}] }
}
"""

SENT = [
    b"ev.x", b"ev.x.y", b"ev", b"lit", b"pair.1.2", b"pair.1", b"private.x", b"ticks.7", b"ticks.8",
    b"ev.no", b"ev.one", b"all.a", b"other", b"ev.*", b"ev.>", b"fromA.ev.x", b"same.lit",
]  # fmt: skip


@scenario("AUTH-023", config=CONFIG)
def test_accounts_are_apart(stage: Stage) -> None:
    a, b, d = stage.enter("a"), stage.enter("b"), stage.enter("d")
    for actor in (a, b, d):
        actor.say(b"SUB > 1\r\nSUB other q 2\r\nSUB inbox 3\r\n")
    a.say(pub(b"other", b"of a") + pub(b"none", b"", b"inbox"), any_order=True)
    b.hear()
    d.say(pub(b"other", b"of d"), any_order=True)
    a.hear()
    b.hear()


@scenario("AUTH-023", config=CONFIG)
def test_no_responders_in_ones_own_account(stage: Stage) -> None:
    a, d = stage.enter("a"), stage.enter("d")
    a.say(b"SUB service 1\r\n")
    d.say(b"SUB inbox 1\r\n" + pub(b"service", b"", b"inbox"))


@scenario("AUTH-024", config=CONFIG)
@pytest.mark.parametrize(
    "filters",
    [
        [b">"], [b"*.>"], [b"fromA.>"], [b"fromA.*.x"], [b"fromA.ev.x"], [b"ev.>"], [b"ev.x"],
        [b"same.*"], [b"same.lit"], [b"lit"], [b"swapped.*.*"], [b"swapped.2.*"], [b"swapped.2.1"],
        [b"swapped.>"], [b"swapped.1.2"], [b"private.>"], [b"private.x"], [b"seven"],
        [b"seven", b"seve*"], [b"*"], [b"all.*"], [b"*.ev.>"], [b"fromA.*.*"], [b"fromA"],
        [b"fromA.ev"], [b">", b"fromA.>", b"fromA.ev.x"],
    ],
    ids=lambda filters: b",".join(filters).decode(),
)  # fmt: skip
def test_import(stage: Stage, filters: list[bytes]) -> None:
    a, b = stage.enter("a"), stage.enter("b")
    for sid, subject in enumerate(filters):
        b.say(b"SUB %b %d\r\n" % (subject, sid))
    for subject in SENT:
        a.say(pub(subject, subject))
        b.hear(any_order=True)


@scenario("AUTH-024", config=CONFIG)
def test_import_with_headers_and_reply(stage: Stage) -> None:
    a, b = stage.enter("a"), stage.enter("b")
    b.say(b"SUB fromA.> 1\r\n")
    a.say(b"SUB inbox 1\r\n" + hpub(b"ev.x", BLOCK, b"x", b"inbox") + pub(b"ev.y", b"y", b"inbox"))
    b.hear()
    b.say(pub(b"inbox", b"answer"))
    a.hear()


@scenario("AUTH-024", config=CONFIG)
def test_queue_group_over_an_import(stage: Stage) -> None:
    a, b, other = stage.enter("a"), stage.enter("b"), stage.enter("b2")
    a.say(b"SUB ev.x grp 1\r\n")
    b.say(b"SUB fromA.ev.x grp 1\r\n")
    other.say(b"SUB fromA.> grp 1\r\n")
    a.client.exchange(pub(b"ev.x", b"1") * 60)
    stage.note("heard in B", [bool(actor.client.exchange()) for actor in (b, other)])


@scenario("AUTH-024", config=CONFIG)
def test_queue_groups_of_two_accounts(stage: Stage) -> None:
    """Whether members of one group in two accounts share the messages."""
    a, b = stage.enter("a"), stage.enter("b")
    sender = stage.enter("a", "sender")
    a.say(b"SUB ev.x grp 1\r\n")
    b.say(b"SUB fromA.ev.x grp 1\r\n")
    sender.say(pub(b"ev.x", b"1") * 60)
    heard = [len(messages(actor.client.exchange())) for actor in (a, b)]
    stage.note("both heard some", [count > 0 for count in heard])
    stage.note("together", sum(heard))


@scenario("AUTH-024", config=CONFIG)
def test_unsubscribe(stage: Stage) -> None:
    a, b = stage.enter("a"), stage.enter("b")
    b.say(b"SUB fromA.> 1\r\nSUB > 2\r\nUNSUB 1\r\n")
    a.say(pub(b"ev.x", b"1"))
    b.hear()
    b.say(b"UNSUB 2\r\n")
    a.say(b"SUB inbox 1\r\n" + pub(b"ev.x", b"2", b"inbox"))
    b.hear()


@scenario("AUTH-024", config=CONFIG)
def test_local_publish_to_an_imported_subject(stage: Stage) -> None:
    a, b, other = stage.enter("a"), stage.enter("b"), stage.enter("b2")
    a.say(b"SUB > 1\r\n")
    b.say(b"SUB fromA.> 1\r\nSUB ev.> 2\r\n")
    other.say(pub(b"fromA.ev.x", b"local") + pub(b"ev.x", b"local too"))
    a.hear()
    b.hear()


@scenario("AUTH-024", config=CONFIG)
def test_interest_over_an_import_counts_for_requests(stage: Stage) -> None:
    a, b = stage.enter("a"), stage.enter("b")
    a.say(b"SUB inbox 1\r\n" + pub(b"ev.x", b"", b"inbox"))
    b.say(b"SUB fromA.> 1\r\n")
    a.say(pub(b"ev.x", b"", b"inbox"))
    b.hear()


@scenario("AUTH-024", config=CONFIG)
@pytest.mark.parametrize(
    "filters", [b">", b"fromA.>", b"direct.>", b"direct.ev.one", b"fromA.ev.x"]
)
def test_import_of_an_import(stage: Stage, filters: bytes) -> None:
    a, b, c = stage.enter("a"), stage.enter("b"), stage.enter("c")
    c.say(b"SUB %b 1\r\n" % filters)
    for subject in (b"ev.x", b"ev.one"):
        a.say(pub(subject, b"from a"))
        c.hear(any_order=True)
    b.say(pub(b"fromA.ev.x", b"from b"))
    c.hear(any_order=True)


@scenario("AUTH-024", config=CONFIG)
@pytest.mark.parametrize("name", ["perm", "ev"])
def test_permissions_are_for_the_importers_subjects(stage: Stage, name: str) -> None:
    a, user = stage.enter("a"), stage.enter(name)
    user.say(
        b"SUB fromA.> 1\r\nSUB ev.> 2\r\nSUB same.lit 3\r\nSUB fromA.ev.no 4\r\nSUB fromA.ev.* 5\r\n"
    )
    for subject in (b"ev.x", b"ev.no", b"lit"):
        a.say(pub(subject, b"x"))
        user.hear(any_order=True)


@scenario("AUTH-024", config=CONFIG)
def test_echo_over_an_import(stage: Stage) -> None:
    """The sender is in A, so its wish for no echo says nothing about B."""
    a, b = stage.enter("a", echo=False), stage.enter("b", echo=False)
    b.say(b"SUB fromA.> 1\r\n")
    a.say(b"SUB ev.> 1\r\n" + pub(b"ev.x", b"x"))
    b.hear()


@scenario("AUTH-024", config=CONFIG, own=True)
def test_counters_of_an_import(stage: Stage) -> None:
    a, b = stage.enter("a"), stage.enter("b")
    b.say(b"SUB fromA.> 1\r\nSUB > 2\r\nSUB local 3\r\n")
    a.say(pub(b"ev.x", b"12345"))
    b.hear(any_order=True)
    keys = ("in_msgs", "in_bytes", "out_msgs", "out_bytes", "subscriptions")
    stage.connections("sort=cid", *keys)


@scenario(
    "AUTH-023",
    config="""
accounts { A { users: [{user: a, password: a}] } }
authorization { users: [{user: g, password: g}] }
""",
)
def test_users_beside_accounts(stage: Stage) -> None:
    a, g = stage.enter("a"), stage.enter("g")
    a.say(b"SUB > 1\r\n")
    g.say(b"SUB > 1\r\n" + pub(b"x", b"of g"))
    a.say(pub(b"x", b"of a"))
    g.hear()
    stage.connections("sort=cid&auth=1", "account", "authorized_user")
    stage.note("auth_required", g.client.info.get("auth_required"))


TOKEN_POSITION = """
accounts {
  A { users: [{user: a, password: a}]
      exports: [
        {stream: "ev.*.>", account_token_position: 2}
        {service: "ask.*", account_token_position: 2}
      ] }
  B { users: [{user: b, password: b}]
      imports: [
        {stream: {account: A, subject: "ev.B.>"}, to: "mine.>"}
        {service: {account: A, subject: "ask.B"}, to: "ask"}
      ] }
}
"""


@scenario("AUTH-029", config=TOKEN_POSITION)
def test_account_token(stage: Stage) -> None:
    a, b = stage.enter("a"), stage.enter("b")
    b.say(b"SUB > 1\r\n")
    a.say(b"SUB ask.* 1\r\n" + pub(b"ev.B.x", b"for B") + pub(b"ev.C.x", b"for C"))
    b.hear()
    b.say(pub(b"ask", b"?", b"inbox"))
    a.hear()
    a.answer(b"yes")
    b.hear()


ONWARD = """
accounts {
  A { users: [{user: a, password: a}], exports: [{stream: "ev.>"}, {service: "help"}] }
  B { users: [{user: b, password: b}]
      imports: [{stream: {account: A, subject: "ev.>"}}, {service: {account: C, subject: "ev.x"}}]
      exports: [{service: "ev.y"}] }
  C { users: [{user: c, password: c}]
      exports: [{service: "ev.x"}]
      imports: [{service: {account: B, subject: "ev.y"}}, {service: {account: A, subject: "help"}, to: "h"}] }
}
"""


@scenario("AUTH-024", "AUTH-025", config=ONWARD)
def test_imported_message_calls_no_service(stage: Stage) -> None:
    """A message that came by a stream import goes to subscribers only."""
    a, b, c = stage.enter("a"), stage.enter("b"), stage.enter("c")
    a.say(b"SUB inbox 1\r\n")
    c.say(b"SUB > 1\r\n")
    a.say(pub(b"ev.x", b"nobody", b"inbox"))
    b.say(b"SUB ev.* 1\r\n")
    a.say(pub(b"ev.x", b"1", b"inbox") + pub(b"ev.y", b"2"))
    b.hear()
    c.hear()
    b.say(pub(b"ev.x", b"3", b"inbox"))
    c.hear()


@scenario("AUTH-024", "AUTH-025", config=ONWARD)
def test_request_of_a_service_is_a_message_to_import(stage: Stage) -> None:
    """What arrives in an account by a service import is like a publish there."""
    a, b, c = stage.enter("a"), stage.enter("b"), stage.enter("c")
    b.say(b"SUB > 1\r\n")
    c.say(pub(b"ev.y", b"1", b"inbox"))
    b.hear()
    a.say(b"SUB > 1\r\n")
    c.say(pub(b"h", b"2", b"inbox"))
    a.hear()
