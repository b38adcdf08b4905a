"""Random conversations, well-formed and broken, for the protocol fuzz.

A case is made from a seed, so a failure is replayed by its number. Inputs are grammar-aware: mostly
right, with one thing wrong, because random bytes never get past the first verb.
"""

from __future__ import annotations

import random
from collections.abc import Callable

from jetstream_py.config.options import Options
from jetstream_py.server.collect import Item
from jetstream_py.server.internal import Internal
from jetstream_py.server.sublist import Sub
from tests.server.harness import Bench
from tests.server.model import Model

SUBJECTS = [b"a", b"a.b", b"a.c", b"a.b.c", b"b", b"_INBOX.x.1", b"_INBOX.x.2", b"a.*b"]
ODD_SUBJECTS = [b"a..b", b".a", b"a.", b"a.*", b"a.>", b">", b"\xff\xfe", b"a\x0bb", b"x" * 300]
PATTERNS = [b"a", b"a.*", b"a.b", b"a.>", b">", b"*.b", b"_INBOX.x.*", b"a.b.*", b"a.*b", b"*"]
ODD_PATTERNS = [b"a..b", b">.a", b"a.>.b", b".", b"**", b"a>"]
PAYLOADS = [b"", b"x", b"hello", b"line\nline", b"\r\n", b"\n", b"PUB a 5\r\nhello\r\n", b"y" * 130]


def conversation(rng: random.Random) -> bytes:
    """A few protocol lines; one in three cases is damaged somewhere."""
    makers: list[Callable[[random.Random], bytes]] = [publish, publish, publish, subscribe, other]
    if rng.random() < 0.15:
        # A bulk publisher: long enough for the gear that works on pairs of lines.
        frame = publish(rng)
        data = frame * rng.randrange(2, 60) + publish(rng) * rng.randrange(0, 40) + frame * 3
        data = subscribe(rng) + data
    else:
        data = b"".join(rng.choice(makers)(rng) for _ in range(rng.randrange(1, 12)))
    return damage(rng, data) if rng.random() < 0.33 else data


def publish(rng: random.Random) -> bytes:
    subject = rng.choice(SUBJECTS if rng.random() < 0.9 else ODD_SUBJECTS)
    payload = rng.choice(PAYLOADS)
    reply = b" " + rng.choice(SUBJECTS) if rng.random() < 0.2 else b""
    if rng.random() < 0.2:
        block = b"NATS/1.0\r\nA: b\r\n\r\n"
        sizes = b"%d %d" % (len(block), len(block) + len(payload))
        return b"HPUB %b%b %b\r\n%b%b\r\n" % (subject, reply, sizes, block, payload)
    verb = rng.choice([b"PUB", b"PUB", b"PUB", b"pub", b"Pub"])
    size = b"%d" % len(payload) if rng.random() < 0.95 else b"%05d" % len(payload)
    end = b"\r\n" if rng.random() < 0.95 else b"\n"
    gap = b" " if rng.random() < 0.95 else b" \t "
    return verb + gap + subject + reply + gap + size + end + payload + b"\r\n"


def subscribe(rng: random.Random) -> bytes:
    sid = rng.choice([b"1", b"2", b"3"])
    if rng.random() < 0.3:
        most = rng.choice([b"", b" 1", b" 2", b" 5", b" x", b" 0"])
        return b"UNSUB " + sid + most + b"\r\n"
    pattern = rng.choice(PATTERNS if rng.random() < 0.9 else ODD_PATTERNS)
    return b"SUB " + pattern + b" " + sid + b"\r\n"


def other(rng: random.Random) -> bytes:
    common = [b"PING\r\n", b"PONG\r\n", b"ping\n", b"+OK\r\n", b"PINGxyz\r\n", b"INFO {}\r\n"]
    rare = [
        b"-ERR 'x'\r\n",
        b"FOO\r\n",
        b"\r\n",
        b"MSG a 1 2\r\nhi\r\n",
        b"HMSG a 1\r\n",
        b"SUB\r\n",
    ]
    rare += [b"PUB a -1\r\n", b"PUB a 10000000000\r\n", b"PUB a 2000000\r\n", b"SUB a b c d\r\n"]
    rare += [
        b"SUB " + b"s" * 4095 + b" 1\r\n",
        b"CONNECT {x\r\n",
        b"HPUB a 9 3\r\nabc\r\n",
        b"SUBx\r\n",
    ]
    return rng.choice(common if rng.random() < 0.85 else rare)


