"""What the server answers about consumers. Their info stands beside an answer's other fields."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from jetstream_py.api import responses as r
from jetstream_py.api.consumer_types import ConsumerInfo
from jetstream_py.api.fields import Wire, always
from jetstream_py.api.times import ZERO_TIME

_T: Final = r.TYPE + "consumer_"


class ConsumerCreateResponse(r.Response, tag=_T + "create_response"):
    pass


class ConsumerInfoResponse(r.Response, tag=_T + "info_response"):
    pass


class ConsumerResetResponse(r.Response, tag=_T + "reset_response"):
    """As it is when it fails: the number comes last."""

    reset_seq: int = always(0)


class _ResetDone(r.Response, tag=_T + "reset_response"):
    pass


class ConsumerNamesResponse(r.Page, tag=_T + "names_response"):
    consumers: Sequence[str] = always(())


class ConsumerListResponse(r.Page, tag=_T + "list_response"):
    consumers: Sequence[ConsumerInfo] = always(())
    missing: tuple[str, ...] = ()
    offline: dict[str, str] = msgspec.field(default_factory=dict)


class ConsumerDeleteResponse(r.Success, tag=_T + "delete_response"):
    pass


class ConsumerPauseResponse(r.Response, tag=_T + "pause_response"):
    paused: bool = always(False)
    pause_until: str = always(ZERO_TIME)
    pause_remaining: int = 0


class ConsumerUnpinResponse(r.Response, tag=_T + "unpin_response"):
    pass


class ConsumerLeaderStepdownResponse(r.Success, tag=_T + "leader_stepdown_response"):
    pass


class _Reset(Wire):
    reset_seq: int = always(0)


def consumer_created(info: ConsumerInfo) -> bytes:
    return r.joined(ConsumerCreateResponse(), info)


def consumer_info(info: ConsumerInfo) -> bytes:
    return r.joined(ConsumerInfoResponse(), info)


def consumer_reset(info: ConsumerInfo, reset_seq: int) -> bytes:
    return r.joined(_ResetDone(), info, _Reset(reset_seq=reset_seq))
