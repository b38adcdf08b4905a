"""JetStream as a part of the server: store, engine and API, put together for all accounts.

Every account has the API. One without JetStream answers there that it has none; the system account's is of
another kind. `apply` makes the accounts be what the options say, at the start and after each reload: an
account that is gone, or has no JetStream any more, leaves its streams to the store until it is back.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from jetstream_py import limits
from jetstream_py.api.advisories import limit_reached
from jetstream_py.api.errors import ApiError
from jetstream_py.api.service import ApiService
from jetstream_py.api.system import SystemApi
from jetstream_py.app.allowances import Allowances, check_sums
from jetstream_py.app.failure import StartError, StoreInUse
from jetstream_py.app.jsz import JetStreamMonitor, Tenant
from jetstream_py.config.account_options import GLOBAL_ACCOUNT, StreamLimits
from jetstream_py.engine.engine import Engine
from jetstream_py.engine.jetstream import JetStream
from jetstream_py.engine.settings import Settings
from jetstream_py.gotext import duration
from jetstream_py.nuid import Nuid
from jetstream_py.server.internal import Internal, MakeBus
from jetstream_py.store import Store, StoreError, StoreLocked
from jetstream_py.version import API_LEVEL

if TYPE_CHECKING:
    from jetstream_py.config.options import Options
    from jetstream_py.server.accounts import Account
    from jetstream_py.server.broker import Broker


_SYNC_INTERVAL = 120_000_000_000  # what nats-server says beside `sync_always`


_CONSUMERS = 1000  # what nats-server says beside its limits


def _number(setting: object) -> int:
    """A size or a number from the configuration; what is not given is no limit."""
    return setting if isinstance(setting, int) else 0


def _positive(setting: object, default: int) -> int:
    number = _number(setting)
    return number if number > 0 else default


def _seconds(setting: object) -> float:
    """A duration; `always`, and what is not given, is 0."""
    return setting if isinstance(setting, float) and setting > 0 else 0.0


def engine_settings(options: Options) -> Settings:
    """What the engine needs to know of the server's options."""
    given = options.jetstream.settings
    found = given.get("limits")
    most = found if isinstance(found, dict) else {}
    found = most.get("batch")
    batch = found if isinstance(found, dict) else {}
    requests = _positive(given.get("request_queue_limit"), limits.API_QUEUE)
    return Settings(
        domain=str(given.get("domain") or ""),
        strict=given.get("strict") is not False,
        preview_api=given.get("preview_api") is True,
        ack_v2=options.feature_flags.get("js_ack_fc_v2", False),
        max_payload=options.max_payload,
        sync_interval=_seconds(given.get("sync_interval")),
        max_buffered_msgs=_positive(given.get("max_buffered_msgs"), limits.BUFFERED_MSGS),
        max_buffered_size=_positive(given.get("max_buffered_size"), limits.BUFFERED_BYTES),
        request_queue_limit=requests,
        info_queue_limit=_positive(given.get("info_queue_limit"), requests),
        duplicate_window=round(_seconds(most.get("duplicate_window")) * 1e9),
        max_ack_pending=_number(most.get("max_ack_pending")),
        max_request_batch=_number(most.get("max_request_batch")),
        max_ha_assets=_number(most.get("max_ha_assets")),
        batch_per_stream=max(0, _number(batch.get("max_inflight_per_stream"))),
        batch_total=max(0, _number(batch.get("max_inflight_total"))),
        batch_msgs=max(0, _number(batch.get("max_msgs"))),
        batch_timeout=_seconds(batch.get("timeout")),
    )


class AccountPart(NamedTuple):
    """JetStream of one account."""

    account: Account
    js: JetStream
    api: ApiService | SystemApi

    def close(self) -> None:
        self.api.close()
        self.js.close()


