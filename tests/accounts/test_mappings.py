"""Mappings: the subject that a publisher names is not the one that subscribers see."""

from __future__ import annotations

import pytest

from tests.accounts.support import Stage, login, scenario
from tests.support.wire import connect, hpub, pub

BLOCK = b"NATS/1.0\r\nA: b\r\n\r\n"

GLOBAL = """
mappings = {
  "map.in": "map.out"
  "w.*": "ww.$1.end"
  "swap.*.*": "swapped.$2.$1"
  "old.*.*": "new.{{wildcard(2)}}.{{wildcard(1)}}"
  "all.>": "every.>"
  "p.*": "p1.{{partition(3,1)}}.$1"
  "p2.*.*": "p2.{{partition(10,1,2)}}.$1.$2"
  "p3.>": "p3x.{{partition(5)}}.>"
  "sfl.*": "sfl.{{splitFromLeft(1,3)}}"
  "sfr.*": "sfr.{{SplitFromRight(1,3)}}"
  "scl.*": "scl.{{SliceFromLeft(1,3)}}"
  "scr.*": "scr.{{slicefromright(1,3)}}"
  "spl.*": "spl.{{split(1,-)}}"
  "lef.*": "lef.{{left(1,3)}}"
  "rig.*": "rig.{{right(1,3)}}"
  "none.*": "none.gone"
  "drop.*.*": "dropped.$1"
  "chain.one": "chain.two"
  "chain.two": "chain.three"
  "self": "self"
  "svc": "real.svc"
}
"""

SUBJECTS = [
    b"map.in", b"map.out", b"map.in.x", b"w.z", b"w", b"w.z.z", b"w.*", b"w.>", b"swap.a.b",
    b"old.a.b", b"all.x.y", b"all.>", b"all", b"p.abc", b"p.a", b"p.b", b"p.c", b"p.", b"p.foo",
    b"p.*", b"p2.a.b", b"p2.b.a", b"p2.foo.bar", b"p3.a", b"p3.a.b.c", b"p3.x", b"sfl.12345",
    b"sfl.12", b"sfl.123", b"sfl.1", b"sfr.12345", b"sfr.12", b"sfr.123", b"scl.1234567890",
    b"scl.12", b"scl.123", b"scl.123456", b"scr.1234567890", b"scr.12", b"scr.123", b"scr.1234",
    b"spl.a-b-c", b"spl.-a--b-", b"spl.abc", b"spl.-", b"lef.12345", b"lef.12", b"lef.123",
    b"rig.12345", b"rig.12", b"none.x", b"drop.a.b", b"chain.one", b"chain.two", b"self",
    b"sfl.\xc3\xa9\xc3\xa9\xc3\xa9", b"lef.\xc3\xa9\xc3\xa9\xc3\xa9",
]  # fmt: skip


@scenario("AUTH-034", "AUTH-035", "AUTH-036", "AUTH-039", "AUTH-040", config=GLOBAL)
@pytest.mark.parametrize("subject", SUBJECTS, ids=lambda subject: subject.decode())
def test_mapping(stage: Stage, subject: bytes) -> None:
    client = stage.enter()
    client.say(b"SUB > 1\r\n" + pub(subject, b"x") + hpub(subject, BLOCK, b"y", b"reply"))


@scenario("AUTH-034", config=GLOBAL)
def test_who_hears_a_mapped_message(stage: Stage) -> None:
    client, other = stage.enter(), stage.enter(name="other")
    client.say(b"SUB map.in 1\r\nSUB map.out 2\r\nSUB map.* q 3\r\nSUB inbox 4\r\n")
    other.say(pub(b"map.in", b"1") + pub(b"map.out", b"2"))
    client.hear(any_order=True)
    other.say(b"SUB inbox 1\r\n" + pub(b"map.in", b"3", b"inbox"))
    client.hear(any_order=True)


@scenario("AUTH-034", config=GLOBAL)
def test_no_responders_of_a_mapped_request(stage: Stage) -> None:
    client = stage.enter()
    client.say(b"SUB inbox 1\r\n" + pub(b"svc", b"?", b"inbox") + pub(b"w.a", b"?", b"inbox"))


@scenario("AUTH-034", config=GLOBAL)
def test_reply_subject_is_not_mapped(stage: Stage) -> None:
    client, service = stage.enter(), stage.enter(name="service")
    service.say(b"SUB real.svc 1\r\n")
    client.say(b"SUB map.> 1\r\n" + pub(b"svc", b"?", b"map.in"))
    service.hear()
    service.answer(b"!")
    client.hear()


@scenario("AUTH-034", config=GLOBAL)
def test_mapping_in_the_first_packet(stage: Stage) -> None:
    client = stage.connect(
        "quick", connect() + b"SUB > 1\r\n" + pub(b"map.in", b"1") + pub(b"w.z", b"2")
    )
    client.hear()
    silent = stage.connect("silent", b"SUB > 1\r\n" + pub(b"map.in", b"1"))
    silent.hear()


@scenario("AUTH-034", config=GLOBAL)
def test_verbose_and_pedantic_publishers(stage: Stage) -> None:
    client = stage.enter(verbose=True, pedantic=True)
    client.say(b"SUB > 1\r\n" + pub(b"map.in", b"1") + pub(b"w.*", b"2") + pub(b"w.a", b"3"))


