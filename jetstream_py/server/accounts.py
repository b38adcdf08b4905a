"""Accounts: subject spaces of their own, and the ways between them.

Theory of operation. A router knows the subscriptions of one account. What crosses from one account to
another does so at two places, and nowhere else:

* A stream import gives the importer's subscriptions a *shadow* in the exporter's router: a `Sub` of the same
  session under the exporter's name of the subject, whose `via` leads back to the real one. A message for the
  shadow is delivered under the importer's name, counted by the real subscription, and filtered by it.
* A service import is a subscription of the server's own in the importer's account (see `services`).

A shadow has no shadows: as with nats-server, what an account imports as a stream it cannot export again.
Services may be chained.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import msgspec

from jetstream_py.config.account_options import (
    GLOBAL_ACCOUNT,
    AccountOptions,
    Export,
    Import,
)
from jetstream_py.server.internal import Internal
from jetstream_py.server.mapping import Mapper
from jetstream_py.server.router import Router
from jetstream_py.server.services import ServiceImport
from jetstream_py.server.sublist import Sub, Via
from jetstream_py.subject import covers, intersection
from jetstream_py.transforms.rename import Rename

if TYPE_CHECKING:
    from jetstream_py.config.options import Options
    from jetstream_py.server.broker import Broker
    from jetstream_py.server.session import Session


def _pass_over(
    subject: bytes, reply: bytes, block: bytes, payload: bytes, client: Session | None
) -> None:
    return None


class StreamImport:
    """Messages of another account, under names of our own."""

    __slots__ = ("exporter", "rename", "traced")

    def __init__(self, exporter: Account, rename: Rename, traced: bool) -> None:
        self.exporter = exporter
        self.rename = rename
        self.traced = traced


class Account:
    """A subject space, its connections and what it shares."""

    def __init__(self, broker: Broker, options: AccountOptions) -> None:
        self._broker = broker
        self.name = options.name
        self.options = options
        self.router = Router(use_caches=not broker.options.disable_sublist_cache)
        self.mapper: Mapper | None = None
        self.sessions: dict[int, Session] = {}  # its clients
        self.subscriptions = 0  # of its clients
        self.total_connections = 0
        self.slow_consumers = 0
        self.gone = [0, 0, 0, 0]  # traffic of closed connections
        self.streams: list[StreamImport] = []
        self.services: list[ServiceImport] = []
        self._shadows: dict[Sub, list[tuple[Router, Sub]]] = {}
        self._internal: Internal | None = None
        self.replies = b"_R_." + broker.new_token()  # before the reply subjects of services
        self._hears_answers = False
        self.configure(options)

    @property
    def internal(self) -> Internal:
        """The server itself, as a client of this account."""
        if self._internal is None:
            self._internal = Internal(self._broker, self)
        return self._internal

    def configure(self, options: AccountOptions) -> None:
        """Take what does not concern other accounts; `connect` does the rest."""
        self.options = options
        self.mapper = Mapper(options.mappings, self._broker.chance) if options.mappings else None
        self.router.forget_all()

    # -- subscriptions ----------------------------------------------------------------------------

    def subscribe(self, sub: Sub) -> None:
        self.router.subscribe(sub)
        if self.streams:
            self._cast(sub)

    def unsubscribe(self, sub: Sub) -> None:
        self.router.unsubscribe(sub)
        for router, shadow in self._shadows.pop(sub, ()):
            router.unsubscribe(shadow)

    def _cast(self, sub: Sub) -> None:
        """Give a subscription its shadows in the accounts that we import from."""
        shadows = []
        for stream in self.streams:
            common = intersection(sub.subject, stream.rename.local)
            if common is None:
                continue
            subject = stream.rename.to_exported(common)
            shadow = Sub(sub.session, subject, sub.queue, sub.sid)
            shadow.handler, shadow.collector = sub.handler, sub.collector
            shadow.via = Via(sub, stream.rename, self.name, stream.traced)
            stream.exporter.router.subscribe(shadow)
            shadows.append((stream.exporter.router, shadow))
        if shadows:
            self._shadows[sub] = shadows

    def hear_answers(self) -> None:
        """Whoever answers a request of another account is never told that nobody waits for it."""
        if not self._hears_answers:
            self._hears_answers = True
            self.internal.subscribe(self.replies + b".>", _pass_over)

    # -- imports ----------------------------------------------------------------------------------

    def connect(self, accounts: dict[str, Account]) -> None:
        """Make the imports work, as far as their exporters are there and agree."""
        for service in self.services:
            service.close()
        for shadows in self._shadows.values():
            for router, shadow in shadows:
                router.unsubscribe(shadow)
        self._shadows.clear()
        self.streams, self.services = [], []
        for imported in self.options.imports:
            exporter = accounts.get(imported.account)
            if exporter is None:
                continue
            export = exporter.export_for(self.name, imported)
            if export is None:
                continue
            rename = Rename(imported.subject.encode(), imported.to.encode())
            if imported.service:
                self.services.append(
                    ServiceImport(self._broker, self, exporter, export, imported, rename)
                )
            else:
                self.streams.append(StreamImport(exporter, rename, imported.allow_trace))
        if self.streams:
            for sub in list(self.router.sublist.subscriptions()):
                if sub.via is None and sub.handler is None:
                    self._cast(sub)

    def export_for(self, importer: str, imported: Import) -> Export | None:
        """The export that allows an account to import this."""
        subject = imported.subject.encode()
        for export in self.options.exports:
            if export.service != imported.service or not covers(export.subject.encode(), subject):
                continue
            if export.token_required and not self._is_activated(importer, imported):
                continue
            if export.account_token_position:
                tokens = subject.split(b".")
                at = export.account_token_position - 1
                if at < len(tokens) and tokens[at] == importer.encode():
                    return export
            elif export.accounts is None or importer in export.accounts:
                return export
        return None

    def _is_activated(self, importer: str, imported: Import) -> bool:
        """Does the importer show what we have signed for it? Only operators know such exports."""
        operator = self._broker.operator
        return operator is not None and operator.is_activated(importer, imported, self.options)


Find = Callable[[str], AccountOptions | None]


class Accounts:
    """All accounts of a server, by name."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self.by_name: dict[str, Account] = {}

    def configure(self, options: Options) -> list[Account]:
        """Make the accounts be what the options say. Returns those that are gone."""
        wanted = {account.name: account for account in options.accounts}
        wanted.setdefault(GLOBAL_ACCOUNT, AccountOptions(GLOBAL_ACCOUNT))
        if options.mappings:
            general = wanted[GLOBAL_ACCOUNT]
            mappings = (*general.mappings, *options.mappings)
            wanted[GLOBAL_ACCOUNT] = msgspec.structs.replace(general, mappings=mappings)
        wanted.setdefault(options.system_account, AccountOptions(options.system_account))
        gone = []
        if options.authorization.operator is None:
            gone = [self.by_name.pop(name) for name in list(self.by_name) if name not in wanted]
        for name, settings in wanted.items():
            account = self.by_name.get(name)
            if account is None:
                self.by_name[name] = Account(self._broker, settings)
            else:
                account.configure(settings)
        self.connect()
        return gone

    def connect(self) -> None:
        for account in self.by_name.values():
            account.connect(self.by_name)

    # -- operator mode: accounts come when they are needed -----------------------------------------

    def load(self, name: str, find: Find) -> Account | None:
        """An account by its token, with all that it imports from."""
        options = find(name)
        if options is None:
            return None
        account = self.by_name[name] = Account(self._broker, options)
        self._load_exporters(account, find)
        return account

    def change(self, options: AccountOptions, find: Find) -> None:
        account = self.by_name.get(options.name)
        if account is None:
            return
        account.configure(options)
        self._load_exporters(account, find)
        self.connect()

    def _load_exporters(self, account: Account, find: Find) -> None:
        for imported in account.options.imports:
            if imported.account not in self.by_name:
                self.load(imported.account, find)
        account.connect(self.by_name)