def damage(rng: random.Random, data: bytes) -> bytes:
    at = rng.randrange(len(data) + 1)
    kind = rng.randrange(4)
    if kind == 0:
        return data[:at]
    if kind == 1:
        return data[:at] + rng.randbytes(rng.randrange(1, 4)) + data[at:]
    if kind == 2:
        return data[:at] + data[at + 1 :]
    return data[:at] + b" " * rng.randrange(1, 5000) + data[at:]


def cuts_of(rng: random.Random, data: bytes) -> list[int]:
    """Places to cut: none, everywhere, or a few."""
    kind = rng.randrange(4)
    if kind == 0 or not data:
        return []
    if kind == 1 and len(data) < 150:
        return list(range(1, len(data)))
    return [rng.randrange(len(data)) for _ in range(rng.randrange(1, 6))]


class Fuzz:
    """Runs cases on one broker: each case is a new publisher, watched by one observer."""

    def __init__(self) -> None:
        self.bench = Bench(Options())
        self.observer = self.bench.client(b'CONNECT {"verbose":false}\r\n')
        self.observer.send(b"SUB > 1\r\n")

    def case(self, seed: int) -> None:
        rng, watched, data = start(seed)
        self.bytes_case(data, cuts_of(rng, data), watched)

    def bytes_case(self, data: bytes, cuts: list[int], watched: bool = False) -> None:
        model = Model(pedantic=watched, verbose=watched)
        model.run(data)
        for places in ([], cuts):
            self.compare(model, data, places, watched)

    def compare(self, model: Model, data: bytes, cuts: list[int], watched: bool) -> None:
        """The real server, fed `data` in these pieces, does exactly what the model does."""
        switch = b"true" if watched else b"false"
        flags = b'{"verbose":%b,"pedantic":%b,"headers":true}' % (switch, switch)
        publisher = self.bench.client(b"CONNECT " + flags + b"\r\n")
        publisher.send(data, cuts)
        own, seen = publisher.read(), self.observer.read()
        closed, msgs = publisher.session.closed, publisher.session.in_msgs
        publisher.drop()
        assert sorted_messages(own) == sorted_messages(model.own), (own, model.own, cuts)
        assert seen == model.seen, (seen, model.seen, cuts)
        assert closed == model.closed
        assert msgs == model.msgs
        router = self.bench.broker.default_account.router
        assert router.sublist.count == 1
        assert list(self.bench.broker.sessions) == [self.observer.session.cid]


def start(seed: int) -> tuple[random.Random, bool, bytes]:
    """What a seed stands for: the rest of its chances, whether the session is verbose, the bytes."""
    rng = random.Random(seed)
    watched = rng.random() < 0.15
    return rng, watched, conversation(rng)


COLLECTED = (b"s.>", b"t", b"u.*", b"$JS.ACK.S.C.>")
TARGETS = [b"s.a", b"s.b", b"s.c.d", b"t", b"u.x", b"u.y", b"$JS.ACK.S.C.1.2.3.4.5"]
STRAYS = [
    b"s",
    b"s..a",
    b"s.a.",
    b"u.x.y",
    b"u.",
    b"v",
    b"$JS.ACK.S.D.1.2.3.4.5",
    b"$GR.x",
    b"s.\r",
]
REPLIES = [b"_INBOX.r.1", b"_INBOX.r.22", b"r", b"_R_.x", b"$JS.ACK.x", b"_GR_.y", b"s.a", b""]


class Collected:
    """Runs cases on a broker whose collectors are the only receivers: the gear for runs, mostly."""

    def __init__(self) -> None:
        self.bench = Bench(Options())
        self.items: list[Item] = []
        self.part = Internal(self.bench.broker, self.bench.broker.default_account)
        for pattern in COLLECTED:
            self.part.collect(pattern, self.items.extend)

    def case(self, seed: int) -> None:
        rng = random.Random(seed)
        watched = rng.random() < 0.05
        data = publishes(rng)
        model = Model(pedantic=watched, verbose=watched, collected=COLLECTED)
        model.run(data)
        for cuts in ([], cuts_of(rng, data)):
            self.compare(model, data, cuts, watched)

    def compare(self, model: Model, data: bytes, cuts: list[int], watched: bool) -> None:
        switch = b"true" if watched else b"false"
        flags = b'{"verbose":%b,"pedantic":%b,"headers":true}' % (switch, switch)
        client = self.bench.client(b"CONNECT " + flags + b"\r\n")
        before = sum(sub.msgs for sub in self.subs())
        client.send(data, cuts)
        own, closed, msgs = client.read(), client.session.closed, client.session.in_msgs
        client.drop()
        assert sorted_messages(own) == sorted_messages(model.own), (own, model.own, cuts)
        assert (closed, msgs) == (model.closed, model.msgs)
        assert self.items == model.items, (self.items, model.items, cuts)
        assert sum(sub.msgs for sub in self.subs()) - before == len(model.items)
        self.items.clear()

    def subs(self) -> list[Sub]:
        router = self.bench.broker.default_account.router
        return [sub for sub in router.sublist.subscriptions() if sub.collector is not None]


