"""The keys of JWT mode: `operator`, `resolver` and what belongs to them.

They are read as far as that needs no cryptography. Who verifies the tokens works with the plain `Operator`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import Any, Final

from msgspec.structs import replace

from jetstream_py import gotext, nkey
from jetstream_py.config import durations, kinds
from jetstream_py.config.draft import Draft, Problem, Refusal
from jetstream_py.config.errors import ConfigError
from jetstream_py.config.files import read_file
from jetstream_py.config.parser import Data, Value
from jetstream_py.config.tables import Key, Table, key, read_fields, refused, table

_OPERATOR: Final = "authorization.operator"
_JWT_START: Final = "eyJ"  # how every JWT begins
# A file may wrap its token in such lines.
_DECORATED: Final = re.compile(r"-{3,}BEGIN [^\n]*-{3,}\s+(\S+)\s+-{3,}END [^\n]*-{3,}")
_MEMORY: Final = re.compile(r"(?i)mem")
_URL: Final = re.compile(r"""(?i)url\s*\(\s*["']?([^"'\s)]+)["']?\s*\)""")
_BAD_RESOLVER: Final = (
    'error parsing account resolver, should be MEM or  URL("url") or a map containing dir and '
    "type state=[FULL|CACHE])"
)


def _words(value: Value, what: str, wrong_item: str) -> list[Value]:
    """A string or an array of strings."""
    data = value.data
    if type(data) is str:
        return [value]
    if type(data) is not list:
        raise Refusal(f"error parsing {what}: unsupported type {kinds.go_type(data)}")
    for item in data:
        if type(item.data) is not str:
            text = wrong_item.format(what=what, got=kinds.go_type(item.data))
            raise Refusal(text, None if "*conf" in text else item.at)
    return data


def _change(draft: Draft, **fields: Any) -> None:
    draft.operator = replace(draft.operator, **fields)


# -- whom to trust ---------------------------------------------------------------------------------


def _operators(draft: Draft, value: Value, data: Data) -> None:
    wrong = "error parsing {what}: unsupported type *conf.token where string is expected"
    found = []
    for item in _words(value, "operators", wrong):
        with draft.attempt(value.at):
            try:
                found.append(_token(kinds.text("operator", item, draft)))
            except (ConfigError, ValueError) as error:
                raise Refusal(f"error parsing operator JWT: {error}") from None
    _change(draft, jwts=(*draft.operator.jwts, *found))


def _token(text: str) -> str:
    """A token as it is, or from a file."""
    if not text.startswith(_JWT_START):
        content = read_file(text).decode("utf-8", "replace")
        wrapped = _DECORATED.search(content)
        text = wrapped[1] if wrapped else content.strip()
    if text.count(".") != 2:
        raise ValueError("expected 3 chunks")
    return text


def _trusted_keys(draft: Draft, value: Value, data: Data) -> None:
    items = _words(value, "trusted", "error parsing {what}: unsupported type in array {got}")
    for item in items:
        public = kinds.text("trusted", item, draft)
        if not nkey.is_public(public, nkey.OPERATOR):
            text = f"trust key {gotext.quote(public)} required to be a valid public operator nkey"
            raise Refusal(text, item.at)
    _change(draft, trusted_keys=tuple(kinds.text("trusted", item, draft) for item in items))


def _sentinel(draft: Draft, value: Value, text: str) -> None:
    _change(draft, default_sentinel=text)


# -- where accounts are found ----------------------------------------------------------------------


def _resolver(draft: Draft, value: Value, data: Data) -> None:
    if type(data) is str:
        _named_resolver(draft, data)
    elif type(data) is dict:
        _directory_resolver(draft, value, data)
    else:
        got = kinds.go_type(data)
        raise Refusal(f"error parsing operator resolver, wrong type {got}")


def _named_resolver(draft: Draft, text: str) -> None:
    if match := _URL.search(text):
        _change(draft, resolver="url", url=match[1])
    elif _MEMORY.search(text):
        _change(draft, resolver="memory")
    else:
        raise Refusal(_BAD_RESOLVER)


def _directory_resolver(draft: Draft, value: Value, block: dict[str, Value]) -> None:
    mistakes = len(draft.errors)
    # nats-server overlooks other keys, and these when they are not in small letters.
    known = {name: entry for name, entry in block.items() if name in RESOLVER_KEYS}
    fields = read_fields(RESOLVER_KEYS, known, draft, "resolver.")
    if len(draft.errors) > mistakes:
        return
    kind = fields.get("type", "").upper()
    if kind.startswith("MEM"):
        _change(draft, resolver="memory")
        return
    for name, what, wrong in _FOREIGN:
        if kind == wrong and fields.get(name):
            raise Refusal(f"{wrong} does not accept {what}")
    times = _times(value, fields.data)
    if kind not in ("FULL", "CACHE"):
        raise Refusal(_BAD_RESOLVER)
    directory = fields.get("dir", "")
    _check_directory(draft, value, directory)
    _change(
        draft,
        resolver=kind.lower(),
        directory=directory,
        allow_delete=fields.get("allow_delete", False),
        hard_delete=fields.get("hard_delete", False),
        limit=max(fields.get("limit", 0), 0),
        **times,
    )


# Settings that only one of both resolvers has: the key, its name in the message, and the other one.
_FOREIGN: Final = (
    ("allow_delete", "allow_delete", "CACHE"),
    ("hard_delete", "hard_delete", "CACHE"),
    ("interval", "sync", "CACHE"),
    ("ttl", "ttl", "FULL"),
)


def _times(value: Value, data: dict[str, Any]) -> dict[str, float]:
    times: dict[str, float] = {}
    for name in ("interval", "ttl", "timeout"):
        if name in data:
            try:
                times[name] = durations.seconds(data[name])
            except ValueError as error:
                raise Refusal(str(error), value.at) from None
    return times


def _check_directory(draft: Draft, value: Value, directory: str) -> None:
    if not directory:
        text = "dir has no value and needs to point to a directory"
        draft.errors.append(Problem(value.at, text))
        raise Refusal("mkdir : no such file or directory")
    if os.path.exists(directory) and not os.path.isdir(directory):
        text = "dir needs to point to an accessible directory"
        draft.errors.append(Problem(value.at, text))
        raise Refusal(f"mkdir {directory}: not a directory")


def _preload(draft: Draft, value: Value, data: Data) -> None:
    if type(data) is not dict:
        raise Refusal("preload should be a map of account_public_key:account_jwt")
    found = []
    for account, entry in data.items():
        with draft.attempt(entry.at):
            if type(entry.data) is not str:
                raise Refusal("preload map value should be a string JWT")
            if not entry.data.startswith(_JWT_START) or entry.data.count(".") != 2:
                raise Refusal("invalid account JWT")
            found.append((account, entry.data))
    _change(draft, preload=tuple(found))


def _pinned(draft: Draft, value: Value, data: Data) -> None:
    wrong = "error parsing {what}: unsupported type in array {got}"
    items = _words(value, "resolver_pinned_accounts", wrong)
    pinned = tuple(kinds.text("resolver_pinned_accounts", item, draft) for item in items)
    _change(draft, pinned_accounts=pinned)


# -- what keeps a server from starting -------------------------------------------------------------


def operator_faults(draft: Draft) -> Iterator[str]:
    operator = draft.operator
    if operator.jwts:
        yield from _operator_conflicts(draft)
    elif operator.default_sentinel:
        yield "default sentinel requires operators and accounts"
    for public in operator.pinned_accounts if operator.jwts or operator.trusted_keys else ():
        if not nkey.is_public(public, nkey.ACCOUNT):
            yield f"pinned account key {gotext.quote(public)} is not a valid public account nkey"
    if operator.preload and operator.resolver in ("", "url"):
        yield "resolver preloads only available for writeable resolver types MEM/DIR/CACHE_DIR"
    if operator.resolver in ("full", "cache") and not (operator.jwts or operator.trusted_keys):
        yield "Could not start resolver: no operator key found"


def _operator_conflicts(draft: Draft) -> Iterator[str]:
    if draft.operator.resolver == "" and len(draft.operator.jwts) > 1:
        yield "operators require an account resolver to be configured"
    if draft.accounts or draft.options.mappings:
        yield "operators do not allow Accounts to be configured directly"
    if draft.users:
        yield "operators do not allow users to be configured directly"
    if draft.login.callout:
        yield "operators do not allow authorization callouts to be configured directly"
    if draft.operator.trusted_keys:
        yield "conflicting options for 'TrustedKeys' and 'TrustedOperators'"
    if draft.options.no_auth_user:
        yield "no_auth_user not compatible with Trusted Operator"


# -- tables ----------------------------------------------------------------------------------------


def _of(names: str, label: str, note: str, set: Any, kind: Any = kinds.anything) -> Key:
    return key(names, kinds.Kind(label, kind), _OPERATOR, note, set)


def _in_resolver(names: str, kind: kinds.Kind, note: str) -> Key:
    return key(names, kind, _OPERATOR, note)


RESOLVER_KEYS: Final[Table] = table(
    _in_resolver("type", kinds.TEXT, "`full` or `cache`"),
    _in_resolver("dir", kinds.TEXT, "directory of the account JWTs"),
    _in_resolver("allow_delete", kinds.BOOLEAN, "`full`: accounts may be deleted"),
    _in_resolver("hard_delete", kinds.BOOLEAN, "`full`: their files, too"),
    _in_resolver("interval", kinds.TEXT, "`full`: no effect on a single server"),
    _in_resolver("limit", kinds.INTEGER, "accounts kept"),
    _in_resolver("ttl", kinds.TEXT, "`cache`: time that an account is kept"),
    _in_resolver("timeout", kinds.TEXT, "for looking up an account"),
)

OPERATOR_KEYS: Final = (
    _of(
        "operator operators root roots",
        "JWT, file or array",
        "JWT mode: who is trusted",
        _operators,
    ),
    _of(
        "resolver account_resolver accounts_resolver",
        "MEMORY, URL(...) or block",
        "where accounts are found",
        _resolver,
    ),
    _of("resolver_preload", "block of JWTs", "accounts that are there at start", _preload),
    _of("resolver_pinned_accounts", "string or array", "only these accounts may be used", _pinned),
    refused("resolver_tls", "without it, the resolver could be somebody else"),
    _of("trusted_keys trusted", "string or array", "public keys of operators", _trusted_keys),
    _of("default_sentinel", "JWT", "for clients that present none", _sentinel, kinds.text),
)
