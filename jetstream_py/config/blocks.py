"""The blocks `authorization` and `jetstream`: their tables and what they set."""

from __future__ import annotations

import re
from typing import Any, Final

from jetstream_py import gotext
from jetstream_py.config import durations, kinds
from jetstream_py.config.account_options import User
from jetstream_py.config.draft import Draft, Login, Problem, Refusal
from jetstream_py.config.parser import Data, Value
from jetstream_py.config.secret import Secret
from jetstream_py.config.tables import Key, Setter, Table, key, read_block, refused, table

_BCRYPT = re.compile(r"\$2[abxy]\$\d\d\$")
_LONG_TIMEOUT: Final = 60.0

# Why a key is refused: what would happen if it was ignored.
_OPEN_TO_ALL: Final = "without it, users could do what they should not"
_UNENCRYPTED: Final = "without it, data would be stored unencrypted"


def clear_text(secret: str) -> str:
    """The rule for passwords and tokens, which the command line shares."""
    if _BCRYPT.match(secret):
        # Compared as plain text, the hash itself would be the password.
        raise Refusal("bcrypt hashes of passwords and tokens are not supported in this version")
    return secret


def _secret(key: str, value: Value, draft: Draft) -> str:
    return clear_text(kinds.text(key, value, draft))


_SECRET: Final = kinds.Kind("string", _secret)


# -- authorization ---------------------------------------------------------------------------------


def _login(field: str) -> Setter:
    def set_part(draft: Draft, value: Value, data: Any) -> None:
        setattr(draft.login, field, data)

    return set_part


def _no_proxy(draft: Draft, value: Value, required: bool) -> None:
    if required:
        raise Refusal('"proxy_required" is not supported in this version: ' + _OPEN_TO_ALL)


def _timeout(key: str, value: Value, draft: Draft) -> float:
    data = value.data
    match data:
        case bool() | list() | dict():
            pass
        case int() | float():
            timeout = float(data)
            if timeout > _LONG_TIMEOUT:
                draft.outdated.append(Problem(value.at, _high_timeout(data)))
            return timeout
        case str():
            try:
                return durations.seconds(data)
            except ValueError as error:
                raise Refusal(f"error parsing authorization config, 'timeout' {error}") from None
    raise Refusal("error parsing authorization config, 'timeout' wrong type")


def _high_timeout(data: int | float) -> str:
    shown = data if isinstance(data, int) else f"{data:g}"
    return (
        f'invalid use of field "timeout": timeout of {shown} ({data:.6f} seconds) is high, consider '
        "keeping it under 60 seconds. possibly caused by unquoted duration; use '1m' instead of 1m, "
        "for example"
    )


def _users(key: str, value: Value, draft: Draft) -> list[User]:
    if type(value.data) is not list:
        raise Refusal(f"Expected users field to be an array, got {_shown(value.data)}")
    return [_user(entry, draft) for entry in value.data]


def _user(entry: Value, draft: Draft) -> User:
    if type(entry.data) is not dict:
        raise Refusal(f"Expected user entry to be a map/struct, got {_shown(entry.data)}", entry.at)
    own = Draft()
    read_block(USER_KEYS, entry.data, own, "authorization.users.")
    draft.errors.extend(own.errors)
    draft.warnings.extend(own.warnings)
    if not own.login.user and not own.errors:
        at = max((value.at for value in entry.data.values()), default=entry.at)
        raise Refusal("User entry requires a user", at)
    return User(own.login.user, Secret(own.login.password))


def _shown(data: Data) -> str:
    return data if isinstance(data, str) else kinds.go_type(data)


_USERS: Final = "authorization.users"

USER_KEYS: Final[Table] = table(
    key("user username", kinds.TEXT, _USERS, "name of the user", _login("user")),
    key("password pass", _SECRET, _USERS, "password in clear text", _login("password")),
    key("proxy_required", kinds.BOOLEAN, "", "only `false`", _no_proxy),
    refused("nkey", _OPEN_TO_ALL),
    refused("permissions permission authorization", _OPEN_TO_ALL),
    refused("allowed_connection_types connection_types clients", _OPEN_TO_ALL),
)

AUTHORIZATION_KEYS: Final[Table] = table(
    key("user username", kinds.TEXT, _USERS, "the single user", _login("user")),
    key("password pass", _SECRET, _USERS, "password of the single user", _login("password")),
    key("token", _SECRET, "authorization.token", "the token that clients present", _login("token")),
    key("users", kinds.Kind("array of users", _users), _USERS, "several users", _login("users")),
    key(
        "timeout",
        kinds.Kind("seconds or duration", _timeout),
        "authorization.timeout",
        "time that clients have to log in",
        _login("timeout"),
    ),
    key("proxy_required", kinds.BOOLEAN, "", "only `false`", _no_proxy),
    refused("default_permissions default_permission permissions", _OPEN_TO_ALL),
    refused("auth_callout auth_hook", _OPEN_TO_ALL),
)


def set_authorization(draft: Draft, value: Value, block: dict[str, Value]) -> None:
    draft.login = Login()
    read_block(AUTHORIZATION_KEYS, block, draft, "authorization.")
    login = draft.login
    if login.user and login.token:
        raise Refusal("Cannot have a user/pass and token")
    if login.users and login.user:
        raise Refusal("Can not have a single user/pass and a users array")
    if login.users and login.token:
        raise Refusal("Can not have a token and a users array")
    names = [user.name for user in login.users]
    for position, name in enumerate(names):
        if name in names[:position]:
            raise Refusal(f"Duplicate user {gotext.quote(name)} detected")
    if login.password and not login.user and not login.users:
        draft.warnings.append(
            f"{value.at}: a password without a user has no effect: everybody may connect"
        )


# -- jetstream -------------------------------------------------------------------------------------


