"""What accounts may take from each other: the checks that look at more than one of them.

nats-server builds its accounts one export and one import at a time, and refuses those that do not fit
what is there already. `faults` does the same with plain data. At run time, when claims of an account
arrive, `is_authorised` and `forms_cycle` judge its imports one by one.

The search for cycles is that of nats-server, with its blind spots: along the way it keeps the subject
it started with, so it finds loops of accounts that use one name, and of two accounts that use two.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from msgspec.structs import replace

from jetstream_py.config.account_options import AccountOptions, Export, Import
from jetstream_py.gotext import quote
from jetstream_py.subject import covers, is_literal, is_valid, overlap
from jetstream_py.transforms.rules import TransformError, check_rename

_INVALID = "sublist: invalid subject"


def faults(accounts: Mapping[str, AccountOptions]) -> Iterator[str]:
    """Complaints about exports and imports, in the order in which nats-server finds them."""
    found = [
        fault
        for service in (False, True)
        for account in accounts.values()
        for export in account.exports
        if export.service == service
        for fault in _export_faults(export, accounts)
    ]
    yield from found
    accounts = {name: _settled(account, accounts) for name, account in accounts.items()}
    taken: dict[str, list[Import]] = {name: [] for name in accounts}
    for service in (False, True):
        for account in accounts.values():
            for entry in account.imports:
                if entry.service != service:
                    continue
                if fault := _import_fault(account.name, entry, accounts, taken):
                    yield fault
                else:
                    taken[account.name].append(entry)


# -- exports ---------------------------------------------------------------------------------------


def _settled(account: AccountOptions, accounts: Mapping[str, AccountOptions]) -> AccountOptions:
    """An account as nats-server has it after complaints: importers that do not exist are left out, and what
    is then for nobody is for all."""
    exports = tuple(
        replace(export, accounts=frozenset(export.accounts & accounts.keys()) or None)
        if export.accounts
        else export
        for export in account.exports
    )
    return replace(account, exports=exports)


def _export_faults(export: Export, accounts: Mapping[str, AccountOptions]) -> Iterator[str]:
    kind = "service" if export.service else "stream"
    for name in sorted(export.accounts or ()):
        if name not in accounts:
            yield f"{quote(name)} account not defined for {kind} export"
    if export.account_token_position and not _has_token(export):
        yield f"Error adding {kind} export {quote(export.subject)}: {_INVALID}"
    elif export.latency and not _is_latency_subject(export.latency.subject, export.subject):
        yield (
            f"Error adding service latency sampling for {quote(export.subject)} on subject "
            f"{quote(export.latency.subject)}: invalid publish subject"
        )


def _has_token(export: Export) -> bool:
    """Is the token that has to name the importer a wildcard?"""
    tokens = export.subject.split(".")
    position = export.account_token_position
    return 0 < position <= len(tokens) and tokens[position - 1] == "*"


def _is_latency_subject(subject: str, service: str) -> bool:
    """Measurements must not be requests to the service themselves."""
    raw = _raw(subject)
    return is_valid(raw) and is_literal(raw) and not covers(_raw(service), raw)


# -- imports ---------------------------------------------------------------------------------------


def _import_fault(
    importer: str,
    entry: Import,
    accounts: Mapping[str, AccountOptions],
    taken: Mapping[str, list[Import]],
) -> str:
    kind = "service" if entry.service else "stream"
    exporter = accounts.get(entry.account)
    if exporter is None:
        return f"{quote(entry.account)} account not defined for {kind} import"
    fault = _service_fault(entry) if entry.service else ""
    if not fault and not is_authorised(exporter, importer, entry):
        fault = f"{kind} import not authorized"
    if not fault:
        fault = rename_fault(entry)
    if not fault and forms_cycle(lambda name: taken.get(name, ()), importer, entry):
        fault = "import forms a cycle"
    if not fault and not entry.service and _is_taken(entry, taken[importer]):
        fault = "stream import already exists"
    return f"Error adding {kind} import {quote(entry.subject)}: {fault}" if fault else ""


def _service_fault(entry: Import) -> str:
    return "" if is_valid(_raw(entry.subject)) and is_valid(_raw(entry.to)) else _INVALID


def rename_fault(entry: Import) -> str:
    """Why the importer's name cannot be made from the exporter's; empty when it can."""
    if entry.prefix:
        wild = not is_literal(_raw(entry.prefix))
        return "stream import prefix can not contain wildcard tokens" if wild else ""
    if entry.to == entry.subject or is_literal(_raw(entry.subject)):
        return ""
    try:
        check_rename(entry.subject, entry.to)
    except TransformError as error:
        kind = "service" if entry.service else "stream"
        names = (entry.to, entry.subject) if entry.service else (entry.subject, entry.to)
        return (
            f"failed to create mapping transform for {kind} import subject "
            f"from {quote(names[0])} to {quote(names[1])}: {error}"
        )
    return ""


def _is_taken(entry: Import, taken: list[Import]) -> bool:
    return any(
        not other.service and (other.account, other.subject) == (entry.account, entry.subject)
        for other in taken
    )


def is_authorised(exporter: AccountOptions, importer: str, entry: Import) -> bool:
    """Does the exporter offer this to the importer? An export under the very subject decides, else
    the first that covers it. Activations, which claims may need, are not looked at."""
    if not is_valid(_raw(entry.subject)):
        return False
    offers = [export for export in exporter.exports if export.service == entry.service]
    if same := [export for export in offers if export.subject == entry.subject]:
        # Several exports of one subject are one, for all the accounts that they name.
        named = frozenset[str]().union(*(export.accounts or () for export in same))
        if any(export.account_token_position for export in same):
            return False
        return not named or importer in named
    for export in offers:
        if covers(_raw(export.subject), _raw(entry.subject)):
            return _admits(export, importer, entry.subject.split("."))
    return False


def _admits(export: Export, importer: str, tokens: list[str]) -> bool:
    if position := export.account_token_position:
        return tokens[position - 1] == importer
    return export.accounts is None or importer in export.accounts


def forms_cycle(imports: Callable[[str], Iterable[Import]], importer: str, entry: Import) -> bool:
    """Would what the importer takes come back to it? `imports` tells what an account takes already."""
    if entry.account == importer and not entry.service:
        return False
    # A service is looked for under the importer's name, a stream under both.
    starts = (entry.to,) if entry.service else (entry.subject, entry.to)
    return any(
        _leads_back(imports, entry.account, _raw(start), entry.service, {importer})
        for start in starts
    )


def _leads_back(
    imports: Callable[[str], Iterable[Import]],
    account: str,
    subject: bytes,
    service: bool,
    visited: set[str],
) -> bool:
    for entry in imports(account):
        if entry.service != service or not overlap(
            subject, _raw(entry.subject if service else entry.to)
        ):
            continue
        if entry.account in visited:
            return True
        visited.add(account)
        if covers(subject, _raw(entry.to)):
            subject = _raw(entry.to)
        if _leads_back(imports, entry.account, subject, service, visited):
            return True
    return False


def _raw(subject: str) -> bytes:
    return subject.encode("utf-8", "surrogateescape")
