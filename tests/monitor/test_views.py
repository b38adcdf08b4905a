"""/view: messages and values, over the way from an HTTP request to an answer."""

from __future__ import annotations

import asyncio
import json
from base64 import b64decode, b64encode
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jetstream_py import limits
from jetstream_py.config.account_options import Permissions, Rule, User
from jetstream_py.config.options import Options
from jetstream_py.server.connect import ConnectOptions
from jetstream_py.server.monitor.endpoints import Answer
from jetstream_py.server.monitor.respond import Asked, respond
from jetstream_py.server.monitor.state import MonitorState
from jetstream_py.server.monitor.viewer import Shelf
from jetstream_py.server.monitor.views import Visitor
from jetstream_py.store.memory import MemoryStream
from tests.monitor.fakes import FakeBroker

SECOND = 1_000_000_000
ALL = "/view/streams/A/S/messages"
KEYS = "/view/buckets/A/conf/keys"


class FakeViewer:
    """One account, a stream and a bucket; a user for each password, or everybody."""

    def __init__(self) -> None:
        self.asks_nobody = True
        self.users: dict[str, User] = {}
        self.stores = {"S": MemoryStream(1), "KV_conf": MemoryStream(2)}
        self.unseen = 0  # newest messages that are not on disk yet

    async def user(self, client: ConnectOptions, ip: str) -> User | None:
        await asyncio.sleep(0)  # a judge may take its time
        return (
            User(client.user, account="A") if self.asks_nobody else self.users.get(client.password)
        )

    def stream(self, account: str, name: str) -> Shelf | None:
        store = self.stores.get(name) if account == "A" else None
        return None if store is None else Shelf(store, store.last_seq - self.unseen)


class Asker:
    def __init__(self, base: str = "") -> None:
        self.broker = FakeBroker(options=Options(http_base_path=base))
        self.state = MonitorState("0.0.0.0", 8222)
        self.viewer = self.state.viewer = FakeViewer()
        self.password = ""
        self.host = "127.0.0.1:8222"

    def put(self, subject: str, data: bytes = b"x", headers: bytes = b"", name: str = "S") -> int:
        store = self.viewer.stores[name]
        return store.append(subject.encode(), headers, data, (store.last_seq + 1) * SECOND)

    def answer(self, target: str, method: str = "GET") -> Answer:
        header = ""
        if self.password:
            header = f"Basic {b64encode(f'ann:{self.password}'.encode()).decode()}"
        asked = Asked(target, method, Visitor("127.0.0.9", self.host, header))
        return asyncio.run(respond(self.broker, self.state, asked))

    def __call__(self, target: str) -> dict[str, Any]:
        reply = self.answer(target)
        assert (reply.status, reply.content_type) == (200, "application/json"), reply
        found: dict[str, Any] = json.loads(reply.body)
        return found

    def seqs(self, query: str = "") -> list[int]:
        return [each["seq"] for each in self(f"{ALL}?{query}")["messages"]]


@pytest.fixture
def ask() -> Asker:
    return Asker()


@pytest.fixture
def ten(ask: Asker) -> Asker:
    """Messages 1 to 10; the odd ones on a.odd, the others on a.even; 4 is gone."""
    for seq in range(1, 11):
        ask.put("a.odd" if seq % 2 else "a.even", b"%d" % seq)
    ask.viewer.stores["S"].remove(4)
    return ask


# -- pages -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("query", "seqs"),
    [
        ("", [10, 9, 8, 7, 6, 5, 3, 2, 1]),
        ("limit=3", [10, 9, 8]),
        ("limit=3&before=8", [7, 6, 5]),
        ("before=5", [3, 2, 1]),
        ("before=1", []),
        ("before=99", [10, 9, 8, 7, 6, 5, 3, 2, 1]),
        ("from=1&limit=4", [1, 2, 3, 5]),
        ("from=9", [9, 10]),
        ("from=11", []),
        ("from=18446744073709551615", []),
        ("subject=a.odd&limit=2", [9, 7]),
        ("subject=a.even&from=3", [6, 8, 10]),
        ("subject=a.*&limit=2&before=3", [2, 1]),
        ("subject=b.>", []),
        ("limit=-5&from=9", [9, 10]),
    ],
)
def test_pages(ten: Asker, query: str, seqs: list[int]) -> None:
    assert ten.seqs(query) == seqs


@pytest.mark.parametrize("query", ["limit=2", "limit=2&from=1", "limit=2&subject=a.odd", "limit=9"])
def test_pages_follow_each_other_without_gap_or_overlap(ten: Asker, query: str) -> None:
    found: list[int] = []
    answer = ten(f"{ALL}?{query}")
    while True:
        found += [each["seq"] for each in answer["messages"]]
        if "next" not in answer:
            break
        word = "from" if "from" in query else "before"
        answer = ten(f"{ALL}?{query.replace('from=1', '')}&{word}={answer['next']}")
    whole = ten.seqs(query.replace("limit=2", ""))
    assert found == whole


