"""The rules for one field of a consumer, or for a few that must fit together.

Each step takes the draft of a configuration and refuses it or lets it be.
"""

from __future__ import annotations

from typing import Final

from jetstream_py.api import consumer_rules as rule
from jetstream_py.api.consumer_filters import FilterTree
from jetstream_py.api.consumer_rules import ConsumerStep
from jetstream_py.api.consumer_types import ConsumerConfig
from jetstream_py.api.errors import E, error, invalid_config
from jetstream_py.gotext import atoi, duration
from jetstream_py.subject import is_literal, is_valid, matches


def check_name(draft: ConsumerConfig, step: ConsumerStep) -> None:
    if any(char in (draft.durable_name or draft.name) for char in " \t\r\n\f.*>"):
        raise invalid_config(r"consumer name can not contain '.', '*', '>', '\', '/'")


def check_replicas(draft: ConsumerConfig, step: ConsumerStep) -> None:
    stream = step.stream
    if draft.num_replicas > stream.num_replicas:
        raise error(E.CONSUMER_REPLICAS_EXCEEDS_STREAM)
    if draft.num_replicas < 0:
        raise error(E.REPLICAS_COUNT_CANNOT_BE_NEGATIVE)


def check_backoff(draft: ConsumerConfig, step: ConsumerStep) -> None:
    if any(each < 0 for each in draft.backoff):
        raise error(E.CONSUMER_BACKOFF_NEGATIVE)
    if draft.max_deliver != -1 and len(draft.backoff) > draft.max_deliver:
        raise error(E.CONSUMER_MAX_DELIVER_BACKOFF)


def check_ack_wait(draft: ConsumerConfig, step: ConsumerStep) -> None:
    if draft.ack_wait < 0:
        raise error(E.CONSUMER_ACK_WAIT_NEGATIVE)


def check_description(draft: ConsumerConfig, step: ConsumerStep) -> None:
    if len(draft.description.encode()) > rule.MAX_DESCRIPTION:
        raise error(E.CONSUMER_DESCRIPTION_TOO_LONG, max=rule.MAX_DESCRIPTION)


def check_delivery(draft: ConsumerConfig, step: ConsumerStep) -> None:
    if draft.deliver_subject:
        _check_push(draft, step)
    else:
        _check_pull(draft, step)


def _check_push(draft: ConsumerConfig, step: ConsumerStep) -> None:
    subject = draft.deliver_subject.encode()
    if not is_literal(subject):
        raise error(E.CONSUMER_DELIVER_TO_WILDCARDS)
    if not is_valid(subject):
        raise error(E.CONSUMER_INVALID_DELIVER_SUBJECT)
    if any(matches(subject, own.encode()) for own in step.stream.subjects):
        raise error(E.CONSUMER_DELIVER_CYCLE)
    if draft.max_waiting:
        raise error(E.CONSUMER_PUSH_MAX_WAITING)
    if draft.max_ack_pending > 0 and draft.ack_policy == "none":
        raise error(E.CONSUMER_MAX_PENDING_ACK_POLICY_REQUIRED)
    if 0 < draft.idle_heartbeat < rule.HEARTBEAT:
        raise error(E.CONSUMER_SMALL_HEARTBEAT)


def _check_pull(draft: ConsumerConfig, step: ConsumerStep) -> None:
    if draft.ack_policy == "none" and step.stream.retention == "workqueue":
        raise error(E.CONSUMER_PULL_REQUIRES_ACK)
    if draft.rate_limit_bps:
        raise error(E.CONSUMER_PULL_WITH_RATE_LIMIT)
    if draft.idle_heartbeat:
        raise error(E.CONSUMER_HB_REQUIRES_PUSH)
    if draft.flow_control:
        raise error(E.CONSUMER_FC_REQUIRES_PUSH)
    if 0 < draft.max_expires < rule.MILLISECOND:
        raise error(E.CONSUMER_MAX_REQUEST_EXPIRES_TOO_SMALL)
    if 0 < step.rules.max_batch < draft.max_batch:
        raise error(E.CONSUMER_MAX_REQUEST_BATCH_EXCEEDED, limit=step.rules.max_batch)


def check_flow_control_acks(draft: ConsumerConfig, step: ConsumerStep) -> None:
    if draft.ack_policy != "flow_control":
        return
    for clash, which in (
        (not draft.deliver_subject, E.CONSUMER_ACK_FC_REQUIRES_PUSH),
        (not draft.flow_control, E.CONSUMER_ACK_FC_REQUIRES_FC),
    ):
        if clash:
            raise error(which)
    if draft.idle_heartbeat != rule.FLOW_HEARTBEAT:
        raise invalid_config("flow control ack policy heartbeat needs to be 1s")
    for clash, which in (
        (draft.max_ack_pending <= 0, E.CONSUMER_ACK_FC_REQUIRES_MAX_ACK_PENDING),
        (draft.ack_wait != 0 or draft.backoff != (), E.CONSUMER_ACK_FC_REQUIRES_NO_ACK_WAIT),
        (draft.max_deliver > 0, E.CONSUMER_ACK_FC_REQUIRES_NO_MAX_DELIVER),
    ):
        if clash:
            raise error(which)


