"""Messages and bytes by account: those of its connections now, and of those that are gone."""

from __future__ import annotations

from typing import NamedTuple

from jetstream_py.server.monitor.view import AccountView, BrokerView


class Traffic(NamedTuple):
    """Received is what clients sent to the server, sent what they got from it."""

    received_msgs: int = 0
    received_bytes: int = 0
    sent_msgs: int = 0
    sent_bytes: int = 0


def by_account(broker: BrokerView) -> dict[str, Traffic]:
    """Of every account, in one walk over the connections."""
    sums = {name: list(account.gone) for name, account in broker.accounts.items()}
    for session in broker.sessions.values():
        counts = sums.setdefault(session.account.name, [0, 0, 0, 0])
        counts[0] += session.in_msgs
        counts[1] += session.in_bytes
        counts[2] += session.out_msgs
        counts[3] += session.out_bytes
    return {name: Traffic(*counts) for name, counts in sums.items()}


def of_account(broker: BrokerView, account: AccountView) -> Traffic:
    return by_account(broker).get(account.name, Traffic())