WEIGHTED = """
mappings = {
  "half": [{destination: "half.a", weight: 50%}, {destination: "half.b", weight: 50%}]
  "some": [{destination: "some.a", weight: 30%}]
  "never": [{destination: "never.a", weight: 0%}]
  "always": [{destination: "always.a", weight: 100%}]
  "three.*": [
    {destination: "three.$1.a", weight: 20}
    {destination: "three.$1.b", weight: 30}
    {destination: "three.$1.c", weight: 50}
  ]
  "elsewhere": [{destination: "elsewhere.a", weight: 100%, cluster: "X"}]
  "loss": [{destination: "loss.keep", weight: 40%}, {destination: "loss", weight: 20%}]
  "rand.*": "rand.{{random(5)}}"
}
"""


@scenario("AUTH-037", "AUTH-038", "AUTH-040", config=WEIGHTED)
@pytest.mark.parametrize(
    "subject", [b"half", b"some", b"never", b"always", b"three.x", b"elsewhere", b"loss", b"rand.x"]
)
def test_weights(stage: Stage, subject: bytes) -> None:
    """Chance decides about each message; the shares of many are far from those of other weights."""
    client = stage.enter()
    client.say(b"SUB > 1\r\n")
    counts: dict[str, int] = {}
    for frame in client.client.exchange(pub(subject) * 2000).split(b"\r\n")[::2]:
        if frame:
            name = frame.decode().split(" ")[1]
            counts[name] = counts.get(name, 0) + 1
    stage.note(
        "tenths", {name: round(count / 200) for name, count in counts.items() if count >= 100}
    )


ACCOUNTS = """
jetstream: {store_dir: "js", max_mem: 1M, max_file: 10M}
mappings = { "top": "top.mapped" }
accounts {
  A {
    jetstream: enabled
    mappings = { "in.*": "out.$1", "js.in": "js.out", "ask": "real.ask", "imp": "help", "secret": "open" }
    users: [
      {user: a, password: a}
      {user: onlyin, password: onlyin, permissions: {publish: "in.>"}}
      {user: onlyout, password: onlyout, permissions: {publish: "out.>"}}
      {user: denyout, password: denyout, permissions: {publish: {deny: "out.no"}}}
      {user: subin, password: subin, permissions: {subscribe: "in.>"}}
    ]
    exports: [{service: "ask"}, {service: "real.ask"}, {stream: "out.>"}, {stream: "in.>"}]
    imports: [{service: {account: B, subject: "help"}}]
  }
  B {
    mappings = { "bask": "imported.ask" }
    users: [{user: b, password: b}]
    exports: [{service: "help"}]
    imports: [
      {service: {account: A, subject: "ask"}, to: "imported.ask"}
      {service: {account: A, subject: "real.ask"}, to: "imported.real"}
      {stream: {account: A, subject: "out.>"}}
      {stream: {account: A, subject: "in.>"}}
    ]
  }
}
"""


@scenario("AUTH-020", config=ACCOUNTS)
@pytest.mark.parametrize("name", ["onlyin", "onlyout", "denyout"])
def test_permissions_apply_after_mapping(stage: Stage, name: str) -> None:
    user, witness = stage.enter(name), stage.enter("a")
    witness.say(b"SUB > 1\r\n")
    for subject in (b"in.a", b"out.a", b"in.no", b"out.no", b"in.a.b"):
        user.say(pub(subject, b"x"))
        witness.hear()


@scenario("AUTH-034", config=ACCOUNTS)
def test_first_packet_of_an_account(stage: Stage) -> None:
    """nats-server looks up whether there are mappings once for each packet."""
    opening = login("a") + b"SUB > 1\r\n" + pub(b"in.x", b"1")
    client = stage.connect("quick", opening)
    client.say(pub(b"in.x", b"2"))
    client.say(pub(b"in.x", b"3") + login("b") + b"SUB > 1\r\n" + pub(b"in.x", b"4"))
    client.say(pub(b"in.x", b"5") + pub(b"bask", b"6"))


@scenario("AUTH-034", config=ACCOUNTS)
def test_mapping_belongs_to_an_account(stage: Stage) -> None:
    a, b = stage.enter("a"), stage.enter("b")
    a.say(b"SUB > 1\r\n" + pub(b"in.x", b"1") + pub(b"top", b"2"))
    b.say(b"SUB > 1\r\n" + pub(b"in.x", b"3") + pub(b"top", b"4"))


@scenario("AUTH-034", config=ACCOUNTS)
def test_mapping_before_imports(stage: Stage) -> None:
    a, b = stage.enter("a"), stage.enter("b")
    b.say(b"SUB > 1\r\nSUB help 2\r\n")
    a.say(b"SUB > 1\r\n" + pub(b"in.x", b"1") + pub(b"imp", b"2", b"box"))
    b.hear(any_order=True)


@scenario("AUTH-034", config=ACCOUNTS)
@pytest.mark.parametrize("subject", [b"imported.ask", b"imported.real", b"bask"])
def test_mapping_of_the_exporter(stage: Stage, subject: bytes) -> None:
    a, b = stage.enter("a"), stage.enter("b")
    a.say(b"SUB ask 1\r\nSUB real.ask 2\r\n")
    b.say(b"SUB box 1\r\n" + pub(subject, b"?", b"box"))
    a.hear()
    a.answer(b"yes") if a.reply else None
    b.hear()


@scenario("AUTH-034", config=ACCOUNTS)
def test_mapped_messages_are_captured(stage: Stage) -> None:
    a = stage.enter("a")
    a.say(b"SUB r 1\r\n")

    def ask(subject: bytes, body: bytes) -> None:
        a.client.send(pub(subject, body, b"r"))
        a.wait()

    ask(b"$JS.API.STREAM.CREATE.S", b'{"name":"S","subjects":["js.>"],"storage":"memory"}')
    ask(b"js.in", b"x")
    ask(b"$JS.API.STREAM.MSG.GET.S", b'{"seq":1}')
    ask(b"$JS.API.STREAM.DELETE.S", b"")
