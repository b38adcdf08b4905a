"""What stream configurations are held against, and the numbers in their rules."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from jetstream_py.api.errors import E, error
from jetstream_py.api.types import AccountLimits, StreamConfig

MAX_NAME: Final = 255
MAX_DESCRIPTION: Final = 4096
MAX_METADATA: Final = 128 * 1024
MAX_REPLICAS: Final = 5
SECOND: Final = 1_000_000_000
SHORTEST: Final = 100 * 1_000_000  # of max_age and duplicate_window
DUPLICATE_WINDOW: Final = 120 * SECOND

Lookup = Callable[[str], StreamConfig | None]


def _no_streams(name: str) -> StreamConfig | None:
    return None


def _no_bytes(config: StreamConfig) -> int:
    return 0


class Rules(NamedTuple):
    """The limits of the account and the server, and the streams that are there already."""

    account: AccountLimits = AccountLimits()
    duplicate_window: int = 0  # the server's limit, 0 for none
    lookup: Lookup = _no_streams
    streams: int = 0
    others: Callable[[StreamConfig], int] = _no_bytes  # what other streams of its kind reserve
    tiers: Mapping[
        str, AccountLimits
    ] = {}  # by the number of copies, "R1"; none: `account` for all

    def limits_for(self, config: StreamConfig) -> AccountLimits:
        """Of the tier that the stream belongs to."""
        if not self.tiers:
            return self.account
        limits = self.tiers.get(f"R{max(1, config.num_replicas)}")
        if limits is None:
            raise error(E.NO_LIMITS)
        return limits


NO_LIMITS: Final = Rules()


class Step(NamedTuple):
    """What each step of a check is given beside the draft that it may change."""

    rules: Rules
    pedantic: bool

    def correct(self, text: str) -> None:
        """About to change what the client sent: in pedantic mode that is a fault."""
        if self.pedantic:
            raise error(E.PEDANTIC, err=text)
