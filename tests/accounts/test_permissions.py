"""What a user may publish and subscribe to, and the words for what it may not."""

from __future__ import annotations

import pytest

from tests.accounts.support import Stage, scenario
from tests.support.wire import hpub, pub

BLOCK = b"NATS/1.0\r\nA: b\r\n\r\n"

CONFIG = """
authorization { users: [
  {user: all, password: all}
  {user: pub, password: pub, permissions: {
    publish: {allow: ["ok.>", "one", "w.*.x"], deny: ["ok.no", "ok.*.no"]}}}
  {user: deny, password: deny, permissions: {
    publish: {deny: ["no.>", "never"]}, subscribe: {deny: ["s.no", "t.>", "u.*.x"]}}}
  {user: list, password: list, permissions: {publish: ["a", "b.*"], subscribe: "c.>"}}
  {user: none, password: none, permissions: {publish: {deny: ">"}, subscribe: {deny: ">"}}}
  {user: sub, password: sub, permissions: {
    subscribe: {allow: ["s.>", "one", "w.*.x"], deny: ["s.secret", "s.deep.>"]}}}
  {user: queue, password: queue, permissions: {
    subscribe: {allow: ["q.> grp", "p.* g.*", "r >", "plain"]}}}
  {user: noqueue, password: noqueue, permissions: {
    subscribe: {deny: ["q.> grp", "p.* g.*", "r >"]}}}
  {user: both, password: both, permissions: {
    subscribe: {allow: ["q.>", "q.a grp"], deny: ["q.b", "q.c bad"]}}}
  {user: words, password: words, permissions: {
    subscribe: {allow: ["> one", "x.y two.*", "z two.>"], deny: ["x.no", "x.d *"]}}}
  {user: mixed, password: mixed, permissions: {
    subscribe: {deny: ["d.>", "d.x grp", "e.x", "e.> grp"]}}}
  {user: emptyallow, password: emptyallow, permissions: {
    publish: {allow: []}, subscribe: {allow: []}}}
  {user: emptyblock, password: emptyblock, permissions: {}}
] }
"""


@scenario("AUTH-012", "AUTH-013", "AUTH-021", config=CONFIG)
def test_publish(stage: Stage) -> None:
    witness, user = stage.enter("all"), stage.enter("pub")
    witness.say(b"SUB > 1\r\n")
    for subject in [
        b"ok.a", b"ok.no", b"ok.a.no", b"ok.a.b.no", b"one", b"one.x", b"ok", b"w.1.x", b"w.1.y",
        b"w.1.x.z", b"zz", b"ok.*", b"ok.>", b">", b"*", b"w.*.x", b"ok..a", b".ok", b"$SYS.x",
        b"$JS.API.INFO", b"_INBOX.x", b"ok.'quote\"", b"z\xc3\xa9", b"z\\", b"z\xff",
        b"$SYS.REQ.USER.INFO", b"_R_.x.y",
    ]:  # fmt: skip
        user.say(pub(subject, b"x"))
        user.say(pub(subject, b"y", b"reply.to"))
        witness.hear()


@scenario("AUTH-012", config=CONFIG)
def test_publish_with_headers(stage: Stage) -> None:
    witness, user = stage.enter("all"), stage.enter("pub")
    witness.say(b"SUB > 1\r\n")
    user.say(
        hpub(b"zz", BLOCK, b"x") + hpub(b"ok.a", BLOCK, b"x") + hpub(b"ok.no", BLOCK, b"x", b"r")
    )
    witness.hear()


@scenario("AUTH-012", config=CONFIG)
def test_publish_in_verbose_mode(stage: Stage) -> None:
    user = stage.enter("pub", verbose=True)
    user.say(pub(b"ok.a") + pub(b"zz") + pub(b"ok.b") + hpub(b"zz", BLOCK) + pub(b"zz", b"", b"r"))
    user.say(b"SUB a 1\r\n" + pub(b"one") + b"UNSUB 1\r\n")


@scenario("AUTH-012", config=CONFIG)
def test_publish_in_pedantic_mode(stage: Stage) -> None:
    user = stage.enter("pub", pedantic=True)
    user.say(pub(b"zz.*") + pub(b"ok.*") + pub(b"zz") + pub(b"ok..a") + pub(b"ok.no"))


