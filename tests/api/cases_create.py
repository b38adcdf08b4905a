"""Stream configurations: for each field the values that matter, and combinations that cannot be."""

from __future__ import annotations

from typing import Any, Final

Config = dict[str, Any]

MS: Final = 1_000_000
S: Final = 1_000_000_000

# A stream that is there before the others, for mirrors and sources of it.
ORIGIN: Final[Config] = {
    "name": "ORIGIN",
    "subjects": ["origin.>"],
    "allow_direct": True,
    "max_msg_size": 500,
}
SELF: Final = "@"  # stands for the stream's own name

_EXTERNAL: Final = {"api": "q", "deliver": "d"}
_CONSUMER: Final = {"name": "c", "deliver_subject": "d"}


def transforms(*pairs: tuple[str, str]) -> list[dict[str, str]]:
    return [{"src": source, "dest": destination} for source, destination in pairs]


# One of these is a mirror's or a source's object.
ORIGINS: Final[tuple[Config, ...]] = (
    {"name": "NOPE"},
    {"name": "ORIGIN"},
    {"name": SELF},
    {"name": SELF, "filter_subject": "x"},
    {"name": ""},
    {"name": "a.b"},
    {"name": "a b"},
    {"name": "a/b"},
    {"name": "NOPE", "opt_start_seq": 5, "opt_start_time": "2024-01-01T00:00:00Z"},
    {"name": "NOPE", "filter_subject": "x", "subject_transforms": transforms(("a", "b"))},
    {"name": "NOPE", "filter_subject": "a..b"},
    {"name": "NOPE", "filter_subject": ">"},
    {"name": "NOPE", "subject_transforms": []},
    {"name": "NOPE", "subject_transforms": transforms(("a..b", ""))},
    {"name": "NOPE", "subject_transforms": transforms(("a", "b.$1"))},
    {"name": "NOPE", "subject_transforms": transforms(("", ""), ("a", ""))},
    {"name": "NOPE", "subject_transforms": transforms(("a.*", ""), ("a.b", ""))},
    {"name": "NOPE", "subject_transforms": transforms(("a", ""), ("a", "b..c"))},
    {"name": "NOPE", "external": {"api": "$JS.API", "deliver": "x"}},
    {"name": "NOPE", "external": {"api": "$JS.API.x", "deliver": ""}},
    {"name": "NOPE", "external": {"api": "$JS.>", "deliver": ""}},
    {"name": "NOPE", "external": {"api": "q", "deliver": "x.*"}},
    {"name": "NOPE", "external": {"api": "q..x", "deliver": "a..b"}},
    {"name": "NOPE", "external": {"api": "", "deliver": ""}},
    {"name": "a.b", "external": _EXTERNAL},
    {"name": "", "external": _EXTERNAL},
    {"name": "NOPE", "consumer": _CONSUMER},
    {"name": "NOPE", "consumer": {}},
    {"name": "NOPE", "consumer": {"name": "c.x", "deliver_subject": "d"}},
    {"name": "NOPE", "consumer": {"name": "c", "deliver_subject": "d.*"}},
    {"name": "NOPE", "consumer": _CONSUMER, "opt_start_seq": 5},
    {"name": "NOPE", "consumer": _CONSUMER, "filter_subject": "x"},
    {"name": "NOPE", "consumer": _CONSUMER, "subject_transforms": transforms(("a", "b"))},
)

TWO_SOURCES: Final[tuple[list[Config], ...]] = (
    [{"name": "N"}, {"name": "N"}],
    [{"name": "N"}, {"name": "N", "filter_subject": "x"}],
    [{"name": "N"}, {"name": "N", "filter_subject": ">"}],
    [{"name": "N"}, {"name": "N", "opt_start_seq": 5}],
    [{"name": "N"}, {"name": "N", "external": _EXTERNAL}],
    [
        {"name": "N", "external": _EXTERNAL},
        {"name": "N", "external": {**_EXTERNAL, "deliver": "e"}},
    ],
    [{"name": "N", "external": _EXTERNAL}, {"name": "N", "external": {**_EXTERNAL, "api": "r"}}],
    [{"name": "N", "consumer": _CONSUMER}, {"name": "N", "consumer": {**_CONSUMER, "name": "e"}}],
    [{"name": "N", "consumer": _CONSUMER}, {"name": "M", "consumer": _CONSUMER}],
    [{"name": "N", "consumer": _CONSUMER}, {"name": "N"}],
    [
        {"name": "N", "consumer": _CONSUMER},
        {"name": "N", "consumer": _CONSUMER, "subject_transforms": transforms(("a", ""))},
    ],
)

