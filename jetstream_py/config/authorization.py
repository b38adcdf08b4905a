"""The block `authorization`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from jetstream_py import gotext, nkey
from jetstream_py.config import durations, kinds
from jetstream_py.config.account_options import GLOBAL_ACCOUNT, AuthCallout
from jetstream_py.config.draft import Draft, Login, Problem, Refusal
from jetstream_py.config.parser import Value
from jetstream_py.config.permissions import PERMISSIONS
from jetstream_py.config.tables import Key, Table, key, read_fields, table
from jetstream_py.config.users import PROXY_REQUIRED, USERS, duplicates, settled_users

_LONG_TIMEOUT: Final = 60.0
_USERS: Final = "authorization.users"
_CALLOUT: Final = "authorization.callout"


def timeout_kind(block: str, limit: float = _LONG_TIMEOUT) -> kinds.Kind:
    """Seconds, or a duration. `block` is for messages."""

    def read(key: str, value: Value, draft: Draft) -> float:
        data = value.data
        match data:
            case bool() | list() | dict():
                pass
            case int() | float():
                if data > limit:
                    draft.outdated.append(Problem(value.at, _high_timeout(data)))
                return float(data)
            case str():
                try:
                    return durations.seconds(data)
                except ValueError as error:
                    raise Refusal(f"error parsing {block} config, 'timeout' {error}") from None
        raise Refusal(f"error parsing {block} config, 'timeout' wrong type")

    return kinds.Kind("seconds or duration", read)


def _high_timeout(data: int | float) -> str:
    shown = data if isinstance(data, int) else f"{data:g}"
    return (
        f'invalid use of field "timeout": timeout of {shown} ({data:.6f} seconds) is high, consider '
        "keeping it under 60 seconds. possibly caused by unquoted duration; use '1m' instead of 1m, "
        "for example"
    )


# -- callout ---------------------------------------------------------------------------------------


def _callout(key: str, value: Value, draft: Draft) -> AuthCallout:
    if type(value.data) is not dict:
        shown = kinds.shown(value.data)
        raise Refusal(f"Expected authorization callout to be a map/struct, got {shown}")
    mistakes = len(draft.errors)
    unknown = "Unknown field {} parsing authorization callout"
    fields = read_fields(CALLOUT_KEYS, value.data, draft, unknown=unknown)
    callout = AuthCallout(
        issuer=fields.get("issuer", ""),
        account=fields.get("account") or GLOBAL_ACCOUNT,
        users=tuple(fields.get("auth_users", ())),
        xkey=fields.get("xkey", ""),
        allowed_accounts=tuple(fields.get("allowed_accounts", ())),
    )
    if len(draft.errors) == mistakes:
        if not callout.issuer:
            text = "Authorization callouts require an issuer to be specified"
            raise Refusal(text, fields.last)
        if not callout.users:
            text = "Authorization callouts require authorized users to be specified"
            raise Refusal(text, fields.last)
    return callout


def callout_faults(draft: Draft) -> Iterator[str]:
    """Accounts that a callout may use have to be there."""
    for name in draft.login.callout.allowed_accounts if draft.login.callout else ():
        if name not in draft.accounts:
            yield (
                f"auth_callout allowed account {gotext.quote(name)} not found in configured accounts"
            )


def _issuer(key: str, value: Value, draft: Draft) -> str:
    public = kinds.text(key, value, draft)
    if not nkey.is_public(public, nkey.ACCOUNT):
        shown = gotext.quote(public)
        raise Refusal(f"Expected callout user to be a valid public account nkey, got {shown}")
    return public


def _xkey(key: str, value: Value, draft: Draft) -> str:
    public = kinds.text(key, value, draft)
    if not nkey.is_public(public, nkey.CURVE):
        raise Refusal(
            f"Expected callout xkey to be a valid public xkey, got {gotext.quote(public)}"
        )
    return public


def _array_of(what: str) -> kinds.Kind:
    def read(key: str, value: Value, draft: Draft) -> list[str]:
        if type(value.data) is not list:
            raise Refusal(f"Expected {what} field to be an array, got *conf.token")
        return kinds.texts(key, value, draft)

    return kinds.Kind("array of strings", read)


def _said(names: str, kind: kinds.Kind, note: str) -> Key:
    return key(names, kind, _CALLOUT, note)


CALLOUT_KEYS: Final[Table] = table(
    _said("issuer", kinds.Kind("public key", _issuer), "account key that signs the answers"),
    _said("account acc", kinds.TEXT, "account of the service that decides, `$G` by default"),
    _said("auth_users users", _array_of("auth_users"), "users that log in without being asked for"),
    _said("xkey key", kinds.Kind("public key", _xkey), "requests are encrypted for this key"),
    _said("allowed_accounts", _array_of("allowed accounts"), "accounts that users may be put in"),
)


# -- the block -------------------------------------------------------------------------------------

AUTHORIZATION_KEYS: Final[Table] = table(
    key("user username", kinds.TEXT, _USERS, "the single user"),
    key("password pass", kinds.TEXT, _USERS, "password of the single user, or its bcrypt hash"),
    key(
        "token",
        kinds.TEXT,
        "authorization.token",
        "the token that clients present, or its bcrypt hash",
    ),
    key("users", USERS, _USERS, "several users"),
    key(
        "timeout",
        timeout_kind("authorization"),
        "authorization.timeout",
        "time that clients have to log in",
    ),
    key(
        "default_permissions default_permission permissions",
        PERMISSIONS,
        _USERS,
        "of users that have none of their own",
    ),
    key(
        "auth_callout auth_hook",
        kinds.Kind("block", _callout),
        _CALLOUT,
        "another service decides who may connect",
    ),
    PROXY_REQUIRED,
)


def set_authorization(draft: Draft, value: Value, block: dict[str, Value]) -> None:
    fields = read_fields(AUTHORIZATION_KEYS, block, draft, "authorization.")
    login = Login(
        user=fields.get("user", ""),
        password=fields.get("password", ""),
        token=fields.get("token", ""),
        timeout=fields.get("timeout", 0.0),
        callout=fields.get("auth_callout"),
    )
    draft.login = login
    if (login.user or login.password) and login.token:
        raise Refusal("Cannot have a user/pass and token")
    found = settled_users(
        fields.get("users", []), GLOBAL_ACCOUNT, fields.get("default_permissions")
    )
    if found or draft.users:
        if login.user:
            raise Refusal("Can not have a single user/pass and a users array")
        if login.token:
            raise Refusal("Can not have a token and a users array")
    for complaint in duplicates(draft.users, found)[:1]:
        raise Refusal(complaint)
    draft.users.extend(found)
    if login.password and not login.user and not draft.users:
        draft.warnings.append(
            f"{value.at}: a password without a user has no effect: everybody may connect"
        )
