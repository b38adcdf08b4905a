"""What makes an account's claims unusable: the texts that a `push` of them is answered with."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from jetstream_py import limits, nkey
from jetstream_py.gotext import quote
from jetstream_py.jwt.checks import permission_issues, subject_issues
from jetstream_py.jwt.claims import (
    AccountClaims,
    Callout,
    ExportClaim,
    ImportClaim,
    Scope,
    TraceClaim,
    Weighted,
    read_activation,
)
from jetstream_py.jwt.token import TokenError
from jetstream_py.subject import covers, is_literal, is_valid, is_valid_literal, overlap

_RESPONSES = ("Singleton", "Stream", "Chunked")
_TRAFFIC = ("", "system", "owner")


def account_issues(claims: AccountClaims) -> list[str]:
    """All of them, in the order in which nats-server tells them."""
    body = claims.nats
    if max(len(body.imports), len(body.exports)) > limits.ACCOUNT_ITEMS:
        return ["the account contains more imports or exports than can be compared"]
    return [
        *_import_issues(claims.sub, body.imports),
        *_export_issues(body.exports),
        *_count_issues(claims),
        *_mapping_issues(body.mappings),
        *permission_issues(body.default_permissions),
        *_callout_issues(body.authorization),
        *(_trace_issues(body.trace) if body.trace else ()),
        *_key_issues(body.signing_keys),
        *_traffic_issues(body.cluster_traffic),
    ]


def _traffic_issues(option: str) -> Iterator[str]:
    if option not in _TRAFFIC:
        yield f"unknown cluster traffic option: {quote(option)}"


def _count_issues(claims: AccountClaims) -> Iterator[str]:
    body, allowed = claims.nats, claims.nats.limits
    if 0 <= allowed.imports < len(body.imports):
        yield from ["the account contains more imports than allowed by the operator"] * 2
    if 0 <= allowed.exports < len(body.exports):
        yield "the account contains more exports than allowed by the operator"


def _key_issues(keys: Sequence[str | Scope]) -> Iterator[str]:
    for key in keys:
        public = key.key if isinstance(key, Scope) else key
        if not nkey.is_public(public, nkey.ACCOUNT):
            if isinstance(key, Scope):
                yield f"{public} is not an account public key"
            else:
                yield f"{quote(public)} is not a valid account signing key"


def mapping_fault(claims: AccountClaims) -> str:
    """What is wrong with mappings that make sense by themselves."""
    for source, destinations in claims.nats.mappings.items():
        if not is_valid(source.encode()):
            return f"mapping {quote(source)}: invalid subject"
        seen: set[str] = set()
        for to in destinations:
            if to.subject in seen:
                return f"mapping {quote(source)}: duplicate entry for {quote(to.subject)}"
            seen.add(to.subject)
    return ""


def _mapping_issues(mappings: dict[str, list[Weighted]]) -> Iterator[str]:
    for source, destinations in mappings.items():
        yield from subject_issues(source)
        total: dict[str, int] = {}
        for to in destinations:
            yield from subject_issues(to.subject)
            if to.weight > 100:
                yield f"Mapping {quote(source)} has a weight {to.weight} that exceeds 100"
            total[to.cluster] = total.get(to.cluster, 0) + (to.weight or 100)
        for cluster, weight in total.items():
            if weight > 100:
                where = f" in cluster {quote(cluster)}" if cluster else ""
                yield (
                    f"Mapping {quote(source)}{where} exceeds 100% "
                    "among all of it's weighted to mappings"
                )


def _trace_issues(trace: TraceClaim) -> Iterator[str]:
    if not trace.dest:
        yield "the account Trace.Destination subject cannot be empty"
    elif not is_valid_literal(trace.dest.encode()):
        dest = quote(trace.dest)
        yield f"the account Trace.Destination subject {dest} is not a valid publish subject"
    if not 0 <= trace.sampling <= 100:
        yield (
            f"the account Trace.Sampling value '{trace.sampling}' is not valid, "
            "should be in the range [1..100]"
        )


def _callout_issues(callout: Callout) -> Iterator[str]:
    for user in callout.auth_users:
        if not nkey.is_public(user, nkey.USER):
            yield f"AuthUser {quote(user)} is not a valid user public key"
    accounts = callout.allowed_accounts
    if accounts and not callout.auth_users:
        yield "External authorization cannot have accounts without users specified"
        return
    if "*" in accounts and len(accounts) > 1:
        yield 'AllowedAccounts can only be a list of accounts or "*"'
    for account in accounts:
        if account != "*" and not nkey.is_public(account, nkey.ACCOUNT):
            yield f"Account {quote(account)} is not a valid account public key"
    if callout.xkey and not nkey.is_public(callout.xkey, nkey.CURVE):
        yield f"XKey {quote(callout.xkey)} is not a valid public xkey"


# -- exports ---------------------------------------------------------------------------------------


def _export_issues(exports: list[ExportClaim]) -> Iterator[str]:
    for export in exports:
        yield from _issues_of_export(export)
    for kind in ("service", "stream"):
        subjects = [export.subject for export in exports if export.type == kind]
        for at, subject in enumerate(subjects):
            for other in subjects[at + 1 :]:
                if covers(subject.encode(), other.encode()):
                    yield f"{kind} export subject {quote(subject)} already exports {quote(other)}"


def _issues_of_export(export: ExportClaim) -> Iterator[str]:
    kind = export.type
    if not kind:
        yield 'invalid export type: "unknown"'
    if kind == "service" and export.response_type not in ("", *_RESPONSES):
        yield f"invalid response type for service: {quote(export.response_type)}"
    if kind == "stream" and export.response_type:
        yield f"invalid response type for stream: {quote(export.response_type)}"
    if kind == "stream" and export.service_latency is not None:
        yield "latency tracking only permitted for services"
    if export.response_threshold < 0:
        yield "negative response threshold is invalid"
    if kind == "stream" and export.response_threshold > 0:
        yield "response threshold only valid for services"
    if kind == "service" and export.service_latency is not None:
        latency = export.service_latency
        if latency.sampling != "headers" and not (
            isinstance(latency.sampling, int) and 1 <= latency.sampling <= 100
        ):
            yield "sampling percentage needs to be between 1-100"
        yield from subject_issues(latency.results)
        if not is_literal(latency.results.encode()):
            yield "results subject can not contain wildcards"
    yield from subject_issues(export.subject)
    yield from _token_position_issues(export)


def _token_position_issues(export: ExportClaim) -> Iterator[str]:
    position, subject = export.account_token_position, export.subject
    if not position:
        return
    tokens = subject.split(".")
    if is_literal(subject.encode()):
        yield f"Account Token Position can only be used with wildcard subjects: {subject}"
    elif not 0 < position <= len(tokens):
        yield f"Account Token Position {position} exceeds length of subject '{subject}'"
    elif tokens[position - 1] != "*":
        yield (
            f"Account Token Position {position} matches '{tokens[position - 1]}' "
            f"but must match a * in: {subject}"
        )


# -- imports ---------------------------------------------------------------------------------------


def _import_issues(account: str, imports: list[ImportClaim]) -> Iterator[str]:
    seen: dict[str, list[str]] = {}
    for claim in imports:
        if not claim.type:
            yield 'invalid import type: "unknown"'
        if not claim.account:
            yield "account to import from is not specified"
        yield from subject_issues(claim.subject)
        if claim.share and claim.type != "service":
            yield (
                "sharing information (for latency tracking) is only valid for services: "
                f"{quote(claim.subject)}"
            )
        yield from _local_issues(claim)
        yield from _activation_issues(account, claim)
        if claim.type == "service":
            yield from _overlaps(claim, seen)


def _local_issues(claim: ImportClaim) -> Iterator[str]:
    if not claim.local_subject:
        return
    if claim.to:
        yield "Local Subject replaces To"
    wanted = _wildcards(claim.subject)
    given = _wildcards(claim.local_subject) + claim.local_subject.count("$")
    if wanted != given or claim.subject.endswith(">") != claim.local_subject.endswith(">"):
        yield "subject does not contain enough * or reference wildcards $[0-9]"


def _wildcards(subject: str) -> int:
    return subject.split(".").count("*")


def _overlaps(claim: ImportClaim, seen: dict[str, list[str]]) -> Iterator[str]:
    """Two services under one subject of the importer."""
    name = claim.to or claim.local_subject or claim.subject
    here = quote(claim.account)
    for other in seen.setdefault(claim.account, []):
        if overlap(name.encode(), other.encode()):
            names = f"{quote(name)} and {quote(other)}"
            yield f"overlapping subject namespace for {names} in same account {here}"
    if name in seen[claim.account]:
        yield f"overlapping subject namespace for {quote(name)} in account {here}"
    seen[claim.account].append(name)


def _activation_issues(account: str, claim: ImportClaim) -> Iterator[str]:
    if not claim.token:
        return
    name = quote(claim.subject)
    try:
        token = read_activation(claim.token)
    except TokenError:
        yield f"import {name} contains an invalid activation token"
        return
    if claim.account not in (token.iss, token.nats.issuer_account):
        yield f"activation token doesn't match account for import {name}"
    if token.sub not in (account, "public"):
        yield f"activation token doesn't match account it is being included in, {name}"
    if token.nats.kind != claim.type:
        yield f"mismatch between token import type {token.nats.kind} and type of import {claim.type}"
    if token.nats.subject and not covers(token.nats.subject.encode(), claim.subject.encode()):
        given = quote(token.nats.subject)
        yield f"activation token import subject {given} doesn't match import {name}"
