"""The life of a server: start, reload, lame duck, stop.

Order matters. Everything that can fail fails before clients are let in; clients are let in before
the ports file tells harnesses that they are; on the way down the doors close first, then clients get
what is queued for them, and the log has the last word.
"""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from msgspec.structs import replace

from jetstream_py import limits
from jetstream_py.app import extras, memory, signals
from jetstream_py.app.failure import StartError, cannot_listen, listen_failure
from jetstream_py.app.files import PortsFile, prepare_store, write_pid_file
from jetstream_py.app.lame_duck import Sleep, close_gently
from jetstream_py.app.notify import Notify
from jetstream_py.clock import Clock
from jetstream_py.config import ConfigError, Invocation, changes, reload_options
from jetstream_py.config.account_options import SYSTEM_ACCOUNT, Operator, Tls, WebSocket
from jetstream_py.config.options import Options
from jetstream_py.gotext import join_host_port
from jetstream_py.log import Log, LogError, LogSettings
from jetstream_py.server.auth import has_clear_secrets
from jetstream_py.server.broker import Broker
from jetstream_py.server.internal import Internal, MakeBus
from jetstream_py.server.listener import Listener, WebSocketListener
from jetstream_py.server.monitor.state import MonitorState
from jetstream_py.server.system import System
from jetstream_py.server.tls import TlsError, server_context
from jetstream_py.timers import drive
from jetstream_py.version import NATS_VERSION, __version__

if TYPE_CHECKING:
    import ssl

    from jetstream_py.app.jetstream import JetStreamPart
    from jetstream_py.server.monitor import Monitor

# What clients get at most to take what is queued for them: half a second.
FLUSH_LOOKS: Final = 50
FLUSH_LOOK: Final = 0.01


Soon = Callable[[Callable[[], None]], object]


