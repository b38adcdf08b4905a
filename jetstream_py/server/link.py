"""What a session needs from its transport, whatever that is: TCP, TLS, WebSocket, or nothing at all."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from jetstream_py.server.certificates import Peer
    from jetstream_py.server.tls_info import TlsInfo


class Link(Protocol):
    """What a session needs from its transport."""

    def flush(self) -> None:
        """Write what the session has queued."""
        ...

    def connected(self) -> None:
        """A CONNECT was accepted."""
        ...

    def close(self, linger: bool) -> None:
        """Close once everything written has left; `linger`: and the peer had a chance to read it."""
        ...

    def abort(self) -> None:
        """Close at once; what is queued is lost."""
        ...

    def pending_bytes(self) -> int:
        """Written, but not taken by the socket yet."""
        ...

    @property
    def connection_type(self) -> str:
        """As `allowed_connection_types` has it: STANDARD or WEBSOCKET."""
        ...

    def hold(self) -> None:
        """Read no more until `release`."""
        ...

    def release(self) -> None: ...

    @property
    def forwarded_for(self) -> str:
        """Whom a proxy speaks for, or nothing."""
        ...

    @property
    def cookies(self) -> Mapping[str, str]:
        """Credentials that came with the upgrade: fields of CONNECT."""
        ...

    def tls_info(self) -> TlsInfo | None:
        """How the connection is protected, if it is."""
        ...

    def peer(self) -> Peer | None:
        """The client as its certificate names it."""
        ...


class NoLink:
    """The link of a session that has lost its own."""

    connection_type = "STANDARD"
    forwarded_for = ""
    cookies: Mapping[str, str] = {}

    def flush(self) -> None: ...

    def connected(self) -> None: ...

    def close(self, linger: bool) -> None: ...

    def abort(self) -> None: ...

    def pending_bytes(self) -> int:
        return 0

    def tls_info(self) -> TlsInfo | None:
        return None

    def hold(self) -> None: ...

    def release(self) -> None: ...

    def peer(self) -> Peer | None:
        return None


NO_LINK: Link = NoLink()
