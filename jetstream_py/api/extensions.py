"""What this server offers beyond nats-server, asked for by metadata so that any client can.

Every key begins with `jetstream-py.`; other servers keep such metadata and do nothing. A key under the
prefix that nobody knows, or a value that means nothing, is refused: whoever asks for something must not
believe that it is there when it is not. `docs/extensions.md` tells what each of them does.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, NamedTuple

from jetstream_py import limits
from jetstream_py.api.errors import ApiError, E, error, invalid_config
from jetstream_py.subject import is_literal, is_valid

if TYPE_CHECKING:
    from jetstream_py.api.consumer_rules import ConsumerStep
    from jetstream_py.api.consumer_types import ConsumerConfig
    from jetstream_py.api.stream_rules import Step
    from jetstream_py.api.types import StreamConfig

PREFIX: Final = "jetstream-py."
DEAD_LETTER_STREAM: Final = PREFIX + "dead-letter.stream"
DEAD_LETTER_SUBJECT: Final = PREFIX + "dead-letter.subject"
PURGE_BEFORE: Final = PREFIX + "before"  # a field of purge requests
IMMUTABLE: Final = PREFIX + "immutable"
HEAD: Final = IMMUTABLE + ".head"  # told, never asked for
TEMPLATE_NAME: Final = PREFIX + "template.name"
TEMPLATE_MAX: Final = PREFIX + "template.max-streams"
TEMPLATE_OF: Final = PREFIX + "template.of"  # told of streams that a template has made

_OF_STREAMS: Final = frozenset((IMMUTABLE, TEMPLATE_NAME, TEMPLATE_MAX, TEMPLATE_OF))
_PLACE: Final = re.compile(r"\{(\d{1,3})\}")
_OF_CONSUMERS: Final = frozenset((DEAD_LETTER_STREAM, DEAD_LETTER_SUBJECT))


class DeadLetterAddress(NamedTuple):
    """Where a consumer's dead letters go: one of the two."""

    stream: str
    subject: str


def dead_letter_address(metadata: Mapping[str, str]) -> DeadLetterAddress | None:
    """What a consumer's metadata says, if it says anything."""
    stream, subject = metadata.get(DEAD_LETTER_STREAM, ""), metadata.get(DEAD_LETTER_SUBJECT, "")
    return DeadLetterAddress(stream, subject) if stream or subject else None


def check_consumer(draft: ConsumerConfig, step: ConsumerStep) -> None:
    """What can be said without a look at other streams."""
    asked = _asked(draft.metadata)
    if not asked:
        return
    if unknown := asked - _OF_CONSUMERS:
        raise _refused(f"no extension for consumers is called '{min(unknown)}'")
    address = dead_letter_address(draft.metadata)
    if address is None:
        raise _refused(f"'{min(asked)}' needs a value")
    if address.stream and address.subject:
        raise _refused("dead letters go to a stream or to a subject, not to both")
    name = address.subject.encode()
    if name and not (is_valid(name) and is_literal(name)):
        raise _refused(f"'{DEAD_LETTER_SUBJECT}' must be a subject without wildcards")
    if draft.ack_policy not in ("explicit", "all"):
        raise _refused("dead letters need ack policy explicit or all")


# -- streams ---------------------------------------------------------------------------------------


def is_immutable(metadata: Mapping[str, str]) -> bool:
    return IMMUTABLE in metadata


def check_stream(draft: StreamConfig, step: Step) -> None:
    """The last step of all: what it looks at has its defaults."""
    asked = _asked(draft.metadata)
    if not asked:
        return
    if unknown := asked - _OF_STREAMS:
        raise invalid_config(f"no extension for streams is called '{min(unknown)}'")
    if is_immutable(draft.metadata):
        _settle_immutable(draft, step)
    if TEMPLATE_NAME in asked or TEMPLATE_MAX in asked:
        _check_template(draft)


def _settle_immutable(draft: StreamConfig, step: Step) -> None:
    if draft.metadata[IMMUTABLE] != "true":
        raise invalid_config(f"'{IMMUTABLE}' can only be true")
    kept = draft.discard == "new"  # then limits refuse, they do not remove
    for clash, text in (
        (draft.storage != "file", "has file storage"),
        (draft.retention != "limits", "has limits retention"),
        (draft.max_age > 0, "has no max age"),
        (draft.max_msgs > 0 and not kept, "has max messages with discard policy new only"),
        (draft.max_bytes > 0 and not kept, "has max bytes with discard policy new only"),
        (
            draft.max_msgs_per_subject > 0 and not draft.discard_new_per_subject,
            "has max messages per subject with discard new per subject only",
        ),
        (draft.allow_rollup_hdrs, "has no rollups"),
        (draft.allow_msg_ttl, "has no message TTLs"),
        (draft.allow_msg_schedules, "has no message schedules"),
    ):
        if clash:
            raise invalid_config(f"an immutable stream {text}")
    if not (draft.deny_delete and draft.deny_purge):
        step.correct("deny delete and deny purge must be set on an immutable stream")
        draft.deny_delete = draft.deny_purge = True


class TemplateRule(NamedTuple):
    """How the streams of a template are called, and how many there may be."""

    pattern: str  # `{n}` is the n-th token of a subject
    places: tuple[int, ...]  # the tokens that are in the name, from 0
    most: int

    def name(self, tokens: list[str]) -> str:
        return _PLACE.sub(lambda found: tokens[int(found[1]) - 1], self.pattern)


def template_rule(metadata: Mapping[str, str]) -> TemplateRule | None:
    """Of a stream that is a template."""
    pattern = metadata.get(TEMPLATE_NAME)
    if pattern is None:
        return None
    places = tuple(int(place) - 1 for place in _PLACE.findall(pattern))
    return TemplateRule(pattern, places, int(metadata.get(TEMPLATE_MAX, limits.TEMPLATE_STREAMS)))


def _check_template(draft: StreamConfig) -> None:
    most = draft.metadata.get(TEMPLATE_MAX, "1")
    if not (most.isascii() and most.isdigit() and 0 < int(most[:9]) <= limits.TEMPLATE_MOST):
        text = f"'{TEMPLATE_MAX}' must be a number from 1 to {limits.TEMPLATE_MOST}"
        raise invalid_config(text)
    rule = template_rule(draft.metadata)
    if rule is None:
        raise invalid_config(f"'{TEMPLATE_MAX}' needs '{TEMPLATE_NAME}'")
    if draft.mirror is not None or draft.sources or len(draft.subjects) != 1:
        raise invalid_config("a template has one subject, and neither mirror nor sources")
    tokens = draft.subjects[0].split(".")
    wild = {place for place, token in enumerate(tokens) if token == "*"}  # noqa: S105
    if not rule.places or not wild.issuperset(rule.places):
        text = f"'{TEMPLATE_NAME}' must name wildcard tokens of the subject, as in LOGS_{{2}}"
        raise invalid_config(text)


def _asked(metadata: Mapping[str, str]) -> set[str]:
    return {key for key in metadata if key.startswith(PREFIX)}


def _refused(text: str) -> ApiError:
    return error(E.CONSUMER_CREATE, err=text)
