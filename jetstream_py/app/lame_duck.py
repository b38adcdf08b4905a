"""Lame duck mode: how a server with many clients leaves without all of them coming back at once.

Clients are told first, and most move on by themselves during the grace period. Those who stay are
closed one after the other, spread over what is left of the time, with pauses of different length so
that their reconnects do not arrive in step.
"""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Final

from jetstream_py.server import proto

if TYPE_CHECKING:
    from jetstream_py.server.broker import Broker

MAX_PAUSE: Final = 1.0  # few clients need no spreading: do not make the operator wait
MIN_PAUSE: Final = 0.01  # shorter pauses cost more than they spread: close several at once

Sleep = Callable[[float], Awaitable[None]]


async def close_gently(broker: Broker, over: float, sleep: Sleep) -> None:
    """Close every client within `over` seconds."""
    waiting = list(broker.sessions)
    if not waiting:
        return
    pause = min(MAX_PAUSE, over / len(waiting))
    at_once = (
        1 if pause >= MIN_PAUSE else math.ceil(len(waiting) * MIN_PAUSE / max(over, MIN_PAUSE))
    )
    for start in range(0, len(waiting), at_once):
        if start:
            await sleep(min(MAX_PAUSE, pause * at_once) * (0.5 + broker.chance() / 2))
        for cid in waiting[start : start + at_once]:
            if session := broker.sessions.get(cid):
                broker.close_session(session, proto.SERVER_SHUTDOWN)
