"""Permissions on the ways of JetStream, against a judge that knows nothing of it but what a client can see.

One case is a user with random rules in an account with a stream, and what it does: it subscribes, publishes,
pulls, acks, reads directly, makes a push consumer, serves another account; others publish and time passes.
The server is a whole one, without sockets. The judge (`Judge`) is a pure simulation over subjects: for each
step it says which frames the user gets, which errors in which words, and what others get. Groups may give a
message to any of their members, so the judge gives sets of frames of which one has to come.

A third account listens to everything and gets nothing.
"""

from __future__ import annotations

import json
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import chain
from typing import Final, NamedTuple

from hypothesis import strategies as st

from jetstream_py.app.jetstream import JetStreamPart
from jetstream_py.config.account_options import (
    AccountOptions,
    Export,
    Import,
    Permissions,
    Responses,
    Rule,
    StreamLimits,
    User,
)
from jetstream_py.config.options import Authorization, JetStreamOptions, Options
from jetstream_py.config.secret import Secret
from tests.engine.world import Ticking
from tests.server.harness import Bench, Client
from tests.support.wire import connect, frames

API: Final = "$JS.API."
NEXT: Final = API + "CONSUMER.MSG.NEXT.S.Q"
DIRECT: Final = API + "DIRECT.GET.S"
INFO: Final = API + "STREAM.INFO.S"
CREATE: Final = API + "CONSUMER.CREATE.S.O"
REQUESTS: Final = {
    NEXT: b'{"batch":1,"no_wait":true}',
    DIRECT: b'{"last_by_subj":"a.x"}',
    DIRECT + ".a.x": b"",
    INFO: b"",
    CREATE: json.dumps(
        {
            "stream_name": "S",
            "config": {
                "name": "O",
                "deliver_subject": "in.o",
                "ack_policy": "none",
                "inactive_threshold": 3_600_000_000_000,
            },
        }
    ).encode(),
}
BATCH: Final = b'{"batch":2,"seq":1}'
INBOX: Final = "in.1"
STORED: Final = "a.x", "a.y"

patterns = st.sampled_from(
    ["a.>", "a.x", "a.*", "*.x", "d.>", "d.x", "in.>", "in.*", "r.>", "r.a.x", "svc.*", ">"]
)
publishable = patterns | st.sampled_from(
    [
        *("$JS.API.>", "$JS.API.CONSUMER.>", "$JS.API.*.GET.>", "$JS.API.STREAM.INFO.*", NEXT),
        *("$JS.ACK.>", "$JS.ACK.S.Q.>", "$JS.ACK.*.P.>", "_R_.>", "$JS.>"),
    ]
)
groups = st.sampled_from([None, None, "g", "h.x"])
entries = st.tuples(patterns, st.sampled_from(["", "", "", " g", " h.*", " >"])).map("".join)
denied = st.lists(publishable, max_size=2).map(tuple)
some_entries = st.lists(entries, min_size=1, max_size=2).map(tuple)
# Half of the users may do so much that they get somewhere.
rights = st.builds(
    Permissions,
    publish=st.builds(Rule, st.none(), denied)
    | st.builds(Rule, st.just(("$JS.API.>", "a.>")), denied)
    | st.builds(Rule, st.lists(publishable, min_size=1, max_size=4).map(tuple), denied),
    subscribe=st.none()
    | st.builds(Rule, st.none(), some_entries)
    | st.builds(Rule, st.lists(entries, min_size=2, max_size=5).map(tuple), some_entries),
    responses=st.none()
    | st.builds(Responses, max=st.sampled_from([1, 2, -1]), expires=st.sampled_from([0.0, 5.0])),
)


class Subscribe(NamedTuple):
    pattern: str
    queue: str | None


class Publish(NamedTuple):
    """By the user, to the stream."""

    subject: str
    reply: str


class Appear(NamedTuple):
    """Somebody else publishes to the stream."""

    subject: str


class Request(NamedTuple):
    """Of the user; `batch`: of two messages, for direct gets."""

    subject: str
    batch: bool = False


class Ack(NamedTuple):
    """Of the newest message that was pulled or pushed."""

    consumer: str


class Ask(NamedTuple):
    """The other account asks for the service."""


class Answer(NamedTuple):
    """The user answers the newest request."""


class Pass(NamedTuple):
    seconds: float


