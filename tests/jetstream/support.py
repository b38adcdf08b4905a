"""A synchronous JetStream client for tests, and the transcript of what it said and heard.

Every wait is a wait on the socket. A request has an inbox of its own; what arrives beside the answer
(advisories, copies for core subscribers) is kept in order until the test asks for it.
"""

from __future__ import annotations

import inspect
import json
import re
import shutil
import signal
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.differential.transcript import assert_same, normal_text
from tests.support.raw import TIMEOUT, RawClient
from tests.support.server import ORACLE, OURS, Kind, Server, Servers
from tests.support.wire import PONG, REQUESTER, hpub, messages, pub

# Each scenario is played on nats-server first, to have something to compare with.
KINDS: tuple[Kind, ...] = (OURS,)

PING = b"PING\r\n"
API = "$JS.API."
TYPE = "io.nats.jetstream.api.v1."
# For what jetstream-py refuses with a clear text so far: played on nats-server only.
LATER = pytest.mark.parametrize("kind", [ORACLE])
STORAGES = pytest.mark.parametrize("storage", ["file", "memory"])
ZERO_TIME = "0001-01-01T00:00:00Z"
SECOND = 1_000_000_000

Json = dict[str, Any]
Headers = Mapping[str, str] | bytes | None

TIME = re.compile(r"(?!0001)\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?Z")
VOLATILE = [
    (TIME, "<time>"),
    (re.compile(r'("(?:id|server)":)"[^"]+"'), r'\1"<name>"'),
    (re.compile(r'("(?:id|rtt|ack_time|pause_remaining|active)":)\d+'), r"\1<number>"),
    (re.compile(r"(JS_(?:SRC|MIRROR)_|\.[SM]\.)[0-9A-Za-z]{8}\b"), r"\1<hash>"),
    (re.compile(r'("bytes":)\d+(,"client")'), r"\1<number>\2"),
    (re.compile(r"(\$JS\.SNAPSHOT\.[A-Z]+\.[^. ]+\.)[0-9A-Za-z]{22}"), r"\1<id>"),
    (re.compile(r"(\$JS\.ACK(?:\.[^. ]+){5,7}\.)\d{19}(\.\d+)"), r"\1<ts>\2"),
    (
        re.compile(r'(Nats-Pin-Id: |"(?:id|pinned_id|pinned_client_id)": ?")[0-9A-Za-z]{22}'),
        r"\1<pin>",
    ),
]


@dataclass(frozen=True)
class Message:
    """A MSG or HMSG. `headers` is the block as it came, empty for a MSG."""

    subject: str
    data: bytes
    headers: bytes = b""
    reply: str = ""
    sid: int = 0

    @property
    def json(self) -> Json:
        value = json.loads(self.data)
        assert isinstance(value, dict)
        return value

    @property
    def status(self) -> str:
        """What the first header line says after the version."""
        return self.headers.split(b"\r\n", 1)[0].removeprefix(b"NATS/1.0").strip().decode()

    def header(self, name: str) -> str | None:
        for line in self.headers.decode().split("\r\n")[1:]:
            key, _, value = line.partition(": ")
            if key == name:
                return value
        return None


def parse_message(frame: bytes) -> Message:
    line, _, rest = frame.partition(b"\r\n")
    verb, subject, sid, *middle = line.decode().split(" ")
    assert verb in ("MSG", "HMSG"), frame
    sizes = 2 if verb == "HMSG" else 1
    head = int(middle[-2]) if verb == "HMSG" else 0
    reply = middle[0] if len(middle) > sizes else ""
    return Message(subject, rest[head:-2], rest[:head], reply, int(sid))


def header_block(headers: Headers) -> bytes:
    if headers is None or isinstance(headers, bytes):
        return headers or b""
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    return f"NATS/1.0\r\n{lines}\r\n".encode()


def encode_body(body: object) -> bytes:
    """A request's body: bytes as they are, anything else as JSON."""
    if body is None:
        return b""
    return body if isinstance(body, bytes) else json.dumps(body).encode()


def normal_answer(text: str) -> str:
    for pattern, stand_in in VOLATILE:
        text = pattern.sub(stand_in, text)
    return normal_text(text)


def as_text(data: bytes) -> str:
    return data.decode("latin-1").replace("\r\n", "\\r\\n")