VALUES: Final[dict[str, tuple[Any, ...]]] = {
    "description": ("x", "d" * 4096, "d" * 4097, "é<>&\u2028"),
    "subjects": (
        [],
        ["a"],
        ["a", "b.*"],
        ["a.>", "a.b"],
        ["a.b", "a.>"],
        ["a", "a"],
        ["a", "b.>", "b.x", "a"],
        ["a..b"],
        ["x y"],
        [""],
        ["a.>.b"],
        [">"],
        ["*"],
        ["*.x"],
        ["*.>"],
        ["$JS.API.>"],
        ["$JS.ACK.>"],
        ["$JS.EVENT.>"],
        ["$JS.EVENT.*"],
        ["$JS.*.x"],
        ["$JS"],
        ["$JSC.x"],
        ["$NRG.x"],
        ["$SYS.>"],
        ["$SYS.ACCOUNT.>"],
        ["$SYS.*.x"],
        ["$KV.>"],
        ["b", "$JS.>", "b"],
        ["x", ">", "x"],
        [">", "a..b"],
    ),
    "retention": ("limits", "interest", "workqueue"),
    "max_consumers": (0, -1, -5, 5),
    "max_msgs": (0, -1, -5, 5),
    "max_bytes": (0, -5, 1000),
    "max_msgs_per_subject": (-5, 1, 5),
    "max_msg_size": (-5, 0, 100, 500),
    "max_age": (-1, 1, 100 * MS - 1, 100 * MS, S, 300 * S),
    "discard": ("new", "old"),
    "discard_new_per_subject": (True,),
    "storage": ("memory", "file"),
    "num_replicas": (-1, 0, 1, 2, 5, 6),
    "no_ack": (True,),
    "duplicate_window": (-1, 1, 100 * MS - 1, 100 * MS, S, 200 * S),
    "placement": ({}, {"cluster": "x"}, {"tags": ["a"]}, {"tags": []}, {"preferred": "x"}),
    "compression": ("s2", "none"),
    "first_seq": (5,),
    "subject_transform": (
        *transforms(("a", "b"), ("a..b", "c"), ("a", "b.$1"), ("a.*", "b.*"), ("a.>", "q.>")),
        *transforms(("", ""), ("", "b"), ("a", ""), ("a.*", "b.{{wildcard(2)}}")),
    ),
    "republish": (
        {},
        {"src": "a", "dest": "q", "headers_only": True},
        {"dest": "q.>"},
        {"dest": "q"},
        {"src": ">", "dest": ">"},
        {"src": "a.*", "dest": "q.$2"},
        {"src": "x y", "dest": "z z"},
        {"src": "a..b", "dest": "q"},
    ),
    "allow_direct": (True,),
    "mirror_direct": (True,),
    "sealed": (True,),
    "deny_delete": (True,),
    "deny_purge": (True,),
    "allow_rollup_hdrs": (True,),
    "consumer_limits": ({}, {"max_ack_pending": 5}, {"inactive_threshold": -5}),
    "allow_msg_ttl": (True,),
    "subject_delete_marker_ttl": (-1, 1, S - 1, S, 2 * S),
    "allow_msg_counter": (True,),
    "allow_atomic": (True,),
    "allow_msg_schedules": (True,),
    "persist_mode": ("async", "default"),
    "allow_batched": (True,),
    "metadata": (
        {"b": "1", "a": "2"},
        {"_nats.ver": "x", "_nats.level": "7", "_nats.req.level": "9", "_nats.foo": "z"},
        {"k": "v" * (128 * 1024 - 2)},
        {"k": "v" * (128 * 1024)},
    ),
    "mirror": ORIGINS,
    "sources": ([], *([each] for each in ORIGINS), *TWO_SOURCES),
    "pedantic": (True,),
}