Step = Subscribe | Publish | Appear | Request | Ack | Ask | Answer | Pass
steps = st.one_of(
    st.builds(
        Subscribe,
        st.sampled_from(
            [
                *("a.x", "a.*", "a.>", "*.x", "d.x", "d.x", "d.*", "d.>"),
                *("in.1", "in.*", "in.*", "in.o", "in.o", "r.>", "r.a.x", "svc.q", "svc.*"),
            ]
        ),
        groups,
    ),
    st.builds(Publish, st.sampled_from([*STORED, "d.x"]), st.sampled_from(["", INBOX])),
    st.builds(Appear, st.sampled_from(STORED)),
    st.builds(Request, st.sampled_from([NEXT, NEXT, *REQUESTS]), st.just(False)),
    st.just(Request(DIRECT, batch=True)),
    st.builds(Ack, st.sampled_from("QQP")),
    st.builds(Ask),
    st.builds(Answer),
    st.builds(Pass, st.sampled_from([1.0, 6.0])),
)


# What belongs together seldom comes together by chance.
PULLED = Appear("a.x"), Request(NEXT)
tales = st.one_of(
    steps.map(lambda step: [step]),
    st.sampled_from(
        [
            [*PULLED, Ack("Q"), Ack("Q"), Ack("Q")],
            [*PULLED, Pass(6.0), Ack("Q")],
            [Subscribe("in.1", None), Subscribe("in.*", None), *PULLED, Ack("Q"), Ack("Q")],
            [Subscribe("svc.q", None), Ask(), Answer(), Answer(), Ask(), Answer()],
            [Subscribe("svc.q", None), Ask(), Pass(6.0), Answer()],
            [Subscribe("d.x", None), Subscribe("a.*", None), *PULLED, Appear("a.y"), Ack("P")],
            [Subscribe("d.x", "g"), Subscribe("*.x", None), *PULLED, Appear("a.y")],
        ]
    ),
)


class Case(NamedTuple):
    rights: Permissions
    group: str | None  # of the push consumer
    before: list[Subscribe]
    steps: list[Step]


cases = st.builds(
    Case,
    rights=rights,
    group=st.sampled_from([None, None, "g"]),
    before=st.sampled_from([[], [Subscribe("in.*", None)], [Subscribe("in.1", None)]]),
    steps=st.lists(tales, min_size=2, max_size=6).map(lambda told: [*chain(*told)]),
)


# -- the judge --------------------------------------------------------------------------------------


def fits(subject: str, pattern: str) -> bool:
    """Does a subject fall under a pattern? A pattern as subject does if all that it means does."""
    tokens, wanted = subject.split("."), pattern.split(".")
    for i, want in enumerate(wanted):
        if want == ">":
            return len(tokens) > i
        if i >= len(tokens) or (want != tokens[i] and (want != "*" or tokens[i] == ">")):
            return False
    return len(tokens) == len(wanted)


def meet(one: str, other: str) -> bool:
    """Is there a subject under both patterns?"""
    left, right = one.split("."), other.split(".")
    for a, b in zip(left, right, strict=False):
        if ">" in (a, b):
            return True
        if a != b and "*" not in (a, b):
            return False
    return len(left) == len(right)


def speaks_of(group: str, queue: str | None) -> bool:
    return not group or (queue is not None and fits(queue, group))


def ack_of(consumer: str, seq: int) -> str:
    """What the judge calls the reply of a delivery; the server's has a time in it."""
    return f"$JS.ACK.S.{consumer}.1.{seq}.{seq}.0.0"


def request_of(number: int) -> str:
    """The same for replies of requests, which the server draws."""
    return f"_R_.x.{number}"


class Frame(NamedTuple):
    """What can be known of a MSG or HMSG: `reply` is a kind, not the text."""

    subject: str
    sid: int
    reply: str


Expected = tuple[list[frozenset[Frame]], list[str]]  # of each set one frame; errors in order