def set_store_dir(draft: Draft, value: Value, directory: str) -> None:
    if draft.options.jetstream.store_dir not in ("", directory):
        raise Refusal("Duplicate 'store_dir' configuration")
    draft.options.jetstream.store_dir = directory


def _enable(draft: Draft, value: Value, enabled: bool) -> None:
    draft.options.jetstream.enabled = enabled


def _kept(names: str, kind: kinds.Kind, note: str) -> Key:
    """A setting that is checked and handed on; what it does is the business of JetStream."""
    first = names.split()[0]

    def keep(draft: Draft, value: Value, data: Any) -> None:
        draft.options.jetstream.settings[first] = data

    return key(names, kind, "jetstream.settings", note, keep)


def _sync_interval(key: str, value: Value, draft: Draft) -> str | float:
    if value.data == "always":
        return "always"
    return kinds.duration_or_seconds(key, value, draft)


def _cipher(key: str, value: Value, draft: Draft) -> str:
    name = kinds.text(key, value, draft)
    if name.lower() not in ("chacha", "chachapoly", "aes"):
        raise Refusal(f"Unknown cipher type: {gotext.quote(name)}")
    return name.lower()


def _concurrent_io(key: str, value: Value, draft: Draft) -> int:
    number = kinds.integer(key, value, draft)
    if not 4 <= number <= 8192:
        raise Refusal(
            f'Expected an absolute size for "{key}" between 4 and 8192, got {number}', value.at
        )
    return number


def _settings(keys: Table, path: str) -> kinds.Kind:
    """A block of settings inside the block."""

    def read(key: str, value: Value, draft: Draft) -> dict[str, object]:
        own = Draft()
        read_block(keys, kinds.block(key, value, draft), own, path)
        draft.errors.extend(own.errors)
        return own.options.jetstream.settings

    return kinds.Kind("block", read)


BATCH_KEYS: Final[Table] = table(
    _kept("max_inflight_per_stream", kinds.INTEGER, "batches of a stream at once"),
    _kept("max_inflight_total", kinds.INTEGER, "batches at once"),
    _kept("max_msgs", kinds.INTEGER, "messages of a batch"),
    _kept("timeout", kinds.DURATION, "time to complete a batch"),
)

LIMIT_KEYS: Final[Table] = table(
    _kept("max_ack_pending", kinds.INTEGER, "most unacknowledged messages of a consumer"),
    _kept("max_ha_assets", kinds.INTEGER, "no effect on a single server"),
    _kept("max_request_batch", kinds.INTEGER, "most messages of a pull request"),
    _kept("duplicate_window", kinds.DURATION, "longest window of a stream"),
    _kept("batch", _settings(BATCH_KEYS, "jetstream.limits.batch."), "limits of atomic batches"),
)

_SIZE: Final = kinds.STORAGE_SIZE
JETSTREAM_KEYS: Final[Table] = table(
    key(
        "enabled enable", kinds.BOOLEAN, "jetstream.enabled", "`false` turns the block off", _enable
    ),
    key(
        "store_dir storedir",
        kinds.TEXT,
        "jetstream.store_dir",
        "directory of streams",
        set_store_dir,
    ),
    _kept("max_memory_store max_mem_store max_mem", _SIZE, "memory for streams"),
    _kept("max_file_store max_file", _SIZE, "disk space for streams"),
    _kept("domain", kinds.TEXT, "name of the JetStream domain"),
    _kept("strict", kinds.BOOLEAN, "refuse unknown fields in requests"),
    _kept(
        "sync_interval sync",
        kinds.Kind("duration or always", _sync_interval),
        "acks wait for the sync (`always`, the default), or it comes so long after them",
    ),
    _kept("unique_tag", kinds.TEXT, "no effect on a single server"),
    _kept("extension_hint", kinds.TEXT, "no effect on a single server"),
    _kept("limits", _settings(LIMIT_KEYS, "jetstream.limits."), "limits for streams and consumers"),
    _kept("max_outstanding_catchup", _SIZE, "no effect on a single server"),
    _kept("max_buffered_size", _SIZE, "bytes waiting to be stored"),
    _kept("max_buffered_msgs", kinds.INTEGER, "messages waiting to be stored"),
    _kept("request_queue_limit", kinds.INTEGER, "API requests waiting"),
    _kept("info_queue_limit", kinds.INTEGER, "info requests waiting"),
    _kept("meta_compact", kinds.INTEGER, "no effect on a single server"),
    _kept("meta_compact_size", _SIZE, "no effect on a single server"),
    _kept("meta_compact_sync", kinds.BOOLEAN, "no effect on a single server"),
    _kept("max_concurrent_io", kinds.Kind("4 to 8192", _concurrent_io), "disk operations at once"),
    _kept("cipher", kinds.Kind("chachapoly or aes", _cipher), "no effect without a key"),
    refused("key ek encryption_key", _UNENCRYPTED),
    refused("prev_key prev_ek prev_encryption_key", _UNENCRYPTED),
    refused("tpm", _UNENCRYPTED),
)


def set_jetstream(draft: Draft, value: Value, data: Data) -> None:
    """`true`, `enabled`, or a block, which enables unless it says otherwise."""
    match data:
        case bool():
            draft.options.jetstream.enabled = data
        case str():
            choice = data.lower()
            if choice not in ("enabled", "disabled"):
                raise Refusal(f"Expected 'enabled' or 'disabled' for string value, got '{choice}'")
            draft.options.jetstream.enabled = choice == "enabled"
        case dict():
            draft.options.jetstream.enabled = True
            read_block(JETSTREAM_KEYS, data, draft, "jetstream.")
        case _:
            got = kinds.go_type(data)
            raise Refusal(f"Expected map, bool or string to define JetStream, got {got}")
