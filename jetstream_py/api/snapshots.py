"""The verbs about backups: STREAM.SNAPSHOT and STREAM.RESTORE."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from jetstream_py import limits
from jetstream_py.api import advisories
from jetstream_py.api import responses as r
from jetstream_py.api.advisories import BackupEvents
from jetstream_py.api.consumer_config import check_config as check_consumer
from jetstream_py.api.consumers import rules_of as consumer_rules
from jetstream_py.api.decode import decode_body, decode_required, is_empty
from jetstream_py.api.errors import ApiError, E, error
from jetstream_py.api.requests import StreamRestoreRequest, StreamSnapshotRequest
from jetstream_py.api.restore_pull import Restore
from jetstream_py.api.snapshot_push import Snapshot
from jetstream_py.api.stream_config import check_config
from jetstream_py.api.stream_steps import check_account, check_single
from jetstream_py.api.streams import describe, rules_of, state_of
from jetstream_py.backup.errors import ArchiveError
from jetstream_py.engine.snapshot import StreamArchive
from jetstream_py.subject import is_valid_literal

if TYPE_CHECKING:
    from jetstream_py.api.consumer_types import ConsumerConfig
    from jetstream_py.api.service import Request
    from jetstream_py.api.types import StreamConfig
    from jetstream_py.engine.restore import Restoration


def snapshot(request: Request) -> bytes:
    if is_empty(request.body):
        raise error(E.BAD_REQUEST)
    stream = request.js.stream(request.name)
    body = decode_body(request.body, StreamSnapshotRequest, request.strict)
    subject = body.deliver_subject.encode()
    if not is_valid_literal(subject) or any(blank in subject for blank in b" \t\r\n"):
        raise error(E.SNAPSHOT_DELIVER_SUBJECT_INVALID)
    backups = request.service.backups
    backups.check_room()
    state = state_of(stream)
    events = _events(request, "snapshot", request.name)
    Snapshot(
        backups,
        stream,
        StreamArchive(stream, r.encode(state), not body.no_consumers),
        subject,
        _bounded(body.chunk_size, limits.SNAPSHOT_CHUNK, limits.SNAPSHOT_CHUNKS),
        _bounded(body.window_size, limits.SNAPSHOT_WINDOW, limits.SNAPSHOT_WINDOWS),
        events,
    )
    events.begun(state)
    return r.encode(r.StreamSnapshotResponse(config=stream.config, state=state))


def _bounded(asked: int, usual: int, bounds: tuple[int, int]) -> int:
    return min(max(asked or usual, bounds[0]), bounds[1])


def _events(request: Request, kind: str, stream: str) -> BackupEvents:
    return BackupEvents(request.js, kind, stream, request.caller, request.headers)


def restore(request: Request) -> bytes:
    body = decode_required(request.body, StreamRestoreRequest, request.strict)
    js = request.js
    named = replace(body.config, name=body.config.name or request.name)
    if named.name != request.name:
        raise error(E.STREAM_MISMATCH)
    rules = rules_of(js)
    config = check_config(named, rules)
    if config.name in js.streams:
        raise error(E.STREAM_NAME_EXIST_RESTORE_FAILED)
    check_account(config, rules)
    backups = request.service.backups
    backups.check_room()
    events = _events(request, "restore", config.name)
    restoring = Restore(backups, config, events, lambda staged: _finish(request, config, staged))
    events.begun()
    return r.encode(r.StreamRestoreResponse(deliver_subject=restoring.subject.decode()))


def _finish(request: Request, config: StreamConfig, staged: Restoration) -> bytes:
    js = request.js
    if not js.enabled:
        raise error(E.NOT_ENABLED_FOR_ACCOUNT)
    if config.name in js.streams:
        raise error(E.STREAM_NAME_EXIST_RESTORE_FAILED)
    try:
        check_single(config)
        check_account(config, rules_of(js))
        js.check_addition(config)
    except ApiError as fault:
        raise ArchiveError(f"error adding stream: {fault.description} ({fault.err_code})") from None
    rules = consumer_rules(js, config)

    def checked(consumer: ConsumerConfig) -> ConsumerConfig:
        return check_consumer(consumer, rules)

    stream = staged.finish(checked)
    advisories.stream_action(js, config.name, "create")
    # nats-server answers before the stream looks at its origins.
    return r.stream_restored(replace(describe(js, stream), mirror=None, sources=()))