class Judge:
    """The user's account as it ought to be."""

    def __init__(self, case: Case) -> None:
        self.case = case
        self.publish = case.rights.publish or Rule()
        self.subscribe = case.rights.subscribe or Rule()
        self.allow = self.publish.allow
        if case.rights.responses is not None and self.allow is None:
            self.allow = ()
        self.subs: dict[int, Subscribe] = {}
        self.sids = 0
        self.looks = False  # at the subjects of a stream's messages
        self.now = 0.0
        self.grants: dict[str, tuple[int, float]] = {}
        self.stored: list[str] = []
        self.next = {"Q": 0, "P": 0}  # how many each consumer has had; O comes later
        self.unacked: set[int] = set()
        self.replies: dict[str, list[str]] = {"Q": [], "P": [], "svc": []}
        self.frames: list[frozenset[Frame]] = []
        self.errors: list[str] = []
        self.abroad: Counter[str] = Counter()
        self.asked: list[str] = []  # names of requests that have no answer yet

    # What rules say.

    def _in_rules(self, subject: str) -> bool:
        if any(fits(subject, entry) for entry in self.publish.deny):
            return False
        return self.allow is None or any(fits(subject, entry) for entry in self.allow)

    def _may_publish(self, subject: str) -> bool:
        return self._in_rules(subject) or self._use(subject)

    def _use(self, subject: str) -> bool:
        responses = self.case.rights.responses
        if responses is None or subject not in self.grants:
            return False
        count, since = self.grants[subject]
        late = responses.expires > 0 and self.now - since > responses.expires
        if late or count == responses.max:
            del self.grants[subject]
            return False
        self.grants[subject] = count + 1, since
        return True

    def _may_subscribe(self, sub: Subscribe) -> bool:
        def parts(entry: str) -> tuple[str, str]:
            pattern, _, group = entry.partition(" ")
            return pattern, group

        for pattern, group in map(parts, self.subscribe.deny):
            if fits(sub.pattern, pattern) and speaks_of(group, sub.queue):
                return False
        if self.subscribe.allow is None:
            return True
        found = [g for p, g in map(parts, self.subscribe.allow) if fits(sub.pattern, p)]
        if sub.queue is not None and any(found):
            return any(group and fits(sub.queue, group) for group in found)
        return "" in found

    def _denied(self, subject: str, queue: str | None) -> bool:
        return any(
            fits(subject, entry.partition(" ")[0]) and speaks_of(entry.partition(" ")[2], queue)
            for entry in self.subscribe.deny
        )

    # What is delivered.

    def _deliver(self, where: str, subject: str, reply: str = "", kind: str = "") -> bool:
        """A message on `subject` for those who listen to `where`. Does anybody?"""
        members: dict[str, set[Frame]] = {}
        listened = False
        for sid, sub in self.subs.items():
            if not fits(where, sub.pattern):
                continue
            listened = True
            if (subject == where or self.looks) and self._denied(subject, sub.queue):
                continue
            frame = Frame(subject, sid, kind)
            if sub.queue is None:
                self._got(frozenset([frame]), reply)
            else:
                members.setdefault(sub.queue, set()).add(frame)
        for choice in members.values():
            self._got(frozenset(choice), reply)
        return listened

    def _got(self, choice: frozenset[Frame], reply: str) -> None:
        self.frames.append(choice)
        if reply and not self._in_rules(reply) and not self._use(reply):
            self.grants[reply] = 0, self.now

    def _store(self, subject: str, reply: str = "") -> None:
        """Core delivery, the import of the other account, the stream, its copies and consumers."""
        self._deliver(subject, subject, reply, "inbox" if reply else "")
        if subject not in STORED:
            return
        self.abroad[f"i.{subject}"] += 1
        self.stored.append(subject)
        if reply:
            self._deliver(reply, reply)
        self._deliver(f"r.{subject}", f"r.{subject}")
        self._push()

    def _push(self) -> None:
        for name, target, group in (("P", "d.x", self.case.group), ("O", "in.o", None)):
            if name not in self.next or Subscribe(target, group) not in self.subs.values():
                continue
            for i in range(self.next[name], len(self.stored)):
                reply = ack_of(name, i + 1)
                before = len(self.frames)
                self._deliver(target, self.stored[i], reply, "ack")
                if name == "P" and len(self.frames) > before:
                    self.replies["P"].append(reply)
            self.next[name] = len(self.stored)

    # Steps.

    def step(self, step: Step) -> Expected:
        self.frames, self.errors = [], []
        getattr(self, "_" + type(step).__name__.lower() + "_step")(step)
        return self.frames, self.errors

    def _refuse(self, subject: str) -> None:
        self.errors.append(f'Permissions Violation for Publish to "{subject}"')

    def _subscribe_step(self, step: Subscribe) -> None:
        self.sids += 1
        if not self._may_subscribe(step):
            using = "" if step.queue is None else f' using queue "{step.queue}"'
            self.errors.append(f'Permissions Violation for Subscription to "{step.pattern}"{using}')
            return
        self.subs[self.sids] = step
        denied = (entry.partition(" ")[0] for entry in self.subscribe.deny)
        if {"*", ">"} & set(step.pattern.split(".")) and any(
            meet(step.pattern, entry) for entry in denied
        ):
            self.looks = True
        self._push()

    def _publish_step(self, step: Publish) -> None:
        if self._may_publish(step.subject):
            self._store(step.subject, step.reply)
        else:
            self._refuse(step.subject)

    def _appear_step(self, step: Appear) -> None:
        self._store(step.subject)

    def _request_step(self, step: Request) -> None:
        if not self._may_publish(step.subject):
            self._refuse(step.subject)
        elif step.subject == NEXT:
            self._pull()
        else:
            if step.subject == CREATE:
                self.next.setdefault("O", 0)
            for _ in self.stored[:2] if step.batch else ():
                self._deliver(INBOX, INBOX)
            self._deliver(INBOX, INBOX)  # the end of a batch, or the answer
            self._push()

    def _pull(self) -> None:
        at = self.next["Q"]
        if at == len(self.stored):
            self._deliver(INBOX, INBOX)  # no messages
            return
        reply = ack_of("Q", at + 1)
        before = len(self.frames)
        if self._deliver(INBOX, self.stored[at], reply, "ack"):
            self.next["Q"] += 1
            self.unacked.add(at + 1)
            if len(self.frames) > before:
                self.replies["Q"].append(reply)

    def _ack_step(self, step: Ack) -> None:
        if not self.replies[step.consumer]:
            return
        reply = self.replies[step.consumer][-1]
        if not self._may_publish(reply):
            self._refuse(reply)
        elif step.consumer == "Q":
            self.unacked.discard(int(reply.split(".")[5]))

    def _ask_step(self, step: Ask) -> None:
        reply = request_of(len(self.asked) + 1)
        before = len(self.frames)
        self._deliver("svc.q", "svc.q", reply, "service")
        self.asked.append(reply)
        if len(self.frames) > before:
            self.replies["svc"].append(reply)
        else:
            self.abroad["in.w"] += 1  # nobody serves

    def _answer_step(self, step: Answer) -> None:
        if not self.replies["svc"]:
            return
        reply = self.replies["svc"][-1]
        if not self._may_publish(reply):
            self._refuse(reply)
        elif reply in self.asked:
            self.asked[self.asked.index(reply)] = ""
            self.abroad["in.w"] += 1

    def _pass_step(self, step: Pass) -> None:
        self.now += step.seconds