BLOCKS = [
    b"",
    b"NATS/1.0\r\n\r\n",
    b"NATS/1.0\r\nA: 1\r\n\r\n",
    b"NATS/1.0\r\nB:\r\nC: 2\r\n\r\n",
    b"\r\n",
]
RUN_BLOCKS = [[b""], [b""], BLOCKS[1:2], BLOCKS[2:3], BLOCKS[3:4], BLOCKS[2:4], BLOCKS]


def publishes(rng: random.Random) -> bytes:
    """Runs of publishes to collectors; a stray one or a damage now and then."""
    frames: list[bytes] = []
    for _ in range(rng.randrange(1, 4)):
        subjects = rng.sample(TARGETS, rng.choice([1, 1, 1, 2, 5]))
        replies = rng.choice([[b""], REPLIES[:1], REPLIES[:2], REPLIES[:3]])
        payloads = rng.choice([[b"x" * 20], [b"a\nb"], [b"", b"y"], [b"x", b"\r\n", b"\tz "]])
        blocks = rng.choice(RUN_BLOCKS)
        for _ in range(rng.randrange(1, 40) * (20 if rng.random() < 0.1 else 1)):
            subject, reply = rng.choice(subjects), rng.choice(replies)
            frames.append(frame(rng, subject, reply, rng.choice(payloads), rng.choice(blocks)))
    for _ in range(rng.choice([0, 0, 0, 1, 3])):
        subject = rng.choice(TARGETS + STRAYS)
        made = frame(
            rng, subject, rng.choice(REPLIES), rng.choice(PAYLOADS), rng.choice(BLOCKS), 0.3
        )
        frames.insert(
            rng.randrange(len(frames) + 1), rng.choice([made, other(rng), subscribe(rng)])
        )
    data = b"".join(frames)
    return damage(rng, data) if rng.random() < 0.15 else data


def frame(
    rng: random.Random,
    subject: bytes,
    reply: bytes,
    payload: bytes,
    block: bytes,
    odd: float = 0.0,
) -> bytes:
    gap = b" " if rng.random() >= odd else rng.choice([b"\t", b"  ", b" \n ", b" \r"])
    size = b"%d" % len(payload) if rng.random() >= odd else b"%04d" % (len(payload) + 1)
    end = b"\r\n" if rng.random() >= odd else rng.choice([b"\n", b"\r\r\n", b" \r\n"])
    middle = gap + reply if reply or rng.random() < odd else b""
    if not block:
        return b"PUB " + subject + middle + b" " + size + end + payload + b"\r\n"
    sizes = b" %d " % len(block), b"%d" % (len(block) + len(payload))
    if rng.random() < odd:
        sizes = (
            b" %d " % (len(block) - 1),
            b"%d" % (len(block) + len(payload) + rng.choice((-1, 1))),
        )
    return b"HPUB " + subject + middle + b"".join(sizes) + end + block + payload + b"\r\n"


def sorted_messages(data: bytes) -> list[bytes]:
    """The order among several subscriptions of one client is free, everything else is not; comparing
    sorted lines after the exact length keeps both simple and strict enough."""
    return [b"%d" % len(data), *sorted(data.split(b"\r\n"))]


def run(first: int, count: int, kind: type[Fuzz | Collected] = Fuzz) -> None:
    """Cases `first` to `first + count - 1`; the seed of a failure is in the message."""
    fuzz = kind()
    for seed in range(first, first + count):
        try:
            fuzz.case(seed)
        except BaseException as error:
            option = " --collected" if kind is Collected else ""
            error.add_note(f"replay: python -m tests.fuzz --case {seed}{option}")
            raise
