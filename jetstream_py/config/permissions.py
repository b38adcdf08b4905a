"""What users may do: the block `permissions` and its short forms."""

from __future__ import annotations

from typing import Final

from jetstream_py import gotext, limits
from jetstream_py.config import kinds
from jetstream_py.config.account_options import Permissions, Responses, Rule
from jetstream_py.config.draft import Draft, Refusal, Unplaced
from jetstream_py.config.parser import Value
from jetstream_py.config.tables import Table, key, read_fields, table
from jetstream_py.subject import is_valid

_UNKNOWN: Final = "Unknown field {} parsing permissions"
_USERS: Final = "authorization.users"


def permissions(key: str, value: Value, draft: Draft) -> Permissions:
    if type(value.data) is not dict:
        shown = kinds.shown(value.data)
        raise Refusal(f"Expected permissions to be a map/struct, got {shown}")
    fields = read_fields(PERMISSION_KEYS, value.data, draft, unknown=_UNKNOWN)
    return Permissions(
        fields.get("publish"), fields.get("subscribe"), fields.get("allow_responses")
    )


def _publish(key: str, value: Value, draft: Draft) -> Rule:
    return _rule(value, draft, PUBLISH_KEYS)


def _subscribe(key: str, value: Value, draft: Draft) -> Rule:
    return _rule(value, draft, SUBSCRIBE_KEYS)


def _rule(value: Value, draft: Draft, keys: Table) -> Rule:
    """A block, or subjects, which are then those that are allowed. An empty list is no list."""
    if type(value.data) is dict:
        fields = read_fields(
            keys,
            value.data,
            draft,
            unknown="Unknown field name {} parsing subject permissions, "
            "only 'allow' or 'deny' are permitted",
        )
        return Rule(tuple(fields.get("allow", ())) or None, tuple(fields.get("deny", ())))
    try:
        return Rule(tuple(keys["allow"].kind.read("allow", value, draft)) or None)
    except Refusal as refusal:
        raise refusal if refusal.at else Unplaced(str(refusal)) from None


def _subjects(key: str, value: Value, draft: Draft) -> list[str]:
    subjects = _listed(value)
    for subject in subjects:
        _check_subject(subject, subject)
    return subjects


def _subjects_and_queues(key: str, value: Value, draft: Draft) -> list[str]:
    """A queue group may follow a subject. It is a pattern, too."""
    subjects = _listed(value)
    for entry in subjects:
        subject, *queue = entry.split()[:2] or [""]
        if not queue or len(entry.split()) > 2:
            _check_subject(entry, entry)
        else:
            _check_subject(subject, entry)
            if not is_valid(queue[0].encode("utf-8", "surrogateescape")):
                raise Refusal(f"queue {gotext.quote(queue[0])} is not a valid queue")
    return [" ".join(entry.split()) for entry in subjects]


def _listed(value: Value) -> list[str]:
    data = value.data
    if type(data) is str:
        return [data]
    if type(data) is not list:
        raise Refusal(
            "Expected subject permissions to be a subject, or array of subjects, "
            f"got {kinds.go_type(data)}"
        )
    subjects = []
    for item in data:
        if type(item.data) is not str:
            raise Refusal("Subject in permissions array cannot be cast to string", item.at)
        subjects.append(item.data)
    return subjects


def _check_subject(subject: str, entry: str) -> None:
    if not is_valid(subject.encode("utf-8", "surrogateescape")):
        raise Refusal(f"subject {gotext.quote(entry)} is not a valid subject")


def _responses(key: str, value: Value, draft: Draft) -> Responses | None:
    match value.data:
        case bool():
            return Responses() if value.data else None
        case dict():
            fields = read_fields(RESPONSE_KEYS, value.data, draft, unknown=_UNKNOWN)
            return Responses(
                fields.get("max") or limits.RESPONSES_MAX,
                fields.get("expires") or limits.RESPONSES_EXPIRE,
            )
    raise Refusal("error parsing response permissions, expected a boolean or a map")


def _expires(key: str, value: Value, draft: Draft) -> float:
    if type(value.data) is not str:
        raise Refusal("error parsing expires, not a duration string")
    return kinds.duration("expires", value, draft)


PERMISSIONS: Final = kinds.Kind("permissions", permissions)
_SUBJECTS: Final = kinds.Kind("subject or array", _subjects)
_QUEUES: Final = kinds.Kind("subject or array", _subjects_and_queues)

PUBLISH_KEYS: Final[Table] = table(
    key("allow", _SUBJECTS, _USERS, "only these subjects; an empty list allows all"),
    key("deny", _SUBJECTS, _USERS, "not these, even if they are allowed"),
)
SUBSCRIBE_KEYS: Final[Table] = table(
    key("allow", _QUEUES, _USERS, "only these; `subject queue` is for that queue group alone"),
    key("deny", _QUEUES, _USERS, "not these, even if they are allowed"),
)
RESPONSE_KEYS: Final[Table] = table(
    key(
        "max max_msgs max_messages max_responses",
        kinds.INTEGER,
        _USERS,
        "answers to each request, 1 by default; negative: no limit",
    ),
    key(
        "expires expiration ttl",
        kinds.Kind("duration", _expires),
        _USERS,
        "time for them, 2 minutes by default; negative: no limit",
    ),
)
_RULE: Final = "subject, array, or block of `allow` and `deny`"
PERMISSION_KEYS: Final[Table] = table(
    key("publish pub import", kinds.Kind(_RULE, _publish), _USERS, "where to publish"),
    key(
        "subscribe sub export",
        kinds.Kind(_RULE, _subscribe),
        _USERS,
        "what to subscribe to; `subject queue` names a queue group, too",
    ),
    key(
        "allow_responses publish_allow_responses",
        kinds.Kind("boolean or block of `max` and `expires`", _responses),
        _USERS,
        "answers to received requests are allowed, too",
    ),
)