class JetStream:
    """One connection that speaks to JetStream, and what was said on it."""

    inboxes = "_INBOX.test"
    speaker = ""

    def __init__(self, server: Server, store: Path) -> None:
        self.server = server
        self.store = store
        self.lines: list[str] = []
        self.kept: list[Message] = []
        self.requests = 0
        self.sids = 1
        self.client = self._connect()

    # -- requests ----------------------------------------------------------------------------------

    def api(self, verb: str, body: object = None, headers: Headers = None) -> Json:
        """The JSON that answers an API request."""
        return self.request(API + verb, encode_body(body), headers).json

    def ok(self, verb: str, body: object = None, headers: Headers = None) -> Json:
        answer = self.api(verb, body, headers)
        assert "error" not in answer, answer
        return answer

    def refused(self, verb: str, body: object = None, headers: Headers = None) -> Json:
        """The error that answers an API request."""
        answer = self.api(verb, body, headers)
        assert "error" in answer, answer
        error: Json = answer["error"]
        return error

    def request(self, subject: str, data: bytes = b"", headers: Headers = None) -> Message:
        """The first message that answers."""
        return self.replies(subject, data, headers, lambda message: True)[0]

    def replies(
        self, subject: str, data: bytes, headers: Headers, last: Callable[[Message], bool]
    ) -> list[Message]:
        """All messages that answer, up to the one that `last` recognises."""
        self._note(">", f"{subject} {as_text(header_block(headers))}{as_text(data)}")
        inbox = self._send(subject, data, headers)
        answers: list[Message] = []
        while not answers or not last(answers[-1]):
            answers.append(self._receive(inbox))
            self._note_message("<", answers[-1])
        return answers

    def silent(self, subject: str, data: bytes = b"", headers: Headers = None) -> None:
        """A request that nobody answers, by the time that later requests have been answered."""
        self._note(">", f"{subject} {as_text(header_block(headers))}{as_text(data)}")
        inbox = self._send(subject, data, headers)
        self.fence()
        heard = [message for message in self.kept if message.subject == inbox]
        assert not heard, heard
        self._note("<", "(silence)")

    def fence(self) -> None:
        """Wait until the server has dealt with everything said so far.

        nats-server works on API requests beside the connection, some in one queue, some in another;
        a PONG alone says nothing about them. Requests behind them in both queues do.
        """
        for verb in ("STREAM.CREATE.?", "STREAM.INFO.?", "INFO"):
            self.ask(verb)
        self._keep_all()

    # -- publishing --------------------------------------------------------------------------------

    def publish(self, subject: str, data: bytes = b"", headers: Headers = None) -> Json:
        """The PubAck."""
        return self.request(subject, data, headers).json

    def publish_all(self, *subjects: str, data: bytes = b"x") -> list[int]:
        """One message to each subject; their sequences."""
        return [self.publish(subject, data)["seq"] for subject in subjects]

    def publish_refused(self, subject: str, data: bytes = b"", headers: Headers = None) -> Json:
        answer = self.publish(subject, data, headers)
        assert "error" in answer, answer
        error: Json = answer["error"]
        return error

    def cast(self, subject: str, data: bytes = b"", headers: Headers = None) -> None:
        """A publish without a reply subject."""
        self._note(">", f"{subject} (no reply) {as_text(header_block(headers))}{as_text(data)}")
        self.client.send(frame_of(subject, data, headers, b""))

    # -- streams -----------------------------------------------------------------------------------

    def create(self, name: str, **config: object) -> Json:
        return self.ok(f"STREAM.CREATE.{name}", {"name": name, **config})

    def update(self, name: str, **config: object) -> Json:
        return self.ok(f"STREAM.UPDATE.{name}", {"name": name, **config})

    def create_refused(self, name: str, **config: object) -> Json:
        return self.refused(f"STREAM.CREATE.{name}", {"name": name, **config})

    def update_refused(self, name: str, **config: object) -> Json:
        return self.refused(f"STREAM.UPDATE.{name}", {"name": name, **config})

    def delete(self, name: str) -> Json:
        answer = self.ok(f"STREAM.DELETE.{name}")
        self._remove_leftovers()
        return answer

    def info(self, name: str, **options: object) -> Json:
        return self.ok(f"STREAM.INFO.{name}", options or None)

    def state(self, name: str, **options: object) -> Json:
        state: Json = self.info(name, **options)["state"]
        return state

    def settled(self, name: str, **expected: object) -> Json:
        """The state, once it says what is expected; asking is how it waits."""

        def reached() -> bool:
            state = self.ask(f"STREAM.INFO.{name}")["state"]
            return all(state.get(key) == value for key, value in expected.items())

        self.until(reached)
        return self.state(name)

    def until(self, reached: Callable[[], bool]) -> None:
        deadline = time.monotonic() + TIMEOUT
        while not reached():
            assert time.monotonic() < deadline, "it never came"

    def subjects(self, name: str, pattern: str = ">") -> Json:
        """How many messages each subject has."""
        found: Json = self.state(name, subjects_filter=pattern).get("subjects", {})
        return found

    def message(self, name: str, **selector: object) -> Json:
        """A stored message by MSG.GET."""
        found: Json = self.ok(f"STREAM.MSG.GET.{name}", selector)["message"]
        return found

    def direct(self, name: str, headers: Headers = None, **selector: object) -> Message:
        return self.request(f"{API}DIRECT.GET.{name}", encode_body(selector or None), headers)

    def direct_all(self, name: str, **selector: object) -> list[Message]:
        """All messages of a batch, with the end marker."""
        return self.replies(
            f"{API}DIRECT.GET.{name}", encode_body(selector), None, lambda it: bool(it.status)
        )

    # -- listening ---------------------------------------------------------------------------------

    def listen(self, *subjects: str) -> None:
        for subject in subjects:
            self.sids += 1
            self._note(">", f"SUB {subject}")
            self.client.send(b"SUB %b %d\r\n" % (subject.encode(), self.sids))
        self._keep_all()

    def heard(self, count: int) -> list[Message]:
        """The next messages for subscriptions of the test, by subject: their order may be chance."""
        while len(self.kept) < count:
            self.kept.append(self._read())
        taken, self.kept = self.kept[:count], self.kept[count:]
        taken.sort(key=lambda message: message.subject)
        for message in taken:
            self._note_message("*", message)
        return taken

    def heard_nothing(self) -> None:
        self.fence()
        assert self.kept == []

    # -- the server --------------------------------------------------------------------------------

    def clear(self) -> None:
        """Delete all streams, off the record."""
        for name in self.ask("STREAM.NAMES")["streams"] or []:
            self.ask(f"STREAM.DELETE.{name}")
        self._remove_leftovers()

    def _remove_leftovers(self) -> None:
        """nats-server removes files after it has answered, and under load leaves some behind; the
        next stream of the name would go on with them.
        """
        streams = streams_directory(self.store)
        if self.server.kind == ORACLE and streams.exists():
            kept = set(self.ask("STREAM.NAMES")["streams"] or [])
            for directory in streams.iterdir():
                while directory.is_dir() and directory.name not in kept:
                    shutil.rmtree(directory, ignore_errors=True)

    def ask(self, verb: str, body: object = None) -> Json:
        """An API request off the record."""
        return self._receive(self._send(API + verb, encode_body(body))).json

    def close(self) -> None:
        self.client.close()

    def _connect(self) -> RawClient:
        client = self.server.client(REQUESTER + f"SUB {self.inboxes}.* 1\r\n".encode())
        client.exchange()
        return client

    def _send(self, subject: str, data: bytes = b"", headers: Headers = None) -> str:
        self.requests += 1
        inbox = f"{self.inboxes}.{self.requests}"
        self.client.send(frame_of(subject, data, headers, inbox.encode()))
        return inbox

    def _read(self) -> Message:
        while (frame := self.client.read_frame()) == PING:
            self.client.send(PONG)
        return parse_message(frame)

    def _receive(self, inbox: str) -> Message:
        while (message := self._read()).subject != inbox:
            self.kept.append(message)
        return message

    def _keep_all(self) -> None:
        """Read up to the PONG of a PING that is sent now."""
        self.kept += [parse_message(frame) for frame in messages(self.client.exchange())]

    def note(self, fact: object) -> None:
        """Put something that both servers must agree on into the transcript."""
        self._note("=", str(fact))

    def _note(self, mark: str, text: str) -> None:
        self.lines.append(f"{mark} {normal_answer(text)}")

    def _note_message(self, mark: str, message: Message) -> None:
        text = f"{message.subject} {as_text(message.headers)}{as_text(message.data)}"
        self._note(mark, text)


