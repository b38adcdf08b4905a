"""Consumer configurations: for each field the values that matter, and combinations with a rule."""

from __future__ import annotations

from typing import Final

from tests.api.cases_create import MS, Config, S

# The streams that consumers are tried on; each differs in what it demands of them.
STREAMS: Final[dict[str, Config]] = {
    "LIMITS": {"subjects": ["limits.>"]},
    "WORK": {"subjects": ["work.>"], "retention": "workqueue"},
    "INTEREST": {"subjects": ["interest.>"], "retention": "interest", "storage": "memory"},
    "BOUND": {
        "subjects": ["bound"],
        "consumer_limits": {"inactive_threshold": 10 * S, "max_ack_pending": 50},
    },
    "PENDING": {"subjects": ["pending"], "consumer_limits": {"max_ack_pending": 2000}},
}

VALUES: Final[dict[str, tuple[object, ...]]] = {
    "durable_name": ("@",),
    "description": ("text", "x" * 4096, "x" * 4097, "é" * 2049),
    "deliver_policy": (
        "all",
        "undefined",
        "last",
        "new",
        "by_start_sequence",
        "by_start_time",
        "last_per_subject",
    ),
    "opt_start_seq": (0, 1, 5, -1),
    "opt_start_time": (
        None,
        "2024-01-01T00:00:00Z",
        "2024-01-01T00:00:00.5+02:00",
        "0001-01-01T00:00:00Z",
    ),
    "ack_policy": ("none", "all", "explicit", "flow_control"),
    "ack_wait": (0, -1, 1, S),
    "max_deliver": (0, -1, -2, 1, 2, 5),
    "backoff": ([], [S], [S, 2 * S], [S, S, S], [-1], [S, -1], [0, 0], None),
    "filter_subject": ("", "a", "a.>", "*", "a..b", "a b", ">", "limits.x"),
    "filter_subjects": (
        [],
        ["a"],
        ["a", "b"],
        ["a", "a"],
        ["a.>", "a.b"],
        ["a.b", "a.>"],
        ["a.>", "*.b"],
        ["a.*", "*.b"],
        ["a.b", "a.*", "c..d"],
        ["*", "a"],
        ["a.>", "a"],
        ["a.>", "a.*.>"],
        ["*.*", "*.>"],
        [""],
        ["a", ""],
        ["a..b"],
        ["a..b", "a..b"],
        [">"],
        None,
    ),
    "replay_policy": ("instant", "original"),
    "rate_limit_bps": (0, 1, 1000),
    "sample_freq": (
        "",
        "0",
        "50",
        "50%",
        "101%",
        "-1",
        "x",
        "%",
        "5%%",
        "+5",
        "99999999999999999999",
    ),
    "max_waiting": (0, 1, -1, 512),
    "max_ack_pending": (0, 1, -1, -2, 50, 51, 5000),
    "flow_control": (False, True),
    "headers_only": (False, True),
    "max_batch": (0, 1, -1),
    "max_expires": (0, 1, MS, -1),
    "max_bytes": (0, 1, -1),
    "deliver_subject": (
        "",
        "d",
        "d.x",
        "d.*",
        ">",
        "d..x",
        "limits.x",
        "work.d",
        "d x",
        "bound",
        "d.>.x",
    ),
    "deliver_group": ("", "g", "g h", "g.*"),
    "idle_heartbeat": (0, 1, 100 * MS, S, 2 * S, -1),
    "inactive_threshold": (0, 6 * S, 9 * S, 10 * S, 11 * S, -1),
    "num_replicas": (0, 1, 2, 3, -1),
    "mem_storage": (False, True),
    "direct": (False, True),
    "sourcing": (False, True),
    "metadata": (
        {},
        {"a": "b"},
        {"_nats.ver": "x", "_nats.level": "9", "_nats.req.level": "9"},
        {"k": "x" * (128 * 1024)},
        {"k": "x" * (128 * 1024 - 18)},
        {"k": "x" * (128 * 1024 - 17)},
        {"k": "x" * (128 * 1024 - 16)},
        None,
    ),
    "pause_until": (
        None,
        "2034-01-01T00:00:00Z",
        "2034-01-01T00:00:00+02:00",
        "2014-01-01T00:00:00Z",
        "0001-01-01T00:00:00Z",
    ),
    "priority_groups": (
        [],
        ["g"],
        ["g", "h"],
        ["g", "g"],
        [""],
        ["a b"],
        ["x" * 16],
        ["x" * 17],
        ["a/_=-Z9"],
        ["a)"],
        ["a+"],
        ["g\n"],
    ),
    "priority_policy": ("none", "overflow", "pinned_client", "prioritized"),
    "priority_timeout": (0, 1, S, -1),
}

SINGLE: Final[tuple[Config, ...]] = (
    {},
    *({field: value} for field, values in VALUES.items() for value in values),
)

_PUSH: Final = {"deliver_subject": "d"}
_FLOW: Final = {"deliver_subject": "d", "ack_policy": "flow_control"}

TOGETHER: Final[tuple[Config, ...]] = (
    *({**_PUSH, field: value} for field, values in VALUES.items() for value in values),
    *({**_FLOW, field: value} for field, values in VALUES.items() for value in values),
    *(
        {"ack_policy": "explicit", field: value}
        for field, values in VALUES.items()
        for value in values
    ),
    *(
        {"priority_policy": policy, "priority_groups": groups, "priority_timeout": timeout}
        for policy in VALUES["priority_policy"]
        for groups in VALUES["priority_groups"]
        for timeout in (0, S)
    ),
    *(
        {
            "deliver_policy": policy,
            "opt_start_seq": seq,
            "opt_start_time": time,
            "filter_subject": f,
        }
        for policy in VALUES["deliver_policy"]
        for seq in (0, 1)
        for time in VALUES["opt_start_time"]
        for f in ("", "a")
    ),
    {**_FLOW, "flow_control": True, "idle_heartbeat": S},
    {**_PUSH, "flow_control": True, "idle_heartbeat": S},
    {**_PUSH, "flow_control": True, "idle_heartbeat": S, "ack_policy": "explicit"},
    {"durable_name": "@", "deliver_subject": "d", "direct": True},
)
