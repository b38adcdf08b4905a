"""Messages and bytes by account: those of its connections now, and of those that are gone."""

from __future__ import annotations

from typing import NamedTuple

from jetstream_py.server.monitor.view import AccountView


class Traffic(NamedTuple):
    """Received is what clients sent to the server, sent what they got from it."""

    received_msgs: int
    received_bytes: int
    sent_msgs: int
    sent_bytes: int


def traffic_of(account: AccountView) -> Traffic:
    sessions = account.sessions.values()
    received_msgs, received_bytes, sent_msgs, sent_bytes = account.gone
    return Traffic(
        received_msgs + sum(session.in_msgs for session in sessions),
        received_bytes + sum(session.in_bytes for session in sessions),
        sent_msgs + sum(session.out_msgs for session in sessions),
        sent_bytes + sum(session.out_bytes for session in sessions),
    )