def test_bounds_of_the_stream_are_told(ten: Asker) -> None:
    answer = ten(f"{ALL}?limit=1")
    assert (answer["first_seq"], answer["last_seq"], answer["hidden"]) == (1, 10, 0)


def test_what_is_not_on_disk_is_not_shown(ten: Asker) -> None:
    ten.viewer.unseen = 2
    assert ten.seqs("limit=1") == [8]
    assert ten.seqs("from=8") == [8]
    assert ten.answer(f"{ALL}/9").status == 404


def test_a_page_has_a_limit_whatever_is_asked_for(ask: Asker) -> None:
    for _ in range(limits.VIEW_PAGE_MAX + 1):
        ask.put("a")
    assert len(ask.seqs()) == limits.VIEW_PAGE
    assert len(ask.seqs("limit=100000")) == limits.VIEW_PAGE_MAX


def test_a_message(ask: Asker) -> None:
    block = b"NATS/1.0\r\nA: 1\r\nA:  2\r\nB: \xff\r\n\r\n"
    ask.put("a.b", b"\x00\xffhi", block)
    assert ask(f"{ALL}/1") == {
        "seq": 1,
        "time": "1970-01-01T00:00:01Z",
        "subject": "a.b",
        "size": 4,
        "headers": [["A", "1"], ["A", "2"], ["B", "\ufffd"]],
        "data": b64encode(b"\x00\xffhi").decode(),
    }
    assert ask(ALL)["messages"] == [ask(f"{ALL}/1")]


def test_payloads_are_cut(ask: Asker) -> None:
    size = limits.VIEW_PAYLOAD + 1
    ask.put("a", b"x" * size)
    for target, most in ((ALL, limits.VIEW_PREVIEW), (f"{ALL}/1", limits.VIEW_PAYLOAD)):
        answer = ask(target)
        message = answer["messages"][0] if "messages" in answer else answer
        assert (message["size"], len(b64decode(message["data"]))) == (size, most)


@pytest.mark.parametrize("seq", ["0", "11", "4", "x", "-1", "1.5", "%C2%B2", "9" * 30, ""])
def test_messages_that_are_not_there(ten: Asker, seq: str) -> None:
    assert ten.answer(f"{ALL}/{seq}").status == 404


def test_scripts_in_subjects_cannot_leave_the_text(ask: Asker) -> None:
    ask.put("</script><script>alert(1)</script>")
    reply = ask.answer(ALL)
    assert b"<" not in reply.body
    assert reply.headers == {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}


# -- buckets ---------------------------------------------------------------------------------------


@pytest.fixture
def bucket(ask: Asker) -> Asker:
    for key, value in (("a.x", b"1"), ("b", b"2"), ("a.x", b"3")):
        ask.put(f"$KV.conf.{key}", value, name="KV_conf")
    ask.put("$KV.conf.b", b"", b"NATS/1.0\r\nKV-Operation: DEL\r\n\r\n", "KV_conf")
    return ask


def test_keys_newest_first(bucket: Asker) -> None:
    answer = bucket(KEYS)
    assert [(each["subject"], each["seq"]) for each in answer["messages"]] == [
        ("$KV.conf.b", 4),
        ("$KV.conf.a.x", 3),
    ]
    assert answer["messages"][0]["headers"] == [["KV-Operation", "DEL"]]
    assert b64decode(answer["messages"][1]["data"]) == b"3"


@pytest.mark.parametrize(
    ("query", "seqs", "following"),
    [
        ("filter=a.>", [3], None),
        ("filter=*", [4], None),
        ("filter=c", [], None),
        ("limit=1", [4], 4),
        ("limit=1&before=4", [3], 3),
        ("before=3", [], None),  # older values of keys that were seen
    ],
)
def test_some_keys(bucket: Asker, query: str, seqs: list[int], following: int | None) -> None:
    answer = bucket(f"{KEYS}?{query}")
    assert [each["seq"] for each in answer["messages"]] == seqs
    assert answer.get("next") == following


def test_old_values_do_not_make_the_server_walk(
    bucket: Asker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "VIEW_SCAN", 3)
    for _ in range(5):
        bucket.put("$KV.conf.hot", name="KV_conf")
    answer = bucket(KEYS)
    assert [each["seq"] for each in answer["messages"]] == [9]
    assert answer["next"] == 7


# -- who may see what ------------------------------------------------------------------------------


@pytest.fixture
def guarded(ten: Asker) -> Asker:
    """A server that asks: pw is let in to all, odd may subscribe to a.odd only."""
    viewer = ten.viewer
    viewer.asks_nobody = False
    odd = Permissions(subscribe=Rule(("a.odd",)))
    viewer.users = {"pw": User("ann", account="A"), "odd": User("o", account="A", permissions=odd)}
    viewer.users["other"] = User("b", account="B")
    return ten