def check_limits(draft: ConsumerConfig, step: ConsumerStep) -> None:
    limits = step.stream.consumer_limits
    for most in (
        step.rules.max_ack_pending,
        step.rules.account.max_ack_pending,
        limits.max_ack_pending,
    ):
        if 0 < most < draft.max_ack_pending:
            raise error(E.CONSUMER_MAX_PENDING_ACK_EXCESS, limit=most)
    if 0 < limits.inactive_threshold < draft.inactive_threshold:
        raise error(E.CONSUMER_INACTIVE_THRESHOLD_EXCESS, limit=duration(limits.inactive_threshold))


def check_direct(draft: ConsumerConfig, step: ConsumerStep) -> None:
    if not draft.direct:
        return
    if not draft.deliver_subject:
        raise error(E.CONSUMER_DIRECT_REQUIRES_PUSH)
    if draft.durable_name:
        raise error(E.CONSUMER_DIRECT_REQUIRES_EPHEMERAL)


def check_filters(draft: ConsumerConfig, step: ConsumerStep) -> None:
    if draft.filter_subject and draft.filter_subjects:
        raise error(E.CONSUMER_DUPLICATE_FILTER_SUBJECTS)
    filters = draft.filters
    if "" in filters:
        raise error(E.CONSUMER_EMPTY_FILTER)
    tree = FilterTree.of(filters)
    for subject in filters:
        if not is_valid(subject.encode()):
            raise invalid_config("invalid subject")
        if tree.covers_twice(subject):
            raise error(E.CONSUMER_OVERLAPPING_SUBJECT_FILTERS)


# Of each deliver policy: how texts call it, whether it starts at a sequence, at a time.
_STARTS: Final = {
    "all": ("all", False, False),
    "last": ("last", False, False),
    "new": ("new", False, False),
    "last_per_subject": ("last per subject", False, False),
    "by_start_sequence": ("by start sequence", True, False),
    "by_start_time": ("by start time", False, True),
}


def check_start(draft: ConsumerConfig, step: ConsumerStep) -> None:
    policy, by_sequence, by_time = _STARTS[draft.deliver_policy]
    sequence, time = draft.opt_start_seq > 0, draft.opt_start_time is not None
    for clash, text in (
        (by_sequence and not sequence, "start sequence is not set"),
        (by_time and not time, "start time is not set"),
        (sequence and by_time, "start start sequence is also set"),
        (sequence and not by_sequence, "start sequence is also set"),
        (time and not by_time, "start time is also set"),
        (policy == "last per subject" and not draft.filters, "filter subject is not set"),
    ):
        if clash:
            raise error(
                E.CONSUMER_INVALID_POLICY,
                err=f"consumer delivery policy is deliver {policy}, but optional {text}",
            )


def check_sampling(draft: ConsumerConfig, step: ConsumerStep) -> None:
    if not draft.sample_freq:
        return
    try:
        sampled = atoi(draft.sample_freq.removesuffix("%"))
    except ValueError as fault:
        raise error(E.CONSUMER_INVALID_SAMPLING, err=fault) from None
    if sampled < 0:
        raise error(E.CONSUMER_INVALID_SAMPLING, err="<nil>")


def check_heartbeat(draft: ConsumerConfig, step: ConsumerStep) -> None:
    if draft.flow_control and not draft.idle_heartbeat:
        raise error(E.CONSUMER_WITH_FLOW_CONTROL_NEEDS_HEARTBEATS)


def check_metadata(draft: ConsumerConfig, step: ConsumerStep) -> None:
    size = sum(len(key.encode()) + len(value.encode()) for key, value in draft.metadata.items())
    if size > rule.MAX_METADATA:
        raise error(E.CONSUMER_METADATA_LENGTH, limit=f"{rule.MAX_METADATA // 1024}KB")


def check_priority(draft: ConsumerConfig, step: ConsumerStep) -> None:
    if draft.priority_policy == "none":
        if draft.priority_groups:
            raise error(E.CONSUMER_PRIORITY_GROUP_WITH_POLICY_NONE)
        if draft.priority_timeout:
            raise error(E.CONSUMER_PINNED_TTL_WITHOUT_PRIORITY_POLICY_NONE)
        return
    if draft.deliver_subject:
        raise error(E.CONSUMER_PUSH_WITH_PRIORITY_GROUP)
    if not draft.priority_groups:
        raise error(E.CONSUMER_PRIORITY_POLICY_WITHOUT_GROUP)
    for group in draft.priority_groups:
        check_group(group)


def check_group(group: str) -> None:
    if not group:
        raise error(E.CONSUMER_EMPTY_GROUP_NAME)
    if not rule.GROUP_NAME.match(group):
        raise error(E.CONSUMER_INVALID_GROUP_NAME)
