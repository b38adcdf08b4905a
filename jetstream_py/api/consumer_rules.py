"""What consumer configurations are held against, and the numbers in their rules."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from jetstream_py.api.errors import E, error
from jetstream_py.api.types import AccountLimits, StreamConfig

MAX_NAME: Final = 255
MAX_DESCRIPTION: Final = 4096
MAX_METADATA: Final = 128 * 1024
MILLISECOND: Final = 1_000_000
SECOND: Final = 1_000_000_000
ACK_WAIT: Final = 30 * SECOND
MAX_ACK_PENDING: Final = 1000
MAX_WAITING: Final = 512
INACTIVE_THRESHOLD: Final = 5 * SECOND  # of consumers without a durable name
PRIORITY_TIMEOUT: Final = 120 * SECOND
HEARTBEAT: Final = 100 * MILLISECOND  # the shortest
FLOW_HEARTBEAT: Final = SECOND  # the only one that the flow control ack policy allows

GROUP_NAME: Final = re.compile(r"[a-zA-Z0-9/_=-]{1,16}\Z")


class ConsumerRules(NamedTuple):
    """The stream that the consumer is for, and the limits of the account and the server."""

    stream: StreamConfig
    account: AccountLimits = AccountLimits()
    max_ack_pending: int = 0  # the server's limits, 0 for none
    max_batch: int = 0


class ConsumerStep(NamedTuple):
    """What each step of a check is given beside the draft that it may change."""

    rules: ConsumerRules
    pedantic: bool

    @property
    def stream(self) -> StreamConfig:
        return self.rules.stream

    def correct(self, text: str) -> None:
        """About to change what the client sent: in pedantic mode that is a fault."""
        if self.pedantic:
            raise error(E.PEDANTIC, err=text)
