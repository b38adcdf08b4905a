"""JetStream as a part of the server: store, engine and API, put together."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING

from jetstream_py.api.service import ApiService
from jetstream_py.app.failure import StartError
from jetstream_py.engine.jetstream import JetStream
from jetstream_py.gotext import duration
from jetstream_py.nuid import Nuid
from jetstream_py.server.internal import Internal
from jetstream_py.store import Store, StoreError
from jetstream_py.version import API_LEVEL

if TYPE_CHECKING:
    from jetstream_py.server.broker import Broker


# Settings that the configuration knows and this version does not act on.
_WITHOUT_EFFECT = ("domain", "strict", "limits")
_SYNC_INTERVAL = 120_000_000_000  # what nats-server says beside `sync_always`


def _bytes(setting: object) -> int:
    """A size from the configuration; what is not given is no limit."""
    return setting if isinstance(setting, int) else 0


def _seconds(setting: object) -> float:
    """`sync_interval` in seconds; always is 0."""
    return setting if isinstance(setting, float) and setting > 0 else 0.0


class JetStreamPart:
    """Everything that runs when JetStream is on."""

    def __init__(self, broker: Broker, path: str, loop: asyncio.AbstractEventLoop) -> None:
        """Open the store, recover, serve. Raises StartError."""
        self._broker = broker
        log = broker.log
        log.info("Starting JetStream")
        began = broker.clock.monotonic()
        settings = broker.options.jetstream.settings
        interval = _seconds(settings.get("sync_interval"))
        self._interval_ns = round(interval * 1e9)
        try:
            self.store = Store(path, loop.call_soon_threadsafe, lazy=interval > 0)
        except StoreError as error:
            hint = "Choose another directory with -sd, or check this one with jetstream-py verify"
            raise StartError(f"Can't start JetStream: {error}", hint) from error
        bus = Internal(broker, broker.default_account)
        self.js = JetStream(
            self.store,
            broker.clock,
            broker.timers,
            bus,
            loop.call_soon,
            self._failed,
            broker.server_name,
            Nuid(os.urandom).next,
            {kind: _bytes(settings.get(f"max_{kind}_store")) for kind in ("file", "memory")},
            interval,
        )
        self.js.recover()
        self.api = ApiService(self.js, broker.options.max_pending)
        log.info("---------------- JETSTREAM ----------------")
        log.info("  Strict:          true")
        log.info(f"  Durability:      {self._durability()}")
        log.info(f'  Store Directory: "{path}"')
        log.info(f"  API Level:       {API_LEVEL}")
        log.info("-------------------------------------------")
        for name, stream in self.js.streams.items():
            log.info(f"  Restored {stream.store.messages} messages for stream '{name}'")
        took = (broker.clock.monotonic() - began) * 1000
        log.info(f"Took {took:.3f}ms to start JetStream")
        if interval:
            log.warn("sync_interval is set: AN ACK DOES NOT MEAN THAT THE MESSAGE IS ON DISK")
            log.warn(
                f"A crash of the server or a power cut loses up to {duration(self._interval_ns)} "
                "of acknowledged messages; `sync_interval: always` loses none"
            )
        for name in _WITHOUT_EFFECT:
            if settings.get(name) not in (None, "always", True):
                log.warn(f"jetstream.{name} has no effect in this version")
        self._path = path
        broker.jetstream = True
        broker.jetstream_varz = self.varz

    def _durability(self) -> str:
        if self._interval_ns:
            return f"acks leave BEFORE the sync, which comes every {duration(self._interval_ns)}"
        return "every ack is synced to disk first"

    def varz(self) -> dict[str, object]:
        """JetStream's part of /varz."""
        js, most = self.js, self.js.most
        return {
            "config": {
                "max_memory": most["memory"] or -1,
                "max_storage": most["file"] or -1,
                "store_dir": self._path,
                "sync_interval": self._interval_ns or _SYNC_INTERVAL,
                **({} if self._interval_ns else {"sync_always": True}),
                "strict": True,
            },
            "stats": {
                "memory": js.used("memory"),
                "storage": js.used("file"),
                "reserved_memory": js.reserved("memory"),
                "reserved_storage": js.reserved("file"),
                "accounts": 1,
                "ha_assets": 0,
                "api": {
                    "level": API_LEVEL,
                    "total": self.api.total,
                    "errors": self.api.errors,
                },
            },
            "limits": {},
        }

    def close(self) -> None:
        self._broker.log.info("Initiating JetStream Shutdown...")
        self._broker.jetstream = False
        self._broker.jetstream_varz = None
        self.api.close()
        self.js.close()
        self.store.close()
        self._broker.log.info("JetStream Shutdown")

    def _failed(self, error: str) -> None:
        """Nothing after a failed commit can be trusted: streams stop, core NATS goes on."""
        self._broker.jetstream_failure = error
        self._broker.log.error(f"JetStream is out of service: {error}")
