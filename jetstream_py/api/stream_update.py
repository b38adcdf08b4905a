"""What may change in a stream that exists."""

from __future__ import annotations

from typing import Final

from jetstream_py.api.errors import ApiError, E, error, invalid_config
from jetstream_py.api.extensions import TEMPLATE_NAME, TEMPLATE_OF, is_immutable
from jetstream_py.api.types import StreamConfig

_UPDATE: Final = "stream configuration update can not "


def check_changes(old: StreamConfig, new: StreamConfig) -> None:
    """Refuse what cannot change. The order decides which of several faults is named."""
    for forbidden, fault in (
        (old.storage != new.storage, _refusal("change storage type")),
        (
            old.retention != new.retention and "workqueue" in (old.retention, new.retention),
            _refusal("change retention policy to/from workqueue"),
        ),
        (old.sealed and not new.sealed, _refusal("unseal a sealed stream")),
        (old.deny_delete and not new.deny_delete, _refusal("cancel deny message deletes")),
        (old.deny_purge and not new.deny_purge, _refusal("cancel deny purge")),
        (
            new.mirror is not None and new.mirror != old.mirror,
            error(E.STREAM_MIRROR_NOT_UPDATABLE),
        ),
        (
            old.allow_msg_ttl and not new.allow_msg_ttl,
            invalid_config("message TTL status can not be disabled"),
        ),
        (
            old.allow_msg_counter != new.allow_msg_counter,
            _refusal("change message counter setting"),
        ),
        (
            old.allow_msg_schedules and not new.allow_msg_schedules,
            invalid_config("message schedules can not be disabled"),
        ),
        (old.persist_mode != new.persist_mode, _refusal("change persist mode")),
        (
            is_immutable(old.metadata) != is_immutable(new.metadata),
            _refusal("change whether the stream is immutable"),
        ),
        (_moves_template(old, new), _refusal("change subjects or name of a template's streams")),
    ):
        if forbidden:
            raise fault


def _moves_template(old: StreamConfig, new: StreamConfig) -> bool:
    """A template and its streams belong together by their subjects and names."""
    pairs = [(old.metadata.get(key), new.metadata.get(key)) for key in (TEMPLATE_NAME, TEMPLATE_OF)]
    moved = old.subjects != new.subjects and pairs != [(None, None)] * 2
    return moved or any(was != will for was, will in pairs)


def seal(config: StreamConfig) -> None:
    """What a sealed stream is beside sealed: nothing comes in, nothing goes."""
    config.max_age = 0
    config.discard = "new"
    config.deny_delete = config.deny_purge = True
    config.allow_rollup_hdrs = False


def _refusal(text: str) -> ApiError:
    return invalid_config(_UPDATE + text)
