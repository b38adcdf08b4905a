"""/accountz: the accounts, and one of them in detail."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec
from msgspec import UNSET, UnsetType

from jetstream_py import gotext
from jetstream_py.config.account_options import Destination, Export, Import
from jetstream_py.server.monitor.query import BadRequest
from jetstream_py.server.monitor.subsz import sublist_stats
from jetstream_py.server.monitor.view import AccountView, BrokerView
from jetstream_py.server.system.table import EXPORTED, JETSTREAM_API, SHARED, USER_INFO

_RESPONSES: Mapping[str, str] = {
    "singleton": "Singleton",
    "stream": "Streamed",
    "chunked": "Chunked",
}


class MapDest(msgspec.Struct):
    subject: str
    weight: int
    cluster: str | UnsetType = UNSET


class ExportInfo(msgspec.Struct, kw_only=True):
    subject: str
    type: str
    response_type: str | UnsetType = UNSET
    approved_accounts: list[str] | UnsetType = UNSET


class ImportInfo(msgspec.Struct, kw_only=True):
    subject: str
    account: str
    to: str | UnsetType = UNSET
    local_subject: str
    type: str
    invalid: bool = False
    share: bool = False
    tracking: bool = False


class AccountDetail(msgspec.Struct, kw_only=True):
    account_name: str
    update_time: str
    is_system: bool | UnsetType = UNSET
    expired: bool
    complete: bool = True
    jetstream_enabled: bool
    leafnode_connections: int = 0
    client_connections: int
    subscriptions: int
    mappings: dict[str, list[MapDest]] | UnsetType = UNSET
    exports: list[ExportInfo] | UnsetType = UNSET
    imports: list[ImportInfo] | UnsetType = UNSET
    jwt: str | UnsetType = UNSET
    issuer_key: str | UnsetType = UNSET
    name_tag: str | UnsetType = UNSET
    tags: list[str] | UnsetType = UNSET
    sublist_stats: dict[str, int | float]


class Accountz(msgspec.Struct):
    server_id: str
    now: str
    system_account: str
    accounts: list[str] | UnsetType = UNSET
    account_detail: AccountDetail | UnsetType = UNSET


def accountz(broker: BrokerView, account: str) -> Accountz:
    """All names, or everything about one."""
    answer = Accountz(
        broker.server_id,
        gotext.rfc3339_nano(broker.clock.now_ns()),
        broker.options.system_account,
    )
    if account:
        answer.account_detail = account_detail(broker, account)
    else:
        answer.accounts = list(broker.accounts)
    return answer


def account_detail(broker: BrokerView, name: str) -> AccountDetail:
    account = broker.accounts.get(name)
    if account is None:
        raise BadRequest(f"Account {name} does not exist")
    options = account.options
    is_system = name == broker.options.system_account
    now = broker.clock.now_ns() // 1_000_000_000
    view = broker.jetstream_view
    return AccountDetail(
        account_name=name,
        update_time=gotext.rfc3339_nano(broker.config_loaded_ns),
        is_system=is_system or UNSET,
        expired=0 < options.expires <= now,
        jetstream_enabled=view is not None and not view.missing(name, "", ""),
        client_connections=len(account.sessions),
        subscriptions=account.router.sublist.count,
        mappings=_mappings(account) or UNSET,
        exports=list(_exports(broker, account, is_system)) or UNSET,
        imports=list(_imports(broker, account, is_system)) or UNSET,
        jwt=options.jwt or UNSET,
        issuer_key=options.issuer or UNSET,
        name_tag=name,
        tags=list(options.tags) or UNSET,
        sublist_stats=sublist_stats([account]),
    )


def _mappings(account: AccountView) -> dict[str, list[MapDest]]:
    return {
        each.source: list(map(_destination, each.destinations)) for each in account.options.mappings
    }


def _destination(each: Destination) -> MapDest:
    return MapDest(each.subject, each.weight, each.cluster or UNSET)


def _exports(broker: BrokerView, account: AccountView, is_system: bool) -> Iterator[ExportInfo]:
    """Services first, then streams."""
    for export in sorted(account.options.exports, key=lambda each: not each.service):
        yield _export(export)
    if is_system:
        if broker.jetstream_view is not None:
            yield ExportInfo(subject=JETSTREAM_API, type="service", response_type="Singleton")
        for subject, response in EXPORTED.items():
            yield ExportInfo(subject=subject, type="service", response_type=response)


def _export(export: Export) -> ExportInfo:
    return ExportInfo(
        subject=export.subject,
        type="service" if export.service else "stream",
        response_type=_RESPONSES[export.response_type] if export.service else UNSET,
        approved_accounts=sorted(export.accounts) if export.accounts is not None else UNSET,
    )


def _imports(broker: BrokerView, account: AccountView, is_system: bool) -> Iterator[ImportInfo]:
    for imported in account.options.imports:
        yield _import(imported)
    system = broker.options.system_account
    own = {USER_INFO: SHARED[USER_INFO]} if is_system else SHARED
    for local, subject in own.items():
        yield ImportInfo(
            subject=subject.format(account.name),
            account=system,
            to=local,
            local_subject=local,
            type="service",
            share=local == USER_INFO,
        )
    if not is_system and broker.jetstream_view is not None:
        yield ImportInfo(
            subject=JETSTREAM_API,
            account=system,
            to=JETSTREAM_API,
            local_subject=JETSTREAM_API,
            type="service",
            share=True,
        )


def _import(imported: Import) -> ImportInfo:
    return ImportInfo(
        subject=imported.subject,
        account=imported.account,
        to=imported.to if imported.service else UNSET,
        local_subject=imported.to,
        type="service" if imported.service else "stream",
        share=imported.share,
    )
