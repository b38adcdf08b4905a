"""What commands that talk to a server have in common: how to reach it, how far they are."""

from __future__ import annotations

import argparse
import sys
import time
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from jetstream_py.migrate import Endpoint

PROGRESS_TIME: Final = 0.2  # seconds between two looks of the line on a terminal
_BAR: Final = 24

_FIELDS: Final = (
    ("creds", "file with a user's JWT and seed"),
    ("ca", "file with the authorities to trust; makes the connection use TLS"),
    ("cert", "file with our certificate"),
    ("key", "file with its key"),
    ("domain", "JetStream domain"),
)


def add_server(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("server")
    group.add_argument("--server", default="", metavar="URL", help="nats://127.0.0.1:4222")
    for name, text in _FIELDS:
        group.add_argument(f"--{name}", default="", help=text)


def endpoint_of(given: argparse.Namespace) -> Endpoint:
    from jetstream_py.migrate import Endpoint

    url = given.server or "nats://127.0.0.1:4222"
    return Endpoint(url, *(getattr(given, name) for name, _ in _FIELDS))


class Bar:
    """How far it is and how fast, on one line of a terminal."""

    def __init__(self, terminal: bool) -> None:
        self._terminal = terminal
        self._shown = 0.0
        self._began = time.monotonic()

    def __call__(self, stream: str, done: int, total: int) -> None:
        now = time.monotonic()
        if self._terminal and now - self._shown >= PROGRESS_TIME:
            self._shown = now
            share = min(done / total, 1.0) if total else 0.0
            bar = "#" * round(share * _BAR)
            rate = done / max(now - self._began, 0.001)
            text = f"{stream}: [{bar:-<{_BAR}}] {share:4.0%} {done:,} messages, {rate:,.0f}/s"
            print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)

    def clear(self) -> None:
        if self._terminal and self._shown:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
