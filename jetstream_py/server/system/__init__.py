"""The system account: services that answer questions about the server, and events that it tells.

Every service is a subscription of the server's own (`table`): `$SYS.REQ.SERVER.PING.X` asks all servers,
`$SYS.REQ.SERVER.<id>.X` one of them, `$SYS.REQ.ACCOUNT.<name>.X` is about an account. A subject that is in
no table has no subscriber, so whoever asks is told that nobody responds. Some services are also there in
every other account, where they tell about that account only.

What answers (`services`) and what writes events (`notices`) are imported when they are needed for the first
time: most servers are never asked.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from jetstream_py.server.system.events import SystemEvents
from jetstream_py.server.system.table import shared_services, system_services

if TYPE_CHECKING:
    from jetstream_py.server.accounts import Account
    from jetstream_py.server.broker import Broker
    from jetstream_py.server.monitor.state import MonitorState
    from jetstream_py.server.session import Session
    from jetstream_py.server.sublist import Handler, Sub
    from jetstream_py.server.system.envelope import Speaker
    from jetstream_py.server.system.notices import Notices
    from jetstream_py.server.system.services import Services


class Message(NamedTuple):
    """A request, in the account where it arrived."""

    account: Account
    subject: bytes
    reply: bytes
    body: bytes
    client: Session | None


class System:
    """Services and events of one server."""

    def __init__(self, broker: Broker, state: MonitorState, reload: Callable[[], str]) -> None:
        """`reload` takes the changed configuration; it returns why not, or nothing."""
        self._broker = broker
        self._state = state
        self._reload = reload
        self._served: dict[str, tuple[Account, list[Sub]]] = {}
        self.events = broker.events = SystemEvents(broker, lambda: self._notices)
        broker.server_block = self._block
        self.attach()

    def _block(self) -> msgspec.Raw:
        """The server, as answers name it."""
        return msgspec.Raw(msgspec.json.encode(self._speaker.info()))

    def attach(self) -> None:
        """Serve the accounts that there are now. To be called after every change of them."""
        accounts = self._broker.accounts
        for name, (account, _) in list(self._served.items()):
            if accounts.get(name) is not account:
                del self._served[name]
        for name, account in list(accounts.items()):
            if name not in self._served:
                self._served[name] = account, self._serve(account)

    def _serve(self, account: Account) -> list[Sub]:
        if account is self._broker.system_account:
            services = system_services(self._broker.server_id)
        else:
            services = shared_services()
        return [
            account.internal.subscribe(subject.encode(), self._handler(account, name))
            for subject, name in services.items()
        ]

    def _handler(self, account: Account, name: str) -> Handler:
        def handle(
            subject: bytes, reply: bytes, headers: bytes, body: bytes, client: Session | None
        ) -> bool:
            self._services.serve(name, Message(account, subject, reply, body, client))
            return True

        return handle

    @cached_property
    def _speaker(self) -> Speaker:
        from jetstream_py.server.system.envelope import Speaker

        return Speaker(self._broker)

    @cached_property
    def _services(self) -> Services:
        from jetstream_py.server.system.services import Services

        return Services(self._broker, self._state, self._speaker, self._reload)

    @cached_property
    def _notices(self) -> Notices:
        from jetstream_py.server.system.notices import Notices

        return Notices(self._broker, self._state, self._speaker)