# -- the server -------------------------------------------------------------------------------------

A, B, C = "A", "B", "C"
NAMES: Final = {"admin": A, "neighbour": B, "stranger": C}


def _options() -> Options:
    users = tuple(User(name, Secret("p"), account=account) for name, account in NAMES.items())
    free = StreamLimits()
    return Options(
        accounts=(
            AccountOptions(
                A, jetstream=free, exports=(Export("a.>"), Export("svc.q", service=True))
            ),
            AccountOptions(
                B,
                jetstream=free,
                imports=(
                    Import(A, "a.>", "i.a.>"),
                    Import(A, "svc.q", "svc.q", service=True),
                ),
            ),
            AccountOptions(C, jetstream=free),
        ),
        authorization=Authorization(users),
        jetstream=JetStreamOptions(enabled=True),
    )


class House(Ticking):
    """One server for many cases."""

    def __init__(self, path: str) -> None:
        self.bench = Bench(_options())
        self.part = JetStreamPart(self.bench.broker, path, self.bench.loop)
        self.store = self.part.store
        self.admin, self.neighbour, self.stranger = map(self.client, NAMES)
        self.admin.send(b"SUB made 1\r\n")
        self.neighbour.send(b"SUB i.> 1\r\nSUB in.w 2\r\n")
        self.stranger.send(b"SUB > 1\r\n")

    def client(self, name: str) -> Client:
        who = {"user": name, "pass": "p"}
        return self.bench.client(connect(headers=True, no_responders=name == "neighbour", **who))

    def settle(self) -> None:
        """Until the loop has nothing to do: a commit of memory streams leaves no other trace."""
        super().settle()
        while self.bench.loop._ready:  # type: ignore[attr-defined]
            self.turn()

    def say(self, client: Client, subject: str, data: bytes = b"", reply: str = "") -> None:
        client.send(f"PUB {subject} {reply} {len(data)}\r\n".encode() + data + b"\r\n")
        self.settle()

    def api(self, verb: str, body: object = None) -> dict[str, object]:
        self.say(self.admin, API + verb, b"" if body is None else json.dumps(body).encode(), "made")
        answer: dict[str, object] = json.loads(self.admin.read().split(b"\r\n")[1])
        assert "error" not in answer, answer
        return answer

    def close(self) -> None:
        self.settle()
        self.part.close()
        self.bench.close()


