"""Is the target what the source was? Every message is read on both sides and compared.

The source may live on: what it has removed since is not missed, so a difference is looked at once more
before it counts. Only what was migrated is compared, not what came later.
"""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Final

from jetstream_py.migrate.connection import Json
from jetstream_py.migrate.messages import Message, Reader
from jetstream_py.migrate.options import Progress

MOST: Final = 10  # differences that are told

Seen = Callable[[Message], Message]


@dataclass
class Verdict:
    """What the comparison has found."""

    messages: int = 0
    gone: int = 0  # messages that the source has removed meanwhile
    differences: list[str] = field(default_factory=list)
    digest: str = ""


async def compare(
    source: Reader,
    target: Reader,
    first: int,
    last: int,
    seen: Seen,
    stream: str,
    total: int,
    progress: Progress,
) -> Verdict:
    """`seen` says what becomes of a message of the source on its way."""
    verdict = Verdict()
    digest = hashlib.blake2b(digest_size=16)
    ours, theirs = _flat(source, first, last), _flat(target, first, last)
    left, right = await anext(ours, None), await anext(theirs, None)
    while left is not None or right is not None:
        if left is not None and right is not None and seen(left) == seen(right):
            _count(verdict, right, digest)
            if verdict.messages % 1000 == 0:
                progress("verify", stream, verdict.messages, total)
            left, right = await anext(ours, None), await anext(theirs, None)
            continue
        seq = min(message.seq for message in (left, right) if message is not None)
        await _judge(verdict, source, target, seq, seen)
        if len(verdict.differences) >= MOST:
            break
        if left is not None and left.seq == seq:
            left = await anext(ours, None)
        if right is not None and right.seq == seq:
            right = await anext(theirs, None)
    verdict.digest = digest.hexdigest()
    return verdict


async def _flat(reader: Reader, first: int, last: int) -> AsyncIterator[Message]:
    async for batch in reader.read(first, last):
        for message in batch:
            yield message


def _count(verdict: Verdict, message: Message, digest: hashlib.blake2b) -> None:
    verdict.messages += 1
    head = f"{message.seq} {message.subject} {len(message.headers)} {len(message.data)} "
    digest.update(head.encode() + message.headers + message.data)


async def _judge(verdict: Verdict, source: Reader, target: Reader, seq: int, seen: Seen) -> None:
    """Another look at one message."""
    right = await target.get(seq)
    left = await source.get(seq)
    if left is None:
        verdict.gone += right is not None
    elif right is None:
        verdict.differences.append(f"message {seq} is missing")
    elif seen(left) != seen(right):
        names = ("subject", "headers", "data", "time")
        pairs = zip(names, seen(left)[1:], seen(right)[1:], strict=True)
        unlike = ", ".join(name for name, one, other in pairs if one != other)
        verdict.differences.append(f"message {seq} has another {unlike}")


def check_state(verdict: Verdict, source: Json, target: Json, last: int) -> None:
    """Do the counts that the target tells fit what was found? Only while nobody else writes to it."""
    if verdict.differences or target["last_seq"] != last:
        return
    facts = [("messages", verdict.messages + verdict.gone)]
    if not verdict.gone and source["last_seq"] == last:
        facts += [("messages", source["messages"]), ("num_subjects", source.get("num_subjects", 0))]
        if source["messages"]:
            facts.append(("first_seq", source["first_seq"]))
    for key, expected in facts:
        if target.get(key, 0) != expected:
            verdict.differences.append(f"{key} is {target.get(key, 0)}, not {expected}")
