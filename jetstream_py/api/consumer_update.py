"""What may change in a consumer that exists."""

from __future__ import annotations

from jetstream_py.api.consumer_config import with_threshold
from jetstream_py.api.consumer_types import ConsumerConfig
from jetstream_py.api.errors import ApiError, E, error


def check_update(old: ConsumerConfig, new: ConsumerConfig, bound: bool) -> ConsumerConfig:
    """The configuration of a consumer that lived by `old`; `new` is a checked one.

    `bound` says whether somebody listens where the consumer delivers now.
    """
    _check_changes(old, new, bound)
    return with_threshold(new, durable=bool(old.durable_name))


def _check_changes(old: ConsumerConfig, new: ConsumerConfig, bound: bool) -> None:
    """Refuse what cannot change. The order decides which of several faults is named."""
    moved = old.deliver_subject != new.deliver_subject
    for forbidden, fault in (
        (old.deliver_policy != new.deliver_policy, _refusal("deliver policy")),
        (old.mem_storage != new.mem_storage, _refusal("storage type")),
        (old.direct != new.direct, _refusal("direct")),
        (old.sourcing != new.sourcing, _refusal("sourcing")),
        (old.opt_start_seq != new.opt_start_seq, _refusal("start sequence")),
        (old.start_ns != new.start_ns, _refusal("start time")),
        (old.ack_policy != new.ack_policy, _refusal("ack policy")),
        (old.replay_policy != new.replay_policy, _refusal("replay policy")),
        (old.idle_heartbeat != new.idle_heartbeat, _refusal("heart beats")),
        (old.flow_control != new.flow_control, _refusal("flow control")),
        (moved and not old.deliver_subject, _kind("pull", "push")),
        (moved and not new.deliver_subject, _kind("push", "pull")),
        (moved and bound, error(E.CONSUMER_NAME_EXIST)),
        (old.max_waiting != new.max_waiting, _refusal("max waiting")),
    ):
        if forbidden:
            raise fault


def _refusal(field: str) -> ApiError:
    return error(E.CONSUMER_CREATE, err=f"{field} can not be updated")


def _kind(old: str, new: str) -> ApiError:
    return error(E.CONSUMER_CREATE, err=f"can not update {old} consumer to {new} based")
