"""Which accounts have JetStream, and what they may store."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from jetstream_py.api.reservation import exceeded, most_bytes
from jetstream_py.api.types import AccountLimits
from jetstream_py.engine.quota import Allowance

if TYPE_CHECKING:
    from jetstream_py.config.account_options import StreamLimits
    from jetstream_py.server.accounts import Account
    from jetstream_py.server.broker import Broker


def account_limits(given: StreamLimits) -> AccountLimits:
    return AccountLimits(
        max_memory=given.max_memory,
        max_storage=given.max_store,
        max_streams=given.max_streams,
        max_consumers=given.max_consumers,
        max_ack_pending=given.max_ack_pending,
        memory_max_stream_bytes=given.memory_max_stream_bytes,
        storage_max_stream_bytes=given.store_max_stream_bytes,
        max_bytes_required=given.max_bytes_required,
    )


def allowances(broker: Broker) -> dict[str, Allowance]:
    """The accounts that have JetStream. Where there is none but the global one, it is that."""
    system = broker.system_account
    others = [account for account in broker.accounts.values() if account is not system]
    if others == [broker.default_account] and broker.options.authorization.operator is None:
        return {broker.default_account.name: _allowance(broker.default_account)}
    return {
        account.name: _allowance(account)
        for account in others
        if account.options.jetstream is not None or account.options.tiers
    }


def _allowance(account: Account) -> Allowance:
    given = account.options
    flat = account_limits(given.jetstream) if given.jetstream is not None else AccountLimits()
    return Allowance(flat, {name: account_limits(tier) for name, tier in given.tiers})


def check_sums(wanted: dict[str, Allowance], most: Mapping[str, int]) -> None:
    """Accounts cannot be promised more than the server has."""
    for kind in ("memory", "file"):
        promised = sum(max(0, most_bytes(each.limits, kind)) for each in wanted.values())
        if 0 < most.get(kind, 0) < promised:
            raise exceeded(kind)
