"""The block `mappings`, at the top level and of an account."""

from __future__ import annotations

from typing import Final

from jetstream_py import gotext
from jetstream_py.config import kinds
from jetstream_py.config.account_options import Destination, Mapping
from jetstream_py.config.draft import Draft, Refusal
from jetstream_py.config.parser import Value
from jetstream_py.config.tables import Table, key, read_fields, table
from jetstream_py.subject import is_valid
from jetstream_py.transforms.rules import TransformError, check_mapping, check_transform


def mappings(key: str, value: Value, draft: Draft) -> tuple[Mapping, ...]:
    found = []
    for source, target in kinds.block(key, value, draft).items():
        with draft.attempt(target.at):
            if not is_valid(source.encode("utf-8", "surrogateescape")):
                raise Refusal(f"Subject {gotext.quote(source)} is not a valid subject", value.at)
            found.append(_mapping(source, target, draft))
    return tuple(found)


def _mapping(source: str, target: Value, draft: Draft) -> Mapping:
    quoted = gotext.quote(source)
    if type(target.data) is str:
        mapping = Mapping(source, (Destination(target.data),))
        label = f"{quoted} to {gotext.quote(target.data)}"
    else:
        mistakes = len(draft.errors)
        mapping = Mapping(source, _destinations(target, draft))
        label = quoted
        if len(draft.errors) > mistakes:
            return mapping
    if fault := mapping_fault(mapping):
        raise Refusal(f"Error adding mapping for {label} : {fault}")
    return mapping


def mapping_fault(mapping: Mapping) -> str:
    """Why an account cannot have this mapping; empty when it can. Claims are judged by it, too."""
    seen: set[str] = set()
    totals: dict[str, int] = {}
    for destination in mapping.destinations:
        if destination.subject in seen:
            return f"duplicate entry for {gotext.quote(destination.subject)}"
        seen.add(destination.subject)
        total = totals.get(destination.cluster, 0) + destination.weight
        if total > 100:
            return "total weight needs to be <= 100"
        totals[destination.cluster] = total
        try:
            check_mapping(destination.subject)
            check_transform(mapping.source, destination.subject)
        except TransformError as error:
            return str(error)
    return ""


def _destinations(target: Value, draft: Draft) -> tuple[Destination, ...]:
    entries = target.data if type(target.data) is list else [target]
    found = []
    for entry in entries:
        with draft.attempt(entry.at):
            found.append(_destination(entry, draft))
    return tuple(found)


def _destination(entry: Value, draft: Draft) -> Destination:
    if type(entry.data) is not dict:
        raise Refusal("Expected an entry for the mapping destination")
    mistakes = len(draft.errors)
    fields = read_fields(
        DESTINATION_KEYS, entry.data, draft, unknown="Unknown field {} for mapping destination"
    )
    subject = fields.get("destination", "")
    if "weight" not in fields.at and len(draft.errors) == mistakes:
        shown = gotext.quote(subject)
        raise Refusal(f"Missing weight for mapping destination {shown}")
    return Destination(subject, fields.get("weight", 0), fields.get("cluster", ""))


def _weight(key: str, value: Value, draft: Draft) -> int:
    """A number, or a percentage as text."""
    data = value.data
    if type(data) is str:
        digits = data.removesuffix("%")
        try:
            weight = gotext.atoi(digits)
        except ValueError:
            shown = gotext.quote(digits)
            raise Refusal(f"Invalid weight {shown} for mapping destination") from None
    elif type(data) is int:
        weight = data
    else:
        raise Refusal(f"Unknown entry type for weight of {kinds.shown(data)}")
    if not 0 <= weight <= 100:
        raise Refusal(f"Invalid weight {weight} for mapping destination")
    return weight


MAPPINGS: Final = kinds.Kind("block of subjects", mappings)

DESTINATION_KEYS: Final[Table] = table(
    key("destination dest", kinds.TEXT, "mappings", "subject, may use the source's wildcards"),
    key("weight", kinds.Kind("percent", _weight), "mappings", "share of the messages"),
    key("cluster", kinds.TEXT, "mappings", "only there; a single server is in none"),
)
