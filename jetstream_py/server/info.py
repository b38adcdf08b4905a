"""The INFO line: what the server says of itself, to each client with its own id and address."""

from __future__ import annotations

import msgspec

from jetstream_py.config.account_options import Tls
from jetstream_py.version import API_LEVEL, NATS_VERSION, __version__


class Info(msgspec.Struct, omit_defaults=True, kw_only=True):
    """Fields in the order of the real server; those with a default are left out when they have it."""

    server_id: str
    server_name: str
    version: str
    proto: int
    git_commit: str
    go: str
    host: str
    port: int
    headers: bool
    auth_required: bool = False
    tls_required: bool = False
    tls_verify: bool = False
    tls_available: bool = False
    max_payload: int
    jetstream: bool = False
    client_id: int
    client_ip: str
    nonce: str = ""
    domain: str = ""
    ldm: bool = False
    connect_urls: list[str] = []
    connect_info: bool = False
    remote_account: str = ""
    acc_is_sys: bool = False
    api_lvl: int = 0
    xkey: str = ""
    jetstream_py_version: str = ""


def render(info: Info) -> bytes:
    """The line as queued, with the blank before its end that nats-server 2.15 sends."""
    return b"INFO " + msgspec.json.encode(info) + b" \r"


def template(
    *,
    server_id: str,
    server_name: str,
    host: str,
    port: int,
    headers: bool,
    max_payload: int,
    xkey: str,
    tls: Tls | None = None,
    allow_non_tls: bool = False,
) -> Info:
    """The part that is the same for every client."""
    return Info(
        server_id=server_id,
        server_name=server_name,
        version=NATS_VERSION,
        proto=1,
        git_commit=f"py{__version__}",
        go="python",
        host=host,
        port=port,
        headers=headers,
        tls_required=tls is not None and not allow_non_tls,
        tls_verify=tls is not None and (tls.verify or tls.verify_and_map),
        tls_available=tls is not None and allow_non_tls,
        max_payload=max_payload,
        client_id=0,
        client_ip="",
        api_lvl=API_LEVEL,
        xkey=xkey,
        jetstream_py_version=__version__,
    )


def advertised(advertise: str, host: str, port: int) -> tuple[str, int]:
    """The address that clients are told: `client_advertise` wins, its port is optional."""
    if not advertise:
        return host, port
    name, colon, digits = advertise.rpartition(":")
    if not colon or advertise.endswith("]") or not digits.isdecimal():
        return advertise.strip("[]"), port
    return name.strip("[]"), int(digits)