@scenario("AUTH-012", config=CONFIG)
def test_reply_subject_needs_no_permission(stage: Stage) -> None:
    witness, user = stage.enter("all"), stage.enter("pub")
    witness.say(b"SUB > 1\r\n")
    for reply in [
        b"zz",
        b"ok.no",
        b"_R_.x",
        b"$JS.ACK.x",
        b"$SYS.x",
        b"_GR_.x",
        b"$GNR.x",
        b"a.*",
        b">",
    ]:
        user.say(pub(b"ok.a", b"x", reply))
        witness.hear()


@scenario("AUTH-012", config=CONFIG)
def test_no_responders_for_an_allowed_request(stage: Stage) -> None:
    user = stage.enter("pub")
    user.say(b"SUB inbox.* 1\r\n" + pub(b"one", b"", b"inbox.1") + pub(b"zz", b"", b"inbox.2"))


@scenario("AUTH-012", config=CONFIG, own=True)
def test_refused_publish_counts(stage: Stage) -> None:
    user = stage.enter("pub")
    user.say(pub(b"zz", b"12345") + pub(b"ok.a", b"1") + hpub(b"zz", BLOCK, b"123"))
    stage.connections("user=pub&auth=1", "in_msgs", "in_bytes", "authorized_user", "account")
    page = stage.server.monitor("/varz")
    stage.note("varz", {key: page[key] for key in ("in_msgs", "in_bytes", "out_msgs", "out_bytes")})


@scenario("AUTH-012", "AUTH-014", config=CONFIG)
@pytest.mark.parametrize("name", ["deny", "list", "none", "emptyallow", "emptyblock"])
def test_forms_of_rules(stage: Stage, name: str) -> None:
    user = stage.enter(name)
    for number, subject in enumerate(
        [
            b"a", b"b", b"b.c", b"b.c.d", b"c", b"c.d", b"c.*", b"c.>", b"no", b"no.x", b"never",
            b"s.no", b"s.*", b"s.>", b"t", b"t.a", b"t.*", b"t.>", b"*.a", b"u.1.x", b"u.*.x",
            b"u.>", b"u.*.*", b"u.1.*", b">", b"*", b"_INBOX.a",
        ]
    ):  # fmt: skip
        user.say(b"SUB %b %d\r\n" % (subject, number))
        user.say(pub(subject, b"x"), any_order=True)
        user.say(b"UNSUB %d\r\n" % number)


@scenario("AUTH-014", "AUTH-015", "AUTH-021", config=CONFIG)
@pytest.mark.parametrize("verbose", [False, True])
def test_subscribe(stage: Stage, verbose: bool) -> None:
    user = stage.enter("sub", verbose=verbose)
    for number, subject in enumerate(
        [
            b"s.a", b"s.secret", b"s.deep", b"s.deep.x", b"s.deep.*", b"s.deep.>", b"s.*", b"s.>",
            b"s", b"zz", b"*", b">", b"*.a", b"one", b"one.*", b"w.*.x", b"w.1.x", b"w.>", b"w.1.*",
            b"*.*.x", b"s.*.x", b"s.secret.x", b"$SYS.>", b"_INBOX.a", b"_INBOX.>", b"zz.'\"",
        ]
    ):  # fmt: skip
        user.say(b"SUB %b %d\r\n" % (subject, number))
        user.say(b"SUB %b grp q%d\r\n" % (subject, number))


@scenario("AUTH-014", config=CONFIG)
def test_refused_subscription_and_its_sid(stage: Stage) -> None:
    user, sender = stage.enter("sub"), stage.enter("all")
    user.say(b"SUB s.a 1\r\n")
    user.say(b"SUB zz 1\r\n")
    sender.say(pub(b"s.a", b"1") + pub(b"zz", b"2"))
    user.hear()
    user.say(b"SUB zz 2\r\nUNSUB 2\r\nSUB s.b 2\r\n")
    user.say(b"SUB zz 3\r\nUNSUB 3 1\r\n")
    sender.say(pub(b"s.b", b"3"))
    user.hear()


@scenario("AUTH-016", config=CONFIG)
def test_deny_inside_a_wildcard_filters_deliveries(stage: Stage) -> None:
    user, sender = stage.enter("sub"), stage.enter("all")
    user.say(b"SUB s.* 1\r\nSUB s.> 2\r\nSUB s.> grp 3\r\n")
    for subject in [b"s.a", b"s.secret", b"s.deep", b"s.deep.x", b"s.deep.x.y", b"s.secret.x"]:
        sender.say(pub(subject, b"x"))
        user.hear(any_order=True)


