"""The block `jetstream`."""

from __future__ import annotations

from typing import Any, Final

from jetstream_py import gotext
from jetstream_py.config import kinds
from jetstream_py.config.draft import Draft, Refusal
from jetstream_py.config.parser import Data, Value
from jetstream_py.config.tables import Key, Table, key, read_block, refused, table

_UNENCRYPTED: Final = "without it, data would be stored unencrypted"


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
    _kept("batch", _settings(BATCH_KEYS, "jetstream.limits.batch."), "limits of batches"),
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
        "preview_api", kinds.BOOLEAN, "serve the subjects of the preview, too: see extensions.md"
    ),
    _kept(
        "sync_interval sync",
        kinds.Kind("duration or always", _sync_interval),
        "acks wait for the sync (`always`, the default), or it comes so long after them",
    ),
    _kept("unique_tag", kinds.TEXT, "no effect on a single server"),
    _kept("extension_hint", kinds.TEXT, "no effect on a single server"),
    _kept("limits", _settings(LIMIT_KEYS, "jetstream.limits."), "limits for streams and consumers"),
    _kept("max_outstanding_catchup", _SIZE, "no effect on a single server"),
    _kept(
        "max_buffered_size",
        _SIZE,
        "bytes of a stream waiting for a commit, 128MB unless given; more is refused with 429",
    ),
    _kept(
        "max_buffered_msgs",
        kinds.INTEGER,
        "messages of a stream waiting for a commit, 100000 unless given",
    ),
    _kept(
        "request_queue_limit",
        kinds.INTEGER,
        "API requests waiting, 10000 unless given; then all of them are dropped",
    ),
    _kept(
        "info_queue_limit",
        kinds.INTEGER,
        "requests for infos, names and lists waiting, as many unless given",
    ),
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
