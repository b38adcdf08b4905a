"""What a stream tells of a message whose publisher traces it (see `server/msgtrace`).

A `Probe` stands in the stream while the one message is published. It learns whether the message passed all
checks and where it arrived, or what refused it. A message that is only traced goes no further than that: what
the store alone would refuse, such as one too many, is not found then, as on nats-server.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from jetstream_py.gotext import quote, wire_text

if TYPE_CHECKING:
    from jetstream_py.api.errors import ApiError
    from jetstream_py.engine.shared import Outcome

DUPLICATE: Final = "msgid is duplicate"
# Reports call these by other words than answers do.
_CAUSES: Final = {
    10054: "maximum payload exceeded",
    10060: "expected stream does not match",
    10097: "maximum payload exceeded",
    10166: "message TTL disabled",
}


class TraceOnly(Exception):
    """It would have been stored."""


class Probe:
    """The fate of one message."""

    __slots__ = ("_no_interest", "_only", "_subject", "error", "waits")

    def __init__(self, only: bool) -> None:
        self._only = only
        self._subject = b""
        self._no_interest = False
        self.error = ""
        self.waits = False  # for the rest of its batch: there is nothing to tell

    def arrive(self, subject: bytes, wanted: bool) -> None:
        """All checks are passed."""
        self._subject, self._no_interest = subject, not wanted
        if self._only:
            raise TraceOnly

    def refused(self, refusal: ApiError) -> None:
        text = f"{refusal.description} ({refusal.err_code})"
        self.error = refusal.cause or _CAUSES.get(refusal.err_code, text)

    def outcome(self, stream: str) -> Outcome | None:
        if self.waits:
            return None
        return stream, self._subject, self._no_interest, self.error


def shown(text: bytes) -> str:
    return quote(wire_text(text))
