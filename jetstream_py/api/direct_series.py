"""DIRECT.GETs by the dozen: what one read of a socket brought for one stream.

Whoever looks up many messages at once has many requests on the way, and they arrive together. If all of them
have one of the two usual forms, by sequence or by subject, they are answered in one pass; anything else is
left to `direct`, one by one. The answers are the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from jetstream_py.api.direct import NOT_FOUND, rendered
from jetstream_py.api.messages import by_seq

if TYPE_CHECKING:
    from jetstream_py.api.service import ApiService
    from jetstream_py.engine.stream import Stream
    from jetstream_py.store import Message

DIRECT_GET = b"$JS.API.DIRECT.GET."


def direct_gets(
    service: ApiService,
    subjects: Sequence[bytes],
    replies: Sequence[bytes],
    bodies: Sequence[bytes],
) -> bool:
    """Answer these requests, which all begin like a DIRECT.GET. False: nothing was done."""
    js = service.js
    name, _, rest = subjects[0][len(DIRECT_GET) :].partition(b".")
    stream = js.streams.get(name.decode("utf-8", "replace"))
    if stream is None or not stream.config.allow_direct or js.store.failed:
        return False
    own = DIRECT_GET + name
    found = _by_subject(stream, own + b".", subjects, bodies) if rest else None
    if not rest and subjects.count(own) == len(subjects):
        found = _by_sequence(stream, bodies)
    if found is None:
        return False
    answers = [
        (NOT_FOUND, b"") if message is None else rendered(stream, message) for message in found
    ]
    blocks, datas = zip(*answers, strict=True)
    service.answer_all(replies, blocks, datas)
    return True


def _by_sequence(stream: Stream, bodies: Sequence[bytes]) -> list[Message | None] | None:
    asked = list(map(by_seq, bodies))
    if None in asked:
        return None
    get = stream.store.get
    return [get(int(match[1])) for match in asked if match is not None]


def _by_subject(
    stream: Stream, start: bytes, subjects: Sequence[bytes], bodies: Sequence[bytes]
) -> list[Message | None] | None:
    """Whatever lies between two words in the alphabet shares the start that these two share."""
    if any(bodies) or not min(subjects).startswith(start) or not max(subjects).startswith(start):
        return None
    cut = len(start)
    names = [subject[cut:] for subject in subjects]
    text = b" ".join(names)
    if b"*" in text or b">" in text or b"" in names:
        return None
    return list(map(stream.store.newest, names))
