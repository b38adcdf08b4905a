"""JetStream requests over raw connections, with a window of them on the way."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from tests.crash.model import Broken, Rules, Snapshot, Stored
from tests.support.raw import TIMEOUT, RawClient
from tests.support.wire import REQUESTER, frame_end, pub

WINDOW = 128
NOT_FOUND = 10037
BELOW = 8  # sequences before the first and after the last that are asked for too


def connect(
    port: int, name: str, opening: bytes = REQUESTER, timeout: float = TIMEOUT
) -> RawClient:
    """A connection whose answers come to `_INBOX.<name>.<token>`."""
    client = RawClient(port, timeout=timeout)
    client.read_info()
    client.send(opening + b"SUB _INBOX.%b.* 1\r\n" % name.encode())
    return client


def inbox(name: str, token: int) -> bytes:
    return b"_INBOX.%b.%d" % (name.encode(), token)


def answers(buffer: bytearray) -> Iterator[tuple[int, dict[str, Any]]]:
    """Take the whole messages out of what was received: tokens and what they were answered."""
    start = 0
    try:
        while (end := frame_end(buffer, start)) >= 0:
            frame = bytes(buffer[start:end])
            start = end
            if frame.startswith((b"MSG _INBOX.", b"HMSG _INBOX.")):
                yield parse_answer(frame)
            elif frame.startswith(b"-ERR"):
                raise Broken(f"the server complains: {frame!r}")
    finally:
        del buffer[:start]


def parse_answer(frame: bytes) -> tuple[int, dict[str, Any]]:
    line, _, rest = frame.partition(b"\r\n")
    token = int(line.split(b" ")[1].rpartition(b".")[2])
    if line.startswith(b"H"):
        raise Broken(f"request {token} got a status instead of an answer: {rest!r}")
    answer = json.loads(rest)
    assert isinstance(answer, dict)
    return token, answer


def ask(client: RawClient, verb: str, body: object = None) -> dict[str, Any]:
    """One request, one answer; the connection is the one called `audit`."""
    data = b"" if body is None else json.dumps(body).encode()
    client.send(pub(f"$JS.API.{verb}".encode(), data, inbox("audit", 0)))
    return parse_answer(next_message(client))[1]


def next_message(client: RawClient) -> bytes:
    while True:
        frame = client.read_frame()
        if frame.startswith((b"MSG ", b"HMSG ")):
            return frame


def scan(client: RawClient, rules: Rules) -> Snapshot | None:
    """The stream's state and every message in it; None when there is no such stream."""
    body = {"subjects_filter": ">", "deleted_details": True}
    info = ask(client, f"STREAM.INFO.{rules.name}", body)
    if "error" in info:
        if info["error"]["err_code"] == 10059:
            return None
        raise Broken(f"{rules.name}: {info}")
    state = info["state"]
    first, last = int(state["first_seq"]), int(state["last_seq"])
    seqs = range(max(1, min(first, last) - BELOW), last + BELOW)
    found = {stored.seq: stored for stored in fetch(client, rules.name, seqs)}
    return Snapshot(state, found)


def fetch(client: RawClient, stream: str, seqs: Iterable[int]) -> Iterator[Stored]:
    """The messages at these sequences, as far as there are any."""
    subject = f"$JS.API.STREAM.MSG.GET.{stream}".encode()
    left = iter(seqs)
    waiting = 0
    while True:
        batch = list(islice(left, WINDOW - waiting))
        client.send(
            b"".join(pub(subject, b'{"seq":%d}' % seq, inbox("audit", seq)) for seq in batch)
        )
        waiting += len(batch)
        if not waiting:
            return
        for _ in range(max(1, waiting - WINDOW // 2)):
            token, answer = parse_answer(next_message(client))
            waiting -= 1
            if "error" in answer and answer["error"]["err_code"] == NOT_FOUND:
                continue
            if "error" in answer:
                raise Broken(f"{stream}: sequence {token}: {answer}")
            yield _stored(answer["message"], token)


def _stored(message: dict[str, Any], asked: int) -> Stored:
    if message["seq"] != asked:
        raise Broken(f"asked for sequence {asked}, got {message}")
    return Stored(
        asked,
        message["subject"].encode(),
        base64.b64decode(message.get("hdrs", "")),
        base64.b64decode(message.get("data", "")),
        message["time"],
    )
