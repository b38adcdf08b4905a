"""What a stream listens to, and what it makes of it: subjects, transform, republish."""

from __future__ import annotations

from typing import Final

from msgspec.structs import replace

from jetstream_py.api.errors import E, error, invalid_config
from jetstream_py.api.stream_rules import Step
from jetstream_py.api.types import StreamConfig
from jetstream_py.gotext import quote
from jetstream_py.subject import covers, is_valid, overlap
from jetstream_py.transforms.rules import TransformError, check_mapping, check_transform

# Spaces that a stream may not listen to unless nobody is answered, and what in them is harmless.
_RESERVED: Final = (
    ((b"$JS.>", b"$JSC.>", b"$NRG.>"), b"$JS.EVENT.>", "jetstream"),
    ((b"$SYS.>",), b"$SYS.ACCOUNT.>", "system"),
)


def check_subjects(draft: StreamConfig, step: Step) -> None:
    if not draft.subjects and draft.mirror is None and not draft.sources:
        draft.subjects = (draft.name,)
    for i, subject in enumerate(draft.subjects):
        if not is_valid(subject.encode()):
            raise invalid_config("invalid subject")
        if not draft.no_ack:
            _check_reserved(subject.encode())
        for other in draft.subjects[i + 1 :]:
            if overlap(subject.encode(), other.encode()):
                raise invalid_config(f"subject {quote(subject)} overlaps with {quote(other)}")


def _check_reserved(subject: bytes) -> None:
    if subject == b">":
        raise invalid_config("capturing all subjects requires no-ack to be true")
    for spaces, harmless, name in _RESERVED:
        if any(overlap(subject, space) for space in spaces) and not covers(harmless, subject):
            raise invalid_config(f"subjects that overlap with {name} api require no-ack to be true")


def check_subject_transform(draft: StreamConfig, step: Step) -> None:
    transform = draft.subject_transform
    if transform is None:
        return
    if transform.src and not is_valid(transform.src.encode()):
        raise error(E.STREAM_TRANSFORM_INVALID_SOURCE, err=f"invalid subject {transform.src}")
    try:
        check_mapping(transform.dest)
        check_transform(transform.src, transform.dest)
    except TransformError as fault:
        raise error(E.STREAM_TRANSFORM_INVALID_DESTINATION, err=fault) from None


def check_republish(draft: StreamConfig, step: Step) -> None:
    republish = draft.republish
    if republish is None:
        return
    source, destination = republish.src, republish.dest
    if not source:
        step.correct("republish source can not be empty")
        source = ">"
    transform = draft.subject_transform
    if (
        source == destination == ">"
        and transform is not None
        and draft.subjects == (transform.src,)
    ):
        step.correct("implicit republish based on subject transform")
        source = destination = transform.dest
    if destination and any(
        overlap(destination.encode(), subject.encode()) for subject in draft.subjects
    ):
        raise invalid_config("stream configuration for republish destination forms a cycle")
    try:
        check_transform(source, destination)
    except TransformError:
        raise invalid_config(
            "stream configuration for republish with transform "
            f"from '{source}' to '{destination}' not valid"
        ) from None
    draft.republish = replace(republish, src=source, dest=destination)


def settle_republish(draft: StreamConfig) -> None:
    """An update without a destination republishes to the subjects themselves."""
    republish = draft.republish
    if republish is None or republish.dest:
        return
    try:
        check_transform(republish.src, ">")
    except TransformError as fault:
        raise error(
            E.STREAM_UPDATE,
            err=f"stream configuration for republish from '{republish.src}' to '>': {fault}",
        ) from None
    draft.republish = replace(republish, dest=">")