class OwnServer(JetStream):
    """JetStream on a server that belongs to the scenario: it may be stopped and started again."""

    def __init__(self, servers: Servers, kind: Kind, store: Path, config: str | None) -> None:
        self.servers = servers
        self.kind = kind
        self.store = store
        self.config = config
        super().__init__(self._start(), store)

    def restart(self, how: signal.Signals) -> None:
        """End the server by the signal and start it again on the same directory."""
        self._note("!", how.name)
        self.client.close()
        self.server.signal(how)
        self.server.wait()
        self.server = self._start()
        self.client = self._connect()

    def _start(self) -> Server:
        return self.servers.start(self.kind, self.config, ["-js", "-sd", str(self.store)])


def frame_of(subject: str, data: bytes, headers: Headers, reply: bytes) -> bytes:
    block = header_block(headers)
    if block:
        return hpub(subject.encode(), block, data, reply)
    return pub(subject.encode(), data, reply)


class Stage:
    """Where scenarios are played: one server of each kind for all, others for the asking."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.servers = Servers(directory)
        self.shared: dict[Kind, tuple[Server, Path]] = {}
        self.stores = 0

    def new_store(self) -> Path:
        self.stores += 1
        return self.directory / f"store-{self.stores}"

    def server(self, kind: Kind) -> tuple[Server, Path]:
        """The server that is shared, and where it stores."""
        if kind not in self.shared:
            store = self.new_store()
            server = self.servers.start(kind, None, ["-js", "-sd", str(store)])
            self.shared[kind] = server, store
            if kind == ORACLE:
                keep_streams_directory(store)
        return self.shared[kind]

    def play(self, kind: Kind, story: Callable[[JetStream], None]) -> list[str]:
        js = JetStream(*self.server(kind))
        try:
            js.clear()
            return perform(kind, story, js)
        finally:
            js.close()

    def play_alone(
        self, kind: Kind, story: Callable[[OwnServer], None], config: str | None
    ) -> list[str]:
        js = OwnServer(self.servers, kind, self.new_store(), config)
        try:
            return perform(kind, story, js)
        finally:
            js.close()
            js.server.stop()


def streams_directory(store: Path) -> Path:
    return store / "jetstream" / "$G" / "streams"


def keep_streams_directory(store: Path) -> None:
    """nats-server removes this directory with the last stream, beside its other work; a stream that
    is created at that moment fails with 10049. It does not remove what it finds something in.
    """
    streams = streams_directory(store)
    streams.mkdir(parents=True, exist_ok=True)
    (streams / "keep").touch()


def perform(kind: Kind, story: Callable[[Any], None], js: JetStream) -> list[str]:
    try:
        story(js)
    except BaseException as error:
        error.add_note(f"on {kind}, after:\n" + "\n".join(line[:300] for line in js.lines[-6:]))
        raise
    return js.lines


Test = Callable[..., None]


def scenario(*rows: str) -> Callable[[Test], Test]:
    """A test played on each kind of server, on the one that all scenarios of the worker share."""

    def run(stage: Stage, kind: Kind, story: Callable[[Any], None]) -> list[str]:
        return stage.play(kind, story)

    return played(rows, run)


def own_server(*rows: str, config: str | None = None) -> Callable[[Test], Test]:
    """A test played on a server of its own; it takes an `OwnServer`."""

    def run(stage: Stage, kind: Kind, story: Callable[[Any], None]) -> list[str]:
        return stage.play_alone(kind, story, config)

    return played(rows, run)


def played(
    rows: tuple[str, ...], run: Callable[[Stage, Kind, Callable[[Any], None]], list[str]]
) -> Callable[[Test], Test]:
    """Replace the test's first parameter by the stage and the kind of server."""

    def decorate(story: Test) -> Test:
        def test(kind: Kind, stage: Stage, **arguments: Any) -> None:
            def told(js: JetStream) -> None:
                story(js, **arguments)

            expected = run(stage, ORACLE, told)
            if kind != ORACLE:
                assert_same(expected, run(stage, kind, told))

        own = list(inspect.signature(test).parameters.values())[:2]
        rest = list(inspect.signature(story).parameters.values())[1:]
        test.__name__ = story.__name__
        test.__doc__ = story.__doc__
        test.__module__ = story.__module__
        test.__signature__ = inspect.Signature(own + rest)  # type: ignore[attr-defined]
        marks = [*getattr(story, "pytestmark", [])]
        test.pytestmark = [*marks, pytest.mark.behaviour(*rows).mark]  # type: ignore[attr-defined]
        return test

    return decorate
