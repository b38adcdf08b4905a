"""Lines in syslog: the machine's own, or one given as udp://host:port, tcp://... or unix://path.

The standard library's handler waits for a syslog that stands still, and the server would wait with
it. Here nothing waits: a line that the socket does not take is lost.
"""

from __future__ import annotations

import os
import socket
import time
from typing import Any, Final, NamedTuple

from jetstream_py.log.lines import Level, LogError, LogSettings

TAG: Final = "nats-server"
LOCAL_SOCKETS: Final = ("/dev/log", "/var/run/syslog", "/var/run/log")
CONNECT_TIME: Final = 5.0  # at the start, before there are clients to keep waiting
SEVERITIES: Final = {"crit": 2, "err": 3, "warning": 4, "notice": 5, "debug": 7}


class Target(NamedTuple):
    """A socket address that was connected to once."""

    family: int
    kind: int
    address: Any


class SyslogSink:
    """Syslog has its own head of a line, so ours is left out."""

    __slots__ = ("_remote", "_socket", "_source", "_target")

    def __init__(self, settings: LogSettings) -> None:
        self._remote = bool(settings.remote_syslog)
        host = f"{os.uname().nodename} " if self._remote else ""
        self._source = f"{host}{TAG}[{os.getpid()}]"
        try:
            self._socket, self._target = connect(targets(settings.remote_syslog))
        except OSError as error:
            raise LogError(f'error connecting to syslog: "{error}"') from error

    def write(self, level: Level, text: str, now_ns: int) -> None:
        now = time.localtime(now_ns // 1_000_000_000)
        when = internet_time(now) if self._remote else time.strftime("%b %e %H:%M:%S", now)
        line = f"<{SEVERITIES[level.severity]}>{when} {self._source}: {text}\n"
        data = line.encode("utf-8", "backslashreplace")
        try:
            whole = self._socket.send(data) == len(data)
        except BlockingIOError:
            return
        except OSError:
            whole = False
        if not whole:  # gone, or half a line in a stream: the next line needs a new connection
            self._reconnect()

    def reopen(self) -> bool:
        return False

    def close(self) -> None:
        self._socket.close()

    def _reconnect(self) -> None:
        family, kind, address = self._target
        self._socket.close()
        try:
            self._socket = socket.socket(family, kind)
            self._socket.setblocking(False)
            self._socket.connect_ex(address)
        except OSError:
            pass  # the next line tries again


def internet_time(now: time.struct_time) -> str:
    """2026-11-16T07:21:37Z, or with the zone's offset."""
    zone = time.strftime("%z", now)
    offset = "Z" if zone == "+0000" else f"{zone[:3]}:{zone[3:]}"
    return time.strftime("%Y-%m-%dT%H:%M:%S", now) + offset


def targets(remote: str) -> list[Target]:
    """Where to try, best first. LogError when `remote` is no address."""
    network, _, place = remote.rpartition("://")
    if not remote or network == "unix":
        paths = (place,) if remote else LOCAL_SOCKETS
        kinds = (socket.SOCK_DGRAM, socket.SOCK_STREAM)
        return [Target(socket.AF_UNIX, kind, path) for path in paths for kind in kinds]
    if network not in ("udp", "tcp"):
        raise LogError(f'error invalid network type: "{network}"')
    host, _, port = place.rpartition(":")
    if not port:
        raise LogError(f'error connecting to syslog: "address {place}: missing port in address"')
    kind = socket.SOCK_DGRAM if network == "udp" else socket.SOCK_STREAM
    found = socket.getaddrinfo(host.strip("[]"), port, type=kind)
    return [Target(family, kind, address) for family, _, _, _, address in found]


def connect(choices: list[Target]) -> tuple[socket.socket, Target]:
    """The first one that answers. OSError when none does."""
    for target in choices:
        sock = socket.socket(target.family, target.kind)
        sock.settimeout(CONNECT_TIME)
        try:
            sock.connect(target.address)
        except OSError as error:
            sock.close()
            failure = error
        else:
            sock.setblocking(False)
            return sock, target
    if choices[0].family == socket.AF_UNIX:
        raise OSError("Unix syslog delivery error")
    raise failure