@scenario("AUTH-016", config=CONFIG)
def test_filtered_message_counts_as_nothing(stage: Stage) -> None:
    user, sender = stage.enter("sub"), stage.enter("all")
    user.say(b"SUB s.* 1\r\nUNSUB 1 2\r\n")
    sender.say(b"SUB inbox 1\r\n" + pub(b"s.secret", b"1", b"inbox"))
    sender.say(pub(b"s.a", b"2") + pub(b"s.secret", b"3") + pub(b"s.b", b"4") + pub(b"s.c", b"5"))
    user.hear()
    user.say(b"SUB s.* grp 2\r\n")
    sender.say(pub(b"s.secret", b"6", b"inbox"))
    user.hear()


@scenario("AUTH-016", config=CONFIG)
def test_queue_member_that_may_not_hear_passes_it_on(stage: Stage) -> None:
    deaf, able, sender = stage.enter("sub"), stage.enter("all", "able"), stage.enter("all")
    deaf.say(b"SUB s.* grp 1\r\n")
    able.say(b"SUB s.* grp 1\r\n")
    sender.say(pub(b"s.secret", b"x") * 20)
    stage.note("heard by", [len(deaf.hear()), len(able.hear())])


@scenario("AUTH-016", config=CONFIG)
def test_filtered_deliveries_of_own_messages(stage: Stage) -> None:
    user = stage.enter("sub")
    user.say(b"SUB s.> 1\r\n" + pub(b"s.secret", b"x", b"s.reply") + pub(b"s.a", b"y"))


@scenario("AUTH-017", "AUTH-021", config=CONFIG)
@pytest.mark.parametrize("name", ["queue", "noqueue", "both", "words", "mixed", "none"])
def test_queue_permissions(stage: Stage, name: str) -> None:
    user = stage.enter(name)
    sid = 0
    for subject in [
        b"q.a", b"q.b", b"q.c", b"q.*", b"q.>", b"q", b"p.a", b"p.*", b"p.a.b", b"r", b"plain",
        b"x.y", b"x.no", b"x.d", b"z", b">", b"other", b"d.x", b"d.y", b"d.*", b"e.x", b"e.y",
        b"e.>",
    ]:  # fmt: skip
        lines = b""
        for group in [
            b"",
            b"grp ",
            b"g.a ",
            b"g.a.b ",
            b"g ",
            b"one ",
            b"two.a ",
            b"two.a.b ",
            b"bad ",
        ]:
            sid += 1
            lines += b"SUB %b %b%d\r\n" % (subject, group, sid)
        user.say(lines)


@scenario("AUTH-017", config=CONFIG)
@pytest.mark.parametrize("name", ["noqueue", "both", "words", "mixed"])
def test_deliveries_under_queue_permissions(stage: Stage, name: str) -> None:
    user, sender = stage.enter(name), stage.enter("all")
    user.say(
        b"SUB q.> 1\r\nSUB q.* good 2\r\nSUB q.> bad 3\r\nSUB p.* g.b 4\r\nSUB p.* 5\r\nSUB x.> two 6\r\n"
        b"SUB > one 7\r\nSUB r 8\r\nSUB r g 9\r\nSUB > 10\r\nSUB > grp 11\r\nSUB > g.a 12\r\n"
    )
    for subject in [
        b"q.a",
        b"q.b",
        b"q.c",
        b"p.a",
        b"r",
        b"x.no",
        b"x.d",
        b"x.y",
        b"d.x",
        b"d.y",
        b"e.x",
        b"e.y",
    ]:
        sender.say(pub(subject, b"x"))
        user.hear(any_order=True)


@scenario("AUTH-012", "AUTH-014", config=CONFIG, own=True)
def test_violations_are_logged(stage: Stage) -> None:
    user = stage.enter("list")
    user.say(pub(b"zz") + b"SUB zz 7\r\n" + b"SUB zz grp 8\r\n")
    log = stage.server.wait_for_log("Queue:")
    stage.note(
        "log",
        [line.split("cid:")[1].split(" ", 2)[2] for line in log.splitlines() if "iolation" in line],
    )


