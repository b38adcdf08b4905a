"""An origin as a mirror or a source names it: which stream, which of its messages, under which subjects."""

from __future__ import annotations

import random
import re
from typing import TYPE_CHECKING, Final, NamedTuple

from jetstream_py.engine.naming import short_hash
from jetstream_py.transforms.make import compile_transform

if TYPE_CHECKING:
    from jetstream_py.api.types import StreamSource

EVERYTHING: Final = ">"
SEPARATOR: Final = "\f"  # between the filters of one origin, where they are written as one word

# What a publisher asked of the origin; nobody may ask it of a copy.
_DEMANDS: Final = re.compile(rb"\r\nNats-(?:Expected|Batch)-[^\r\n]*(?=\r\n)")
_BARE: Final = b"NATS/1.0\r\n\r\n"


class Place(NamedTuple):
    """Where a mirror puts a message: where the origin has it."""

    seq: int
    ts: int


def without_demands(headers: bytes) -> bytes:
    """The headers of a copy."""
    if b"\r\nNats-Expected-" not in headers and b"\r\nNats-Batch-" not in headers:
        return headers
    rest = _DEMANDS.sub(b"", headers)
    return rest if rest != _BARE else b""


class Origin:
    """Compiled once, when a configuration is taken."""

    def __init__(self, config: StreamSource) -> None:
        self.config = config
        self.name = config.name
        pairs = [(each.src, each.dest) for each in config.subject_transforms]
        pairs = pairs or [(config.filter_subject, "")]
        self.filters = tuple(source for source, _ in pairs if source not in ("", EVERYTHING))
        if len(self.filters) < len(pairs):
            self.filters = ()  # one of them takes everything
        self.pattern = " ".join(self.filters).encode()
        transforms = [compile_transform(*pair, random.randrange) for pair in pairs]
        self._transforms = [each for each in transforms if each is not None]
        label = config.name
        if config.external is not None:
            label += ":" + short_hash(config.external.api)
        if config.consumer is not None:
            label += ":C=" + short_hash(config.consumer.name)
        self.label = label.encode()
        sources, destinations = (
            SEPARATOR.join(part or EVERYTHING for part in parts)
            for parts in zip(*pairs, strict=True)
        )
        self.words = f"{sources} {destinations}".encode()
        self.key = f"{label} {sources} {destinations}"

    @property
    def renames(self) -> bool:
        return bool(self._transforms)

    def renamed(self, subject: bytes) -> bytes:
        """The subject of the copy."""
        for transform in self._transforms:
            made = transform(subject)
            if made is not None:
                return made
        return subject

    def source_header(self, seq: int, subject: bytes, identity: bytes) -> bytes:
        """What a copy says about where it comes from."""
        return self.source_form(identity) % (seq, subject)

    def source_form(self, identity: bytes) -> bytes:
        """The same for any sequence and subject, which are to be filled in."""
        label, words = (part.replace(b"%", b"%%") for part in (self.label, self.words))
        return b"%b %%d %b %%b %b" % (label, words, identity.replace(b"%", b"%%"))
