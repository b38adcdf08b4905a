"""What a stream may be, and what it may become.

`check_create` and `check_update` take a configuration as a client sent it and give back the one that
the stream lives by: defaults filled in, limits without meaning made -1, flags that follow from others
set. What cannot be is refused with the error that clients know. In pedantic mode nothing is corrected
in silence.

The rules are steps, in the order that decides which of several faults is named. Steps that look at
other streams get them from `Rules.lookup`. Whether subjects overlap with those of other streams, whether
the name is taken and whether there is room are questions for the engine.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from jetstream_py.api import extensions
from jetstream_py.api import source_config as source
from jetstream_py.api import stream_steps as steps
from jetstream_py.api import stream_subjects as subjects
from jetstream_py.api.errors import E, error, invalid_config
from jetstream_py.api.stream_rules import NO_LIMITS, Lookup, Rules, Step
from jetstream_py.api.stream_update import check_changes, seal
from jetstream_py.api.types import StreamConfig
from jetstream_py.version import API_LEVEL, NATS_VERSION

__all__ = ["Lookup", "Rules", "check_config", "check_create", "check_update", "with_versions"]

VERSION_KEY: Final = "_nats.ver"
LEVEL_KEY: Final = "_nats.level"
REQUIRED_KEY: Final = "_nats.req.level"
_TOLD: Final = (VERSION_KEY, LEVEL_KEY, extensions.HEAD)  # in answers, and not kept


def check_create(
    config: StreamConfig, rules: Rules = NO_LIMITS, pedantic: bool = False
) -> StreamConfig:
    """The configuration of a new stream. The caller has compared the name with the subject's."""
    if "/" in config.name or "\\" in config.name:
        raise error(E.STREAM_NAME_CONTAINS_PATH_SEPARATORS)
    if config.sealed:
        raise invalid_config("stream configuration for create can not be sealed")
    if config.mirror_direct and config.mirror is None:
        raise invalid_config("stream has no mirror but does have mirror direct")
    steps.check_account(config, rules)
    draft = check_config(config, rules, pedantic)
    steps.check_single(draft)
    source.check_filters(draft)
    steps.settle_placement(draft)
    return draft


def check_update(
    old: StreamConfig, new: StreamConfig, rules: Rules = NO_LIMITS, pedantic: bool = False
) -> StreamConfig:
    """The configuration of a stream that lived by `old`.

    The order of an update is: `check_config`, the name against the subject's, does the stream exist,
    `check_update`.
    """
    # Twice, as flags that the first pass has set count in the second.
    draft = check_config(check_config(new, rules, pedantic), rules, pedantic)
    steps.check_single(draft)
    check_changes(old, draft)
    steps.check_max_consumers(draft, rules.account)
    if draft.sealed:
        seal(draft)
    subjects.settle_republish(draft)
    steps.settle_placement(draft)
    return draft


def check_config(
    config: StreamConfig, rules: Rules = NO_LIMITS, pedantic: bool = False
) -> StreamConfig:
    """What a new configuration and a changed one have in common."""
    draft = StreamConfig(**{name: getattr(config, name) for name in StreamConfig.__struct_fields__})
    step = Step(rules, pedantic)
    draft.metadata = stored_metadata(draft)
    for check in _STEPS:
        check(draft, step)
    return draft


_STEPS: Final[tuple[Callable[[StreamConfig, Step], None], ...]] = (
    steps.check_name,
    steps.check_description,
    steps.check_metadata,
    steps.check_replicas,
    steps.check_limits,
    steps.check_max_age,
    steps.check_duplicate_window,
    steps.check_rollup,
    steps.check_counter,
    steps.check_discard,
    steps.check_marker_ttl,
    steps.check_schedules,
    steps.check_persist_mode,
    source.check_mirror,
    source.check_sources,
    source.check_cycles,
    subjects.check_subjects,
    subjects.check_subject_transform,
    subjects.check_republish,
    steps.check_placement,
    steps.check_max_bytes,
    extensions.check_stream,
)


# -- metadata --------------------------------------------------------------------------------------


_LEVELS: Final[tuple[tuple[int, Callable[[StreamConfig], bool]], ...]] = (
    (1, lambda config: config.allow_msg_ttl or config.subject_delete_marker_ttl > 0),
    (2, lambda config: config.allow_msg_counter),
    (2, lambda config: config.allow_atomic),
    (2, lambda config: config.allow_msg_schedules),
    (2, lambda config: config.persist_mode == "async"),
    (4, lambda config: config.allow_batched),
)


def required_level(config: StreamConfig) -> int:
    """The API level that a server needs to run the stream."""
    return max((level for level, needed in _LEVELS if needed(config)), default=0)


def stored_metadata(config: StreamConfig) -> dict[str, str]:
    """The client's metadata and the level that the stream needs."""
    kept = {k: v for k, v in config.metadata.items() if k not in _TOLD}
    return kept | {REQUIRED_KEY: str(required_level(config))}


def with_versions(metadata: dict[str, str]) -> dict[str, str]:
    """Metadata as most answers show it: with the server's version and level."""
    return metadata | {VERSION_KEY: NATS_VERSION, LEVEL_KEY: str(API_LEVEL)}
