"""A bus that may do what a user may: every subject is judged as it would be for a client of that name.

Requests and the inboxes of their answers are checked, and a mapping of the account renames a publish before
that, as for a client. A reader's housekeeping (flow control, the end of a consumer) passes, but only for
consumers that were made here: to whom an answer goes is written in messages, and who knows an inbox could
forge one to have something published that he may not publish himself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from jetstream_py.app.inprocess import AccountBus, AccountInbox
from jetstream_py.js.errors import InvalidName, NoResponders, PermissionDenied
from jetstream_py.js.types import NO_HEADERS, Headers, Received
from jetstream_py.server import proto
from jetstream_py.subject import is_literal, is_valid

if TYPE_CHECKING:
    from jetstream_py.server.broker import Broker
    from jetstream_py.server.session import Session

LONGEST_PREFIX: Final = 128  # bytes
_CREATE: Final = "$JS.API.CONSUMER.CREATE."  # stream, name
_HOUSEKEEPING: Final = ("$JS.FC.", "$JS.API.CONSUMER.DELETE.")


class UserBus(AccountBus):
    """The bus of one user, for as long as a request lasts. Raises PermissionDenied."""

    def __init__(self, broker: Broker, session: Session, inboxes: str) -> None:
        """`session` has no connection: it is who the user is, what it may, and its name in the log."""
        self._session = session
        self._consumers: set[str] = set()  # those made here
        _check_prefix(inboxes)
        self._check_subscribe(f"{inboxes}.{broker.new_id()}.*".encode())
        super().__init__(broker, session.account, inboxes)

    @property
    def max_payload(self) -> int:
        return self._session.max_payload

    async def request(
        self, subject: str, data: bytes, headers: Headers, seconds: float
    ) -> Received:
        admitted = self._admitted(subject)
        if admitted.startswith(_CREATE):
            self._consumers.update(admitted.split(".")[5:6])
        return await super().request(admitted, data, headers, seconds)

    async def publish(
        self, subject: str, data: bytes = b"", headers: Headers = NO_HEADERS, reply: str = ""
    ) -> None:
        if reply or not self._is_housekeeping(subject):
            subject = self._admitted(subject)
        await super().publish(subject, data, headers, reply)

    def _is_housekeeping(self, subject: str) -> bool:
        tokens = subject.split(".")
        return subject.startswith(_HOUSEKEEPING) and not self._consumers.isdisjoint(tokens)

    async def inbox(self, deliver: Callable[[Received], None]) -> AccountInbox:
        self._check_subscribe(f"{self._inboxes}.{self.new_id()}".encode())
        return await super().inbox(deliver)

    def _admitted(self, subject: str) -> str:
        """Where a publish goes."""
        name = subject.encode("utf-8", "replace")
        mapper = self._session.account.mapper
        choice = mapper.find(name) if mapper is not None else None
        if mapper is not None and choice is not None:
            name = mapper.map(choice, name)
            if not name:
                raise NoResponders(f"{subject} is mapped to nothing")
        if name.startswith(proto.RESERVED_SUBJECTS) or not self._session.may_publish(name):
            raise self._denied("Publish", name)
        return name.decode("utf-8", "replace")

    def _check_subscribe(self, subject: bytes) -> None:
        rights = self._session.rights
        rule = rights.subscribe if rights is not None else None
        if rule is not None and not rule.allows(subject, b""):
            raise self._denied("Subscription", subject)

    def _denied(self, what: str, subject: bytes) -> PermissionDenied:
        name = proto.shown(subject)
        self._session.broker.violation(self._session, f"{what} Violation - Subject {name}")
        return PermissionDenied(f"Permissions Violation for {what} to {name}")


def _check_prefix(inboxes: str) -> None:
    """Answers of others begin with reserved names: nobody listens there."""
    name = inboxes.encode("utf-8", "replace")
    if not is_valid(name) or not is_literal(name) or len(name) > LONGEST_PREFIX:
        raise InvalidName(f"not a prefix of inboxes: {inboxes[:100]!r}")
    if name.startswith((b"$", b"_R_", b"_GR_")):
        raise InvalidName(f"a reserved prefix: {inboxes[:100]!r}")