@pytest.mark.parametrize("target", [ALL, f"{ALL}/1", KEYS, "/view/account", "/view/nothing"])
@pytest.mark.parametrize("password", ["", "wrong"])
def test_nothing_without_the_right_password(guarded: Asker, target: str, password: str) -> None:
    guarded.password = password
    reply = guarded.answer(target)
    assert (reply.status, reply.content_type) == (401, "text/plain; charset=utf-8")
    assert reply.headers["WWW-Authenticate"].startswith("Basic realm=")
    assert "Access-Control-Allow-Origin" not in reply.headers
    tried = ["[ERR] 127.0.0.9 - monitor - authentication error"] if password else []
    assert guarded.broker.log.lines == tried


def test_the_right_password(guarded: Asker) -> None:
    guarded.password = "pw"
    assert guarded("/view/account") == {"account": "A", "user": "ann"}
    assert guarded.seqs("limit=2") == [10, 9]


def test_other_accounts_are_closed(guarded: Asker) -> None:
    guarded.password = "other"
    assert guarded.answer(ALL).status == 403
    assert guarded("/view/account") == {"account": "B", "user": "b"}


def test_what_one_may_not_subscribe_to_is_counted_and_not_shown(guarded: Asker) -> None:
    guarded.password = "odd"
    answer = guarded(ALL)
    assert [each["seq"] for each in answer["messages"]] == [9, 7, 5, 3, 1]
    assert answer["hidden"] == 4
    assert guarded.answer(f"{ALL}/2").status == 403
    assert guarded.answer(f"{ALL}/1").status == 200


def test_a_user_who_may_see_nothing_does_not_walk_the_stream(
    guarded: Asker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "VIEW_SCAN", 3)
    guarded.password = "odd"
    answer = guarded(f"{ALL}?subject=a.even")
    assert (answer["messages"], answer["hidden"], answer["next"]) == ([], 3, 3)


def test_keys_that_one_may_not_subscribe_to(bucket: Asker) -> None:
    bucket.viewer.asks_nobody = False
    rule = Permissions(subscribe=Rule(None, ("$KV.conf.b",)))
    bucket.viewer.users = {"pw": User("ann", account="A", permissions=rule)}
    bucket.password = "pw"
    answer = bucket(KEYS)
    assert ([each["seq"] for each in answer["messages"]], answer["hidden"]) == ([3], 1)


def test_an_open_server_shows_all_but_not_under_a_public_name(ten: Asker) -> None:
    assert ten.answer(ALL).status == 200
    ten.host = "evil.example"
    assert ten.answer(ALL).status == 403
    ten.password = "anything"  # which an open server would take
    assert ten.answer(ALL).status == 403


def test_a_public_name_needs_credentials(guarded: Asker) -> None:
    guarded.host = "nats.example"
    assert guarded.answer(ALL).status == 403
    guarded.password = "pw"
    assert guarded.answer(ALL).status == 200


# -- around it -------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS"])
def test_it_only_reads(ten: Asker, method: str) -> None:
    reply = ten.answer(ALL, method)
    assert (reply.status, reply.headers["Allow"]) == (405, "GET, HEAD")


@pytest.mark.parametrize(
    "target",
    [
        "/view/", "/view/x", "/view/streams/A/nope/messages", "/view/streams/A/S", "/view/streams/A",
        "/view/buckets/A/S/keys", "/view/streams/A/S/messages/1/2", "/view//streams/A/S/messages",
    ],
)  # fmt: skip
def test_what_is_not_there(ten: Asker, target: str) -> None:
    assert ten.answer(target).status == 404


@pytest.mark.parametrize(
    "query", ["subject=a..b", "subject=a%20b", "subject=%3E.a", "limit=x", "from=-1", "before=x"]
)
def test_bad_arguments(ten: Asker, query: str) -> None:
    assert ten.answer(f"{ALL}?{query}").status == 400


def test_names_may_hold_slashes(ask: Asker) -> None:
    ask.viewer.stores["S/1"] = MemoryStream(9)
    assert ask("/view/streams/A/S%2F1/messages")["messages"] == []


def test_below_a_base_path() -> None:
    ask = Asker("/base")
    assert ask(f"/base{ALL}")["messages"] == []
    assert ask.answer(ALL).status == 404


def test_without_a_viewer_there_is_no_view(ask: Asker) -> None:
    ask.state.viewer = None
    assert ask.answer(ALL).status == 404


PIECES = st.sampled_from(
    [
        ALL,
        KEYS,
        "/",
        "?",
        "&",
        "from=",
        "before=",
        "limit=",
        "subject=",
        "%ff",
        "%00",
        "0",
        "99",
        ">",
    ]
)
BYTES = st.binary(max_size=9).map(lambda data: data.decode("utf-8", "surrogateescape"))


@given(st.lists(PIECES | BYTES, max_size=8).map("".join))
def test_no_request_is_too_strange(rest: str) -> None:
    ask = Asker()
    ask.put("a")
    assert ask.answer(f"/view/{rest}").status in (200, 400, 403, 404)
    assert ask.answer(f"{ALL}?{rest}").status in (200, 400)