class JetStreamPart:
    """Everything that runs when JetStream is on."""

    def __init__(
        self,
        broker: Broker,
        path: str | None,
        loop: asyncio.AbstractEventLoop,
        soon: Callable[[Callable[[], None]], object] | None = None,
        make_bus: MakeBus = Internal,
    ) -> None:
        """Open the store, recover, serve. Without a path all streams are in memory. `soon` runs a function in
        the next turn of the loop, if not by the loop itself. Raises StartError."""
        self._broker = broker
        self._path = path
        self._make_bus = make_bus
        log = broker.log
        log.info("Starting JetStream")
        began = broker.clock.monotonic()
        given = broker.options.jetstream.settings
        self._settings = settings = engine_settings(broker.options)
        self._interval_ns = round(settings.sync_interval * 1e9)
        self._allowances = Allowances()
        self._parts: dict[str, AccountPart] = {}
        self._gone = [0, 0]  # requests and errors of accounts that have no JetStream any more
        self._warned: dict[str, float] = {}
        try:
            ahead = broker.options.jetstream.ahead
            self.store = Store(
                path, loop.call_soon_threadsafe, ahead=ahead, lazy=self._interval_ns > 0
            )
        except StoreLocked as error:
            hint = "Stop the other server, or choose another directory with -sd"
            raise StoreInUse(f"Can't start JetStream: {error}", hint) from error
        except StoreError as error:
            hint = "Choose another directory with -sd, or check this one with jetstream-py verify"
            raise StartError(f"Can't start JetStream: {error}", hint) from error
        self.engine = Engine(
            self.store,
            broker.clock,
            broker.timers,
            soon or loop.call_soon,
            self._failed,
            broker.server_name,
            Nuid(os.urandom).next,
            {kind: _number(given.get(f"max_{kind}_store")) for kind in ("file", "memory")},
            settings,
            self._warn,
        )
        self.engine.requests.overflow = self._overflow
        for name in list(self.engine.parked):
            broker.find_account(name)
        try:
            self._configure()
        except ApiError as error:
            self.store.close()
            hint = "Lower the limits of accounts, or raise max_file_store and max_memory_store"
            raise StartError(f"Can't start JetStream: {_refusal(error)}", hint) from error
        self.engine.begin()
        self._tell_start(broker.clock.monotonic() - began)
        broker.jetstream = True
        broker.jetstream_domain = settings.domain
        broker.jetstream_view = JetStreamMonitor(
            broker, self.tenants, self._config, self._limits, self.api_counts, self.dropped
        )

    def _tell_start(self, took: float) -> None:
        log, settings = self._broker.log, self._settings
        log.info("---------------- JETSTREAM ----------------")
        if settings.strict:
            log.info("  Strict:          true")
        log.info(f"  Durability:      {self._durability()}")
        log.info(f'  Store Directory: "{self._path or ""}"')
        if settings.domain:
            log.info(f"  Domain:          {settings.domain}")
        log.info(f"  API Level:       {API_LEVEL}")
        log.info("-------------------------------------------")
        for account, part in self.accounts.items():
            for name, stream in part.js.streams.items():
                where = f"{account} > {name}" if account != GLOBAL_ACCOUNT else name
                log.info(f"  Restored {stream.store.messages} messages for stream '{where}'")
        self._tell_parked()
        log.info(f"Took {took * 1000:.3f}ms to start JetStream")
        if self._interval_ns:
            log.warn("sync_interval is set: AN ACK DOES NOT MEAN THAT THE MESSAGE IS ON DISK")
            log.warn(
                f"A crash of the server or a power cut loses up to {duration(self._interval_ns)} "
                "of acknowledged messages; `sync_interval: always` loses none"
            )

    def _tell_parked(self) -> None:
        for account, parked in self.engine.parked.items():
            names = ", ".join(sorted(each.stored.config.name for each in parked))
            self._broker.log.warn(
                f"Account '{account}' has no JetStream: its streams are kept and not served: {names}"
            )

    def _durability(self) -> str:
        if self._path is None:
            return "none: all streams are in memory"
        if self._interval_ns:
            return f"acks leave BEFORE the sync, which comes every {duration(self._interval_ns)}"
        return "every ack is synced to disk first"

    # -- accounts ---------------------------------------------------------------------------------

    @property
    def accounts(self) -> dict[str, AccountPart]:
        """Those that have JetStream."""
        return {name: part for name, part in self._parts.items() if part.js.enabled}

    def apply(self) -> None:
        """The broker has taken reloaded options."""
        parked = set(self.engine.parked)
        try:
            self._configure()
        except ApiError as error:
            self._broker.log.error(_refusal(error))
        self.engine.begin()
        if set(self.engine.parked) - parked:
            self._tell_parked()

    def _configure(self) -> None:
        """Give each account what is its own. Raises ApiError if that is more than there is: then accounts
        that have JetStream keep what they had."""
        broker = self._broker
        wanted = self._allowances.find(broker)
        for name, part in list(self._parts.items()):
            if broker.accounts.get(name) is not part.account or self._is_system(part):
                self._disable(part)
                part.close()
                del self._parts[name], self.engine.accounts[name]
            elif part.js.enabled and name not in wanted:
                self._disable(part)
        for account in broker.accounts.values():
            if account.name not in self._parts:
                self._parts[account.name] = self._part(account)
        check_sums(wanted, self.engine.most)
        for name, allowance in wanted.items():
            js = self._parts[name].js
            if js.allowance is not allowance:
                js.enable(allowance)

    def _is_system(self, part: AccountPart) -> bool:
        """Has the account become, or ceased to be, the system account?"""
        system = part.account is self._broker.system_account
        return system is not isinstance(part.api, SystemApi)

    def _part(self, account: Account) -> AccountPart:
        js = JetStream(self.engine, self._make_bus(self._broker, account), account.name)
        if account is self._broker.system_account:
            return AccountPart(account, js, SystemApi(js, self._broker.log.info))
        return AccountPart(account, js, ApiService(js, self._broker.options.max_pending))

    def _disable(self, part: AccountPart) -> None:
        if part.js.enabled:
            part.js.disable()
        if isinstance(part.api, ApiService):
            self._gone[0] += part.api.total
            self._gone[1] += part.api.errors
            part.api.total = part.api.errors = 0

    @property
    def on_disk(self) -> bool:
        return self._path is not None

    # -- what it tells ----------------------------------------------------------------------------

    def api_counts(self) -> tuple[int, int]:
        """Requests and errors since the start."""
        apis = [part.api for part in self.accounts.values() if isinstance(part.api, ApiService)]
        total = sum(api.total for api in apis)
        return self._gone[0] + total, self._gone[1] + sum(api.errors for api in apis)

    def dropped(self) -> tuple[int, int]:
        """Publishes and API requests that came too fast."""
        return self.engine.dropped, self.engine.requests.dropped

    def _config(self) -> dict[str, object]:
        """What monitoring shows of the settings."""
        most, settings = self.engine.most, self._settings
        return {
            "max_memory": most["memory"] or -1,
            "max_storage": most["file"] or -1,
            "store_dir": self._path or "",
            "sync_interval": self._interval_ns or _SYNC_INTERVAL,
            **({} if self._interval_ns else {"sync_always": True}),
            **({"domain": settings.domain} if settings.domain else {}),
            **({"strict": True} if settings.strict else {}),
        }

    def tenants(self) -> list[Tenant]:
        return [
            Tenant(name, part.js, part.api, part.account.options.jetstream or StreamLimits())
            for name, part in self.accounts.items()
            if isinstance(part.api, ApiService)
        ]

    def _limits(self) -> dict[str, int]:
        settings = self._settings
        found = {
            "max_request_batch": settings.max_request_batch,
            "max_ack_pending": settings.max_ack_pending,
            "max_ha_assets": settings.max_ha_assets,
            "max_duplicate_window": settings.duplicate_window,
            "max_batch_inflight_per_stream": settings.batch_per_stream,
            "max_batch_inflight_total": settings.batch_total,
            "max_batch_size": settings.batch_msgs,
            "max_batch_timeout": round(settings.batch_timeout * 1e9),
            "default_max_consumers": _CONSUMERS,
        }
        return {name: limit for name, limit in found.items() if limit}

    def close(self) -> None:
        self._broker.log.info("Initiating JetStream Shutdown...")
        self._broker.jetstream = False
        self._broker.jetstream_view = None
        for part in self._parts.values():
            part.close()
        self.engine.close()
        self.store.close()
        self._broker.log.info("JetStream Shutdown")

    def _failed(self, error: str) -> None:
        """Nothing after a failed commit can be trusted: streams stop, core NATS goes on."""
        self._broker.jetstream_failure = error
        self._broker.log.error(f"JetStream is out of service: {error}")

    def _overflow(self, dropped: int) -> None:
        """API requests were dropped: tell whoever listens in the system account."""
        system = self._parts[self._broker.system_account.name]
        limit_reached(system.js, self._broker.server_id, dropped)

    def _warn(self, text: str) -> None:
        """The same text once in a while: what is too much is published again and again."""
        now = self._broker.clock.monotonic()
        if len(self._warned) >= limits.WARNINGS:
            self._warned.clear()
        if now - self._warned.get(text, -limits.WARN_AGAIN) >= limits.WARN_AGAIN:
            self._warned[text] = now
            self._broker.log.warn(text)


def _refusal(error: ApiError) -> str:
    return (
        f"Error enabling jetstream on configured accounts: {error.description} ({error.err_code})"
    )
