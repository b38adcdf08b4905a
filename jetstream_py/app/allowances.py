"""Which accounts have JetStream, and what they may store."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from jetstream_py.api.reservation import exceeded, most_bytes
from jetstream_py.api.types import AccountLimits
from jetstream_py.engine.quota import Allowance

if TYPE_CHECKING:
    from jetstream_py.config.account_options import AccountOptions, StreamLimits
    from jetstream_py.server.accounts import Account
    from jetstream_py.server.broker import Broker


class Allowances:
    """Of all accounts, by name. What has not changed is the same object as before: with an operator, who
    may have many accounts, this is asked whenever one comes."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[AccountOptions, Allowance]] = {}

    def find(self, broker: Broker) -> dict[str, Allowance]:
        """The accounts that have JetStream. Where there is none but the global one, it is that."""
        system, general = broker.system_account, broker.default_account
        others = [account for account in broker.accounts.values() if account is not system]
        alone = others == [general] and broker.options.authorization.operator is None
        found = {}
        for account in others:
            given = account.options
            if given.jetstream is not None or given.tiers or alone:
                found[account.name] = self._of(account)
        self._known = {name: known for name, known in self._known.items() if name in found}
        return found

    def _of(self, account: Account) -> Allowance:
        known = self._known.get(account.name)
        if known is None or known[0] is not account.options:
            known = self._known[account.name] = (account.options, _allowance(account.options))
        return known[1]


def _allowance(given: AccountOptions) -> Allowance:
    flat = _limits(given.jetstream) if given.jetstream is not None else AccountLimits()
    return Allowance(flat, {name: _limits(tier) for name, tier in given.tiers})


def _limits(given: StreamLimits) -> AccountLimits:
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


def check_sums(wanted: Mapping[str, Allowance], most: Mapping[str, int]) -> None:
    """Accounts cannot be promised more than the server has."""
    for kind in ("memory", "file"):
        if most.get(kind, 0) > 0:
            promised = sum(max(0, most_bytes(each.limits, kind)) for each in wanted.values())
            if promised > most[kind]:
                raise exceeded(kind)