DEFAULTS = """
authorization {
  default_permissions: {publish: "def.>", subscribe: ["def.>", "_INBOX.>"], allow_responses: true}
  users: [
    {user: bare, password: bare}
    {user: own, password: own, permissions: {publish: "own.>"}}
    {user: empty, password: empty, permissions: {}}
  ]
}
"""


@scenario("AUTH-012", "AUTH-014", config=DEFAULTS)
@pytest.mark.parametrize("name", ["bare", "own", "empty"])
def test_default_permissions(stage: Stage, name: str) -> None:
    user = stage.enter(name)
    for subject in [b"def.a", b"own.a", b"zz"]:
        user.say(b"SUB %b 1\r\n" % subject + pub(subject) + b"UNSUB 1\r\n")


ACCOUNT_DEFAULTS = """
accounts {
  A { default_permissions: {publish: "def.>", subscribe: "def.>"}
      users: [{user: bare, password: bare}, {user: own, password: own, permissions: {
        publish: "own.>"}}] }
  B { users: [{user: free, password: free}] }
}
"""


@scenario("AUTH-012", "AUTH-014", config=ACCOUNT_DEFAULTS)
@pytest.mark.parametrize("name", ["bare", "own", "free"])
def test_default_permissions_of_an_account(stage: Stage, name: str) -> None:
    user = stage.enter(name)
    for subject in [b"def.a", b"own.a", b"zz"]:
        user.say(b"SUB %b 1\r\n" % subject + pub(subject) + b"UNSUB 1\r\n")


GUEST = """
accounts {
  A {
    users: [{user: guest, password: guest, permissions: {publish: "ok.>", subscribe: {deny: "s.no"}}}]
    mappings: {"ok.in": "ok.out"}
  }
  B { users: [{user: b, password: b}] }
}
no_auth_user: guest
"""


@scenario("AUTH-008", "AUTH-011", "AUTH-012", "AUTH-014", config=GUEST)
def test_guest_without_connect(stage: Stage) -> None:
    """Who has not introduced itself is the guest already, with its account and permissions."""
    guest = stage.connect(
        "guest", b"SUB s.no 1\r\nSUB ok.* 2\r\n" + pub(b"ok.in", b"x") + pub(b"zz")
    )
    other = stage.enter("b")
    other.say(b"SUB > 1\r\n")
    guest.say(pub(b"ok.a", b"y"))
    other.hear()
    guest.say(b"CONNECT {}\r\n" + pub(b"zz") + b"SUB s.no 1\r\nSUB s.* 3\r\n")
    stage.connections("state=open&auth=1&sort=cid", "account", "authorized_user", "subscriptions")


STARS = """
authorization { users: [
  {user: star, password: star, permissions: {
    publish: {allow: ["k.*", "l.*.x", "m.>"], deny: ["m.a.*", "m.*.b"]}
    subscribe: {allow: ["k.*", "l.*.x", "m.>"], deny: ["m.a.*", "m.*.b"]}}}
  {user: deny, password: deny, permissions: {publish: {deny: "k.*"}, subscribe: {deny: "k.*"}}}
  {user: rest, password: rest, permissions: {publish: ">", subscribe: ">"}}
] }
"""


@scenario("AUTH-012", "AUTH-014", "AUTH-015", config=STARS)
@pytest.mark.parametrize("name", ["star", "deny", "rest"])
def test_wildcards_against_wildcards(stage: Stage, name: str) -> None:
    user = stage.enter(name)
    for sid, subject in enumerate(
        [
            b"k.*", b"k.a", b"k.a.>", b"k.*.>", b"k", b"l.>", b"l.*.x", b"l.*.*", b"l.*.>",
            b"m.>", b"m.a.*", b"m.*.*", b"m.*.>", b"m.*.b", b"*.*", b"*.>", b">", b"*",
        ]
    ):  # fmt: skip
        user.say(b"SUB %b %d\r\n" % (subject, sid) + b"UNSUB %d\r\n" % sid + pub(subject))


@scenario("AUTH-014", config=STARS)
@pytest.mark.parametrize("name", ["star", "deny", "rest"])
def test_permissions_of_invalid_subjects(stage: Stage, name: str) -> None:
    user = stage.enter(name)
    for subject in [b"k.", b".k", b"k..a", b"m.", b"m..a", b"m.>.a", b"k.a*", b"m.*a", b"."]:
        user.say(b"SUB %b 1\r\n" % subject + b"SUB %b grp 2\r\n" % subject + pub(subject))