_NOPE: Final[Config] = {"name": "NOPE"}

# Combinations that have a rule of their own.
TOGETHER: Final[tuple[Config, ...]] = (
    {"subjects": [">"], "no_ack": True},
    {"subjects": ["a.b", ">"], "no_ack": True},
    {"discard": "new", "discard_new_per_subject": True},
    {"discard": "new", "discard_new_per_subject": True, "max_msgs_per_subject": 1},
    {"max_age": S, "duplicate_window": 2 * S},
    {"max_age": S, "duplicate_window": S},
    {"deny_purge": True, "allow_rollup_hdrs": True},
    {"subject_delete_marker_ttl": S, "deny_purge": True},
    {"subject_delete_marker_ttl": S, "deny_purge": True, "allow_rollup_hdrs": True},
    {"allow_msg_schedules": True, "deny_purge": True},
    {"allow_msg_schedules": True, "discard": "new"},
    {"allow_msg_counter": True, "discard": "new"},
    {"allow_msg_counter": True, "allow_msg_ttl": True},
    {"allow_msg_counter": True, "subject_delete_marker_ttl": S},
    {"allow_msg_counter": True, "allow_msg_schedules": True},
    {"allow_msg_counter": True, "retention": "interest"},
    {"persist_mode": "async", "storage": "memory"},
    {"persist_mode": "async", "allow_atomic": True},
    {"persist_mode": "async", "num_replicas": 3},
    {"mirror": _NOPE, "subjects": ["a"]},
    {"mirror": _NOPE, "sources": [_NOPE]},
    {"mirror": _NOPE, "first_seq": 5},
    {"mirror": _NOPE, "allow_msg_counter": True},
    {"mirror": _NOPE, "allow_atomic": True},
    {"mirror": _NOPE, "allow_batched": True},
    {"mirror": _NOPE, "allow_msg_schedules": True},
    {"mirror": _NOPE, "subject_delete_marker_ttl": S},
    {"mirror": _NOPE, "mirror_direct": True},
    {"mirror": _NOPE, "duplicate_window": S},
    {"mirror": {"name": "ORIGIN"}, "max_msg_size": 10},
    {"mirror": {"name": "ORIGIN"}, "max_msg_size": 500},
    {"mirror": {"name": "ORIGIN"}, "pedantic": True},
    {"mirror": {"name": "ORIGIN"}, "pedantic": True, "mirror_direct": True},
    {"sources": [_NOPE], "subjects": ["a"]},
    {"sources": [_NOPE], "allow_msg_schedules": True},
    {"sources": [{"name": "ORIGIN"}], "max_msg_size": 10},
    {"sources": [{"name": SELF, "filter_subject": "a.x"}], "subjects": ["a.>"]},
    {"sources": [{"name": SELF, "filter_subject": "b.x"}], "subjects": ["a.>"]},
    {"pedantic": True, "max_msgs": -5},
    {"pedantic": True, "max_msgs_per_subject": -5},
    {"pedantic": True, "max_bytes": -5},
    {"pedantic": True, "max_msg_size": -5},
    {"pedantic": True, "max_consumers": -5},
    {"pedantic": True, "max_age": S},
    {"pedantic": True, "subject_delete_marker_ttl": S},
    {"pedantic": True, "subject_delete_marker_ttl": S, "allow_msg_ttl": True},
    {"pedantic": True, "allow_msg_schedules": True},
    {"pedantic": True, "republish": {"dest": "q.>"}},
    *(
        {
            "subjects": subjects,
            "subject_transform": {"src": "a.>", "dest": "b.>"},
            "republish": {"src": ">", "dest": ">"},
            "pedantic": pedantic,
        }
        for subjects in (["a.>"], ["a.>", "c"])
        for pedantic in (False, True)
    ),
)

SINGLE: Final = tuple({field: value} for field, values in VALUES.items() for value in values)
