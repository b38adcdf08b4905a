"""What a consumer gets that its configuration does not say.

Each step takes the draft of a configuration and fills it in. Numbers without meaning become the
default; in pedantic mode that is refused.
"""

from __future__ import annotations

from typing import Final

from jetstream_py.api import consumer_rules as rule
from jetstream_py.api.consumer_rules import ConsumerStep
from jetstream_py.api.consumer_types import ConsumerConfig

# Below these a number means as much as they do.
_LEAST: Final = {
    "max_deliver": -1,
    "max_waiting": 0,
    "max_ack_pending": -1,
    "max_batch": 0,
    "max_expires": 0,
    "max_bytes": 0,
    "idle_heartbeat": 0,
    "inactive_threshold": 0,
    "priority_timeout": 0,
}


def acknowledged(draft: ConsumerConfig) -> bool:
    """Does somebody wait for each message's ack?"""
    return draft.ack_policy in ("explicit", "all")


def settle_numbers(draft: ConsumerConfig, step: ConsumerStep) -> None:
    for name, least in _LEAST.items():
        if getattr(draft, name) < least:
            step.correct(f"{name} must " + ("be set to -1" if least else "not be negative"))
            setattr(draft, name, least)
    draft.max_deliver = draft.max_deliver or -1


def settle_waiting(draft: ConsumerConfig, step: ConsumerStep) -> None:
    if not draft.deliver_subject and draft.max_waiting == 0:
        draft.max_waiting = rule.MAX_WAITING


def settle_flow_control(draft: ConsumerConfig, step: ConsumerStep) -> None:
    """The ack policy of that name cannot do without; who is not pedantic gets it."""
    if draft.ack_policy != "flow_control" or step.pedantic:
        return
    draft.flow_control = True
    draft.idle_heartbeat = rule.FLOW_HEARTBEAT


def settle_ack_wait(draft: ConsumerConfig, step: ConsumerStep) -> None:
    if draft.ack_wait == 0 and acknowledged(draft):
        draft.ack_wait = rule.ACK_WAIT
    if draft.backoff and draft.ack_wait != draft.backoff[0]:
        step.correct("first backoff value has to equal batch AckWait")
        draft.ack_wait = draft.backoff[0]


def settle_stream_limits(draft: ConsumerConfig, step: ConsumerStep) -> None:
    limits = step.stream.consumer_limits
    for name in ("max_ack_pending", "inactive_threshold"):
        limit = getattr(limits, name)
        if limit and getattr(draft, name) == 0:
            step.correct(f"{name} must be set if it's configured in stream limits")
            setattr(draft, name, limit)


def settle_ack_pending(draft: ConsumerConfig, step: ConsumerStep) -> None:
    if draft.max_ack_pending != 0 or draft.ack_policy == "none":
        return
    limits = (step.rules.max_ack_pending, step.rules.account.max_ack_pending)
    draft.max_ack_pending = min((rule.MAX_ACK_PENDING, *(each for each in limits if each > 0)))


def settle_batch(draft: ConsumerConfig, step: ConsumerStep) -> None:
    most = step.rules.max_batch
    if most > 0 and not draft.deliver_subject and draft.max_batch == 0:
        step.correct("max_request_batch must be set if it's JetStream limits are set")
        draft.max_batch = most


def settle_priority(draft: ConsumerConfig, step: ConsumerStep) -> None:
    if draft.priority_policy == "pinned_client" and draft.priority_timeout == 0:
        draft.priority_timeout = rule.PRIORITY_TIMEOUT


def settle_sourcing(draft: ConsumerConfig, step: ConsumerStep) -> None:
    """What a mirror or source asks of a stream whose messages go when they are acknowledged.

    A consumer that nobody sees would lose them; this one is seen, lasts, and acknowledges in bulk.
    """
    if draft.direct and draft.sourcing and step.stream.retention != "limits":
        draft.direct = False
        draft.durable_name = draft.name
        draft.ack_policy = "flow_control"
        draft.ack_wait = draft.inactive_threshold = 0


def settle_name(draft: ConsumerConfig, step: ConsumerStep) -> None:
    """What has a durable name is called by it."""
    draft.name = draft.durable_name or draft.name