class App:
    """One server process."""

    def __init__(
        self,
        invocation: Invocation,
        environ: Mapping[str, str],
        log: Log,
        clock: Clock,
        loop: asyncio.AbstractEventLoop,
        sleep: Sleep = asyncio.sleep,
        make_bus: MakeBus = Internal,
        soon: Soon | None = None,
    ) -> None:
        """`make_bus` gives JetStream its way to core NATS; `soon` is how it has something run in the next
        turn of the loop, if not by the loop itself."""
        self._invocation = invocation
        self._environ = environ
        self._notify = Notify(environ)
        self._options = invocation.options
        self._log = log
        self._clock = clock
        self._loop = loop
        self._sleep = sleep
        self._make_bus = make_bus
        self._soon = soon
        self._end = asyncio.Event()
        self.listener: Listener | None = None
        self.websocket: WebSocketListener | None = None
        self.monitor: Monitor | None = None
        self._ports_file: PortsFile | None = None
        self.jetstream: JetStreamPart | None = None
        self._duck: asyncio.Task[None] | None = None
        self.broker = Broker(self._options, clock, log, loop)
        self._monitoring = MonitorState()
        self._system = System(self.broker, self._monitoring, self.reload)
        self.broker.accounts_changed = self._accounts_changed

    async def run(self) -> int:
        """Start, serve, stop. Returns the exit status."""
        self._loop.set_exception_handler(self.on_loop_error)
        signals.install(self._loop, self.on_signal)
        stop_timers = drive(self.broker.timers, self._loop)
        try:
            await self.start()
            self._loop.call_soon(memory.settle)
            self._notify.ready()
            await self._end.wait()
            self._notify.stopping()
            await self.stop()
        except StartError as error:
            self._log.fatal(str(error))
            self._log.fatal(error.hint)
            await self.release()
            return 1
        finally:
            stop_timers()
            signals.uninstall(self._loop)
        return 0

    # -- start ------------------------------------------------------------------------------------

    async def start(self) -> None:
        """Bring everything up, or raise `StartError`."""
        options = self._options
        self._banner()
        if lack := extras.missing(options):
            raise StartError(lack, extras.HINT)
        if options.pid_file:
            write_pid_file(options.pid_file)
        if options.authorization.operator is not None:
            self._trust(options.authorization.operator)
        if options.http_port is not None:
            self.monitor = await self._start_monitor(options.http_port)
        elif options.https_port is not None and options.tls is not None:
            self.monitor = await self._start_monitor(options.https_port, options.tls)
        if options.jetstream.enabled:
            from jetstream_py.app.jetstream import JetStreamPart

            js = options.jetstream
            path = None if js.in_memory else prepare_store(js.store_dir)
            self.jetstream = JetStreamPart(
                self.broker, path, self._loop, self._soon, self._make_bus
            )
        if options.websocket is not None:
            self.websocket = await self._listen_websocket(options.websocket)
        self.listener = await self._listen()
        if options.ports_file_dir:
            self._write_ports_file(options.ports_file_dir)
        self._log.info("Server is ready")

    def _banner(self) -> None:
        options, log = self._options, self._log
        python = ".".join(map(str, sys.version_info[:3]))
        log.info("Starting nats-server")
        log.info(f"  Version:  {NATS_VERSION}")
        log.info(f"  Server:   jetstream-py {__version__}, Python {python}")
        log.info(f"  Name:     {self.broker.server_name}")
        log.info(f"  ID:       {self.broker.server_id}")
        for warning in self._invocation.warnings:
            log.warn(warning)
        if has_clear_secrets(options):
            log.warn("Plaintext passwords detected, use nkeys or bcrypt")
        if options.config_file:
            log.info(f"Using configuration file: {options.config_file} ({options.config_digest})")
        if options.max_payload > limits.MAX_PAYLOAD_WARN:
            log.warn(
                "Maximum payloads over 8.00 MB are generally discouraged "
                "and could lead to poor performance"
            )

    def _trust(self, options: Operator) -> None:
        """Operator mode: accounts and users are what their JWTs say."""
        from jetstream_py.jwt import OperatorMode
        from jetstream_py.server.operator import OperatorPart

        try:
            mode = OperatorMode(options, self._clock, _named(self._options.system_account))
        except ValueError as error:
            raise StartError(str(error), "Check operator, resolver and system_account") from error
        part = OperatorPart(self.broker, mode, options.default_sentinel)
        self.broker.use_operator(part, mode.system_account)
        part.serve()

    async def _start_monitor(self, port: int, tls: Tls | None = None) -> Monitor:
        from jetstream_py.app.viewer import AppViewer
        from jetstream_py.server.monitor import MonitorUnavailable, start_monitor

        host = self._options.http_host or self._options.host
        self._monitoring.viewer = viewer = AppViewer(self.broker, lambda: self.jetstream)
        if self._options.http_gateway.enabled:
            from jetstream_py.app.gateway import make_gateway

            self._monitoring.gateway = partial(make_gateway, self.broker, viewer, self._monitoring)
        try:
            secure = _https_context(tls) if tls is not None else None
            monitor = await start_monitor(self.broker, host, port, self._monitoring, secure)
        except TlsError as error:
            raise StartError(str(error), "Check the files that the tls block names") from error
        except OSError as error:
            text, hint = listen_failure(host, port, error)
            text = f"Can't start monitoring: can't listen to the monitor port: {text}"
            raise cannot_listen(text, hint, error) from error
        except MonitorUnavailable as error:
            text = "Can't start monitoring: aiohttp is not installed"
            raise StartError(text, str(error)) from error
        where = join_host_port(monitor.host, monitor.port)
        self._log.info(f"Starting {self.monitor_scheme} monitor on {where}")
        return monitor

    async def _listen(self) -> Listener:
        host, port = self._options.host, self._options.port
        try:
            listener = await Listener.open(self.broker, host, port)
        except OSError as error:
            text, hint = listen_failure(host, port, error)
            where = join_host_port(host, port)
            text = f'Error listening on port: {where}, "{text}"'
            raise cannot_listen(text, hint, error) from error
        except TlsError as error:
            raise StartError(str(error), "Check the files that the tls block names") from error
        where = join_host_port(listener.host, listener.port)
        self._log.info(f"Listening for client connections on {where}")
        self._tell_tls(self._options)
        return listener

    async def _listen_websocket(self, options: WebSocket) -> WebSocketListener:
        from importlib.util import find_spec

        if find_spec("websockets") is None:
            text = "Unable to listen for websocket connections: websockets is not installed"
            raise StartError(text, "Install it: pip install 'jetstream-py[websocket]'")
        host, port = options.host, options.port
        try:
            listener = await WebSocketListener.open(self.broker, host, port)
        except OSError as error:
            text, hint = listen_failure(host, port, error)
            text = f"Unable to listen for websocket connections: {text}"
            raise cannot_listen(text, hint, error) from error
        except TlsError as error:
            hint = "Check the files that the tls block of websocket names"
            raise StartError(str(error), hint) from error
        scheme = listener.url_scheme
        self._log.info(f"Listening for websocket clients on {scheme}://{host}:{listener.port}")
        if scheme == "ws":
            self._log.warn("Websocket not configured with TLS. DO NOT USE IN PRODUCTION!")
        return listener

    @property
    def monitor_scheme(self) -> str:
        return _scheme(self._monitoring)

    @property
    def doors(self) -> list[Listener]:
        """Where clients come in."""
        return [door for door in (self.listener, self.websocket) if door is not None]

    def _tell_tls(self, options: Options) -> None:
        if options.tls is None:
            return
        how = "available" if options.allow_non_tls else "required"
        self._log.info(f"TLS {how} for client connections")
        if options.tls.handshake_first and not options.tls.handshake_fallback:
            self._log.warn(
                'Clients that are not using "TLS Handshake First" option will fail to connect'
            )

    def _write_ports_file(self, directory: str) -> None:
        assert self.listener is not None
        listener, websocket = self.listener, self.websocket
        endpoints = {"nats": (listener.url_scheme, listener.host, listener.port)}
        if self.monitor is not None:
            scheme = self.monitor_scheme
            endpoints["monitoring"] = (scheme, self.monitor.host, self.monitor.port)
        if websocket is not None:
            endpoints["websocket"] = (websocket.url_scheme, websocket.host, websocket.port)
        ports_file = PortsFile(directory)
        ports_file.write(endpoints)
        self._ports_file = ports_file

    # -- while running ----------------------------------------------------------------------------

    def on_signal(self, number: signal.Signals) -> None:
        self._log.info(f'Trapped "{signals.TRAPPED[number]}" signal')
        if number == signal.SIGHUP:
            self._notify.reloading()
            self.reload()
            self._notify.ready()
        elif number == signal.SIGUSR1:
            self._log.reopen()
        elif number == signal.SIGUSR2:
            if self._duck is None:
                self._duck = self._loop.create_task(self.lame_duck())
        elif number == signal.SIGINT or self._duck is None:
            self._end.set()
        # Else: a terminate during lame duck. Kubernetes sends one right after the hook that asked
        # for lame duck mode, and means: carry on.

    def reload(self) -> str:
        """Take the changed configuration, or keep the old one and say why."""
        try:
            fresh = reload_options(self._invocation, self._environ)
            changed = changes(self._options, fresh.options)
            if lack := extras.missing(fresh.options):
                raise ConfigError(f"{lack}. {extras.HINT}")
            self._log.configure(log_settings(fresh.options))
            for door in self.doors:
                door.apply(fresh.options)
            if fresh.options.https_port is not None and fresh.options.tls is not None:
                renewed = _https_context(fresh.options.tls)
                if self.monitor is not None:
                    self.monitor.renew(renewed)
        except (ConfigError, LogError, TlsError) as error:
            self._log.error(f"Failed to reload server configuration: {error}")
            return str(error)
        for warning in fresh.warnings:
            self._log.warn(warning)
        for line in changed:
            self._log.info(f"Reloaded: {line}")
        old, self._invocation, self._options = self._options, fresh, fresh.options
        self.broker.apply(self._options)
        self._accounts_changed()
        for door in self.doors:
            door.drop_unpinned()
        if self.monitor is not None:
            self.monitor.judge_again()
        self._move_files(old, self._options)
        self._log.info(f"Reloaded server configuration ({self._options.config_digest})")
        return ""

    def _accounts_changed(self) -> None:
        self._system.attach()
        if self.jetstream is not None:
            self.jetstream.apply()

    def _move_files(self, old: Options, new: Options) -> None:
        try:
            if new.pid_file and new.pid_file != old.pid_file:
                write_pid_file(new.pid_file)
            if new.ports_file_dir != old.ports_file_dir:
                if self._ports_file is not None:
                    self._ports_file.remove()
                    self._ports_file = None
                if new.ports_file_dir:
                    self._write_ports_file(new.ports_file_dir)
        except StartError as error:
            self._log.error(str(error))

    async def lame_duck(self) -> None:
        """Refuse new clients, let the others go in peace, then end."""
        self._log.info("Entering lame duck mode, stop accepting new clients")
        for door in self.doors:
            door.close()
        self._system.events.lame_duck()
        self.broker.lame_duck()
        if self.broker.sessions:
            grace = self._options.lame_duck_grace_period
            await self._sleep(grace)
            self._log.info("Closing existing clients")
            left = max(0.0, self._options.lame_duck_duration - grace)
            await close_gently(self.broker, left, self._sleep)
        self._end.set()

    # -- stop -------------------------------------------------------------------------------------

    async def stop(self) -> None:
        """Close the doors, flush, leave."""
        self._log.info("Initiating Shutdown...")
        if self._duck is not None:
            self._duck.cancel()
        await self.release()
        self._log.info("Server Exiting..")

    async def kill(self) -> None:
        """End as by `kill -9`: nothing is flushed or written, nobody is told."""
        for door in self.doors:
            door.close()
        self.broker.kill()
        if self.jetstream is not None:
            self.jetstream.store.abandon()
        await self._let_go()

    async def release(self) -> None:
        """Give back whatever was taken, also by a start that failed."""
        for door in self.doors:
            door.close()
        if self.jetstream is not None:
            self.jetstream.close()  # its last words are for clients that are still there
        self._system.events.shutdown()
        links = [session.link for session in self.broker.sessions.values()]
        self.broker.shutdown()
        # Links tell how much is left, not when it is gone; nearly always it is gone already.
        for _ in range(FLUSH_LOOKS):
            if not any(link.pending_bytes() for link in links):
                break
            await asyncio.sleep(FLUSH_LOOK)
        await self._let_go()

    async def _let_go(self) -> None:
        """Of what a process would lose with its end, and an embedded server must not keep."""
        self.broker.drop_strangers()
        self.broker.reception.workers.close()
        if self.monitor is not None:
            await self.monitor.close()
        if self._ports_file is not None:
            self._ports_file.remove()

    def on_loop_error(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """A bug: say where, and go on serving the others."""
        error = context.get("exception")
        text = str(context.get("message", "error in the event loop"))
        if isinstance(error, BaseException):
            import traceback

            text += "\n" + "".join(traceback.format_exception(error)).rstrip()
        self._log.error(text)


def _named(system_account: str) -> str:
    """The system account, if the file names one."""
    return "" if system_account == SYSTEM_ACCOUNT else system_account


def _scheme(state: MonitorState) -> str:
    return "https" if state.secure else "http"


def _https_context(tls: Tls) -> ssl.SSLContext:
    """Nobody is asked for a certificate there, whatever clients of NATS have to show."""
    return server_context(replace(tls, verify=False, verify_and_map=False))


def log_settings(options: Options) -> LogSettings:
    """What of the options concerns the log."""
    return LogSettings(
        debug=options.debug,
        trace=options.trace,
        logtime=options.logtime,
        logtime_utc=options.logtime_utc,
        file=options.log_file,
        size_limit=options.logfile_size_limit,
        max_num=options.logfile_max_num,
        syslog=options.syslog,
        remote_syslog=options.remote_syslog,
    )
