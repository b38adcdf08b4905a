"""Limits of the account and the server, and a server that is not strict."""

from __future__ import annotations

import json
from typing import Final

from jetstream_py.api.decode import decode_body
from jetstream_py.api.errors import ApiError
from jetstream_py.api.requests import StreamConfigRequest
from jetstream_py.api.stream_config import Rules
from jetstream_py.api.types import AccountLimits
from tests.api.cases_create import Config, S
from tests.api.oracle import Oracle, created
from tests.support.server import ORACLE, StartServer

MB: Final = 1024 * 1024
LIMITED: Final = """
accounts { A {
    jetstream {
        max_mem: 10MB, max_file: 20MB, max_consumers: 3, max_bytes_required: true
        mem_max_stream_bytes: 1MB, disk_max_stream_bytes: 2MB
    }
    users: [{user: a, password: a}]
} }
no_auth_user: a
jetstream { store_dir: "./data", limits { duplicate_window: "30s" } }
"""
RULES: Final = Rules(
    account=AccountLimits(
        max_memory=10 * MB,
        max_storage=20 * MB,
        max_consumers=3,
        memory_max_stream_bytes=MB,
        storage_max_stream_bytes=2 * MB,
        max_bytes_required=True,
    ),
    duplicate_window=30 * S,
)
CONFIGS: Final[tuple[Config, ...]] = (
    {},
    {"max_bytes": -1},
    {"max_bytes": 100},
    {"max_bytes": MB, "storage": "memory"},
    {"max_bytes": MB + 1, "storage": "memory"},
    {"max_bytes": 2 * MB},
    {"max_bytes": 2 * MB + 1},
    {"max_bytes": 2 * MB + 1, "subjects": ["a..b"]},
    {"max_age": -1},
    {"sealed": True},
    {"max_bytes": 100, "max_consumers": 3},
    {"max_bytes": 100, "max_consumers": 4},
    {"max_bytes": 100, "max_consumers": 4, "subjects": ["a..b"]},
    {"max_bytes": 100, "max_consumers": 4, "sealed": True},
    {"max_bytes": 1024 * MB, "max_consumers": 4},
    {"max_bytes": 100, "duplicate_window": 30 * S},
    {"max_bytes": 100, "duplicate_window": 31 * S},
    {"max_bytes": 100, "max_age": 10 * S},
    {"max_bytes": 100, "max_age": 40 * S},
    {"max_bytes": 100, "max_age": 20 * S, "duplicate_window": 40 * S},
    {"max_bytes": 100, "pedantic": True},
    {"max_bytes": 100, "pedantic": True, "max_age": 10 * S},
)


def test_limits(start_server: StartServer) -> None:
    oracle = Oracle(start_server(ORACLE, config=LIMITED))
    different = []
    for config in CONFIGS:
        name = oracle.fresh_name()
        body = {"name": name, **config}
        theirs, ours = oracle.config("CREATE", name, body), created(body, RULES)
        if ours != theirs:
            different.append((config, theirs, ours))
        oracle.delete(name)
    oracle.client.close()
    assert different == []


LENIENT: Final = 'jetstream { store_dir: "./data", strict: false }'
BODIES: Final = (
    '{"name":"@","bogus":1}',
    '{"name":"@","bogus":1,"max_msgs":"x"}',
    '{"name":"@","bogus":{"a":[1]},"max_msgs":5}',
    '{"name":"@"} {"max_msgs":5}',
    '{"name":"@","bogus":1} {"max_msgs":5}',
    '{"name":"@"} x',
    '{"name":"@"',
    '{"name":"@","retention":"x"}',
    "{bad",
    '{"bogus":',
    '{"a":"\\x"}',
    "[]",
)


def test_a_server_that_is_not_strict(start_server: StartServer) -> None:
    oracle = Oracle(start_server(ORACLE, config=LENIENT))
    for text in BODIES:
        name = oracle.fresh_name()
        body = text.replace("@", name).encode()
        theirs = json.loads(oracle.config("CREATE", name, body))
        assert lenient(body) == (theirs.get("description"), theirs.get("max_msgs")), text
    oracle.client.close()


def lenient(body: bytes) -> tuple[str | None, int | None]:
    """The error, or the one field that the bodies set."""
    try:
        return None, decode_body(body, StreamConfigRequest, strict=False).max_msgs or -1
    except ApiError as fault:
        return fault.description, None