@contextmanager
def house() -> Iterator[House]:
    with tempfile.TemporaryDirectory() as path:
        found = House(path)
        try:
            yield found
        finally:
            found.close()


class Play:
    """A case on the server."""

    def __init__(self, house: House, case: Case) -> None:
        self.house = house
        config = {"name": "S", "subjects": ["a.>"], "storage": "memory", "allow_direct": True}
        house.api("STREAM.CREATE.S", {**config, "republish": {"src": ">", "dest": "r.>"}})
        push = {"durable_name": "P", "deliver_subject": "d.x", "ack_policy": "none"}
        if case.group is not None:
            push["deliver_group"] = case.group
        pull = {"durable_name": "Q", "ack_policy": "explicit", "ack_wait": 3_600_000_000_000}
        for consumer in (push, pull):
            body = {"stream_name": "S", "config": consumer}
            house.api(f"CONSUMER.CREATE.S.{consumer['durable_name']}", body)
        self.user = house.client("admin")
        self.user.session.become(User("user", account=A, permissions=case.rights))
        self.sids = self.asked = 0
        self.names: dict[str, str] = {}  # the judge's for replies, and the server's
        self.newest: dict[str, str] = {}

    def step(self, step: Step) -> tuple[Counter[Frame], list[str]]:
        self._do(step)
        self.house.settle()
        got: Counter[Frame] = Counter()
        errors = []
        for frame in frames(self.user.read()):
            if frame.startswith(b"-ERR"):
                errors.append(frame[6:-3].decode())
            else:
                got[self._frame(frame.split(b"\r\n")[0].decode())] += 1
        return got, errors

    def _do(self, step: Step) -> None:
        house, user = self.house, self.user
        match step:
            case Subscribe(pattern, queue):
                self.sids += 1
                user.send(f"SUB {pattern} {queue or ''} {self.sids}\r\n".encode())
            case Publish(subject, reply):
                house.say(user, subject, b"x", reply)
            case Appear(subject):
                house.say(house.admin, subject, b"x")
            case Request(subject, batch):
                house.say(user, subject, BATCH if batch else REQUESTS[subject], INBOX)
            case Ack(consumer):
                if consumer in self.newest:
                    house.say(user, self.newest[consumer], b"+ACK")
            case Ask():
                self.asked += 1
                house.say(house.neighbour, "svc.q", b"?", "in.w")
            case Answer():
                if "svc" in self.newest:
                    house.say(user, self.newest["svc"], b"!")
            case Pass(seconds):
                house.bench.clock.advance(seconds)
                house.bench.broker.timers.run_due()

    def _frame(self, line: str) -> Frame:
        verb, subject, sid, *rest = line.split(" ")
        reply = rest[0] if len(rest) > (2 if verb == "HMSG" else 1) else ""
        kind = ""
        if reply.startswith("$JS.ACK."):
            kind, words = "ack", reply.split(".")
            self.names[ack_of(words[3], int(words[5]))] = self.newest[words[3]] = reply
        elif reply.startswith("_R_."):
            kind = "service"
            self.names[request_of(self.asked)] = self.newest["svc"] = reply
        elif reply:
            kind = "inbox"
        return Frame(subject, int(sid), kind)

    def end(self) -> int:
        """How many acks are missing."""
        info = self.house.api("CONSUMER.INFO.S.Q")
        self.user.drop()
        self.house.api("STREAM.DELETE.S")
        missing = info["num_ack_pending"]
        assert isinstance(missing, int)
        return missing


def check(house: House, case: Case) -> None:
    """Play a case and compare, step by step."""
    judge, play = Judge(case), Play(house, case)
    try:
        for step in (*case.before, *case.steps):
            wanted, errors = judge.step(step)
            got, heard = play.step(step)
            for name, real in play.names.items():
                errors = [error.replace(f'"{name}"', f'"{real}"') for error in errors]
            assert heard == errors, step
            compare(got, wanted, step)
        said = (frame.split(b" ")[1].decode() for frame in frames(house.neighbour.read()))
        assert Counter(said) == judge.abroad
        assert house.stranger.read() == b""
    finally:
        missing = play.end()
        house.neighbour.read()
    assert missing == len(judge.unacked)


def compare(got: Counter[Frame], wanted: Iterable[frozenset[Frame]], step: Step) -> None:
    """Of each choice there is one frame. Groups that have the same members are counted together."""
    for choice, count in Counter(wanted).items():
        have = sum(got[frame] for frame in choice)
        assert have == count, (step, sorted(choice), have, count)
        for frame in choice:
            del got[frame]
    assert not got, (step, got)
