"""JetStream as a part of the server: store, engine and API, put together."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING

from jetstream_py.api.service import ApiService
from jetstream_py.app.failure import StartError
from jetstream_py.app.jsz import JetStreamMonitor, Tenant
from jetstream_py.config.account_options import GLOBAL_ACCOUNT, StreamLimits
from jetstream_py.engine.jetstream import JetStream
from jetstream_py.engine.settings import Settings
from jetstream_py.gotext import duration
from jetstream_py.nuid import Nuid
from jetstream_py.server.internal import Internal
from jetstream_py.store import Store, StoreError
from jetstream_py.version import API_LEVEL

if TYPE_CHECKING:
    from jetstream_py.config.options import Options
    from jetstream_py.server.broker import Broker


_SYNC_INTERVAL = 120_000_000_000  # what nats-server says beside `sync_always`


_CONSUMERS = 1000  # what nats-server says beside its limits


def _number(setting: object) -> int:
    """A size or a number from the configuration; what is not given is no limit."""
    return setting if isinstance(setting, int) else 0


def _seconds(setting: object) -> float:
    """A duration; `always`, and what is not given, is 0."""
    return setting if isinstance(setting, float) and setting > 0 else 0.0


def engine_settings(options: Options) -> Settings:
    """What the engine needs to know of the server's options."""
    given = options.jetstream.settings
    limits = given.get("limits")
    limits = limits if isinstance(limits, dict) else {}
    return Settings(
        domain=str(given.get("domain") or ""),
        strict=given.get("strict") is not False,
        ack_v2=options.feature_flags.get("js_ack_fc_v2", False),
        max_payload=options.max_payload,
        sync_interval=_seconds(given.get("sync_interval")),
        duplicate_window=round(_seconds(limits.get("duplicate_window")) * 1e9),
        max_ack_pending=_number(limits.get("max_ack_pending")),
        max_request_batch=_number(limits.get("max_request_batch")),
        max_ha_assets=_number(limits.get("max_ha_assets")),
    )


class JetStreamPart:
    """Everything that runs when JetStream is on."""

    def __init__(self, broker: Broker, path: str, loop: asyncio.AbstractEventLoop) -> None:
        """Open the store, recover, serve. Raises StartError."""
        self._broker = broker
        log = broker.log
        log.info("Starting JetStream")
        began = broker.clock.monotonic()
        given = broker.options.jetstream.settings
        self._settings = settings = engine_settings(broker.options)
        self._interval_ns = round(settings.sync_interval * 1e9)
        try:
            self.store = Store(path, loop.call_soon_threadsafe, lazy=self._interval_ns > 0)
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
            {kind: _number(given.get(f"max_{kind}_store")) for kind in ("file", "memory")},
            settings,
        )
        self.js.recover()
        self.api = ApiService(self.js, broker.options.max_pending)
        log.info("---------------- JETSTREAM ----------------")
        if settings.strict:
            log.info("  Strict:          true")
        log.info(f"  Durability:      {self._durability()}")
        log.info(f'  Store Directory: "{path}"')
        if settings.domain:
            log.info(f"  Domain:          {settings.domain}")
        log.info(f"  API Level:       {API_LEVEL}")
        log.info("-------------------------------------------")
        for name, stream in self.js.streams.items():
            log.info(f"  Restored {stream.store.messages} messages for stream '{name}'")
        took = (broker.clock.monotonic() - began) * 1000
        log.info(f"Took {took:.3f}ms to start JetStream")
        if self._interval_ns:
            log.warn("sync_interval is set: AN ACK DOES NOT MEAN THAT THE MESSAGE IS ON DISK")
            log.warn(
                f"A crash of the server or a power cut loses up to {duration(self._interval_ns)} "
                "of acknowledged messages; `sync_interval: always` loses none"
            )
        self._path = path
        broker.jetstream = True
        broker.jetstream_domain = settings.domain
        broker.jetstream_view = JetStreamMonitor(broker, self.tenants, self._config, self._limits)

    def _durability(self) -> str:
        if self._interval_ns:
            return f"acks leave BEFORE the sync, which comes every {duration(self._interval_ns)}"
        return "every ack is synced to disk first"

    def _config(self) -> dict[str, object]:
        """What monitoring shows of the settings."""
        most, settings = self.js.most, self._settings
        return {
            "max_memory": most["memory"] or -1,
            "max_storage": most["file"] or -1,
            "store_dir": self._path,
            "sync_interval": self._interval_ns or _SYNC_INTERVAL,
            **({} if self._interval_ns else {"sync_always": True}),
            **({"domain": settings.domain} if settings.domain else {}),
            **({"strict": True} if settings.strict else {}),
        }

    def tenants(self) -> list[Tenant]:
        return [Tenant(GLOBAL_ACCOUNT, self.js, self.api, StreamLimits())]

    def _limits(self) -> dict[str, int]:
        settings = self._settings
        found = {
            "max_request_batch": settings.max_request_batch,
            "max_ack_pending": settings.max_ack_pending,
            "max_ha_assets": settings.max_ha_assets,
            "max_duplicate_window": settings.duplicate_window,
            "default_max_consumers": _CONSUMERS,
        }
        return {name: limit for name, limit in found.items() if limit}

    def close(self) -> None:
        self._broker.log.info("Initiating JetStream Shutdown...")
        self._broker.jetstream = False
        self._broker.jetstream_view = None
        self.api.close()
        self.js.close()
        self.store.close()
        self._broker.log.info("JetStream Shutdown")

    def _failed(self, error: str) -> None:
        """Nothing after a failed commit can be trusted: streams stop, core NATS goes on."""
        self._broker.jetstream_failure = error
        self._broker.log.error(f"JetStream is out of service: {error}")
