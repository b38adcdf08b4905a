"""What makes claims unusable, in the words of the tools that make tokens.

Each function returns texts of faults; none means that the claims make sense. Times are not looked at
here, see `Claims.time_issues`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from ipaddress import IPv4Network, IPv6Network, ip_network

from jetstream_py import nkey
from jetstream_py.gotext import quote
from jetstream_py.jwt.claims import Allowed, UserClaims, UserLimits
from jetstream_py.jwt.times import TIME, is_zone

_CIDR = re.compile(r"[0-9A-Fa-f.:]+/\d{1,3}\Z", re.ASCII)


def subject_issues(subject: str) -> list[str]:
    if not subject:
        return ["subject cannot be empty"]
    issues = []
    if " " in subject:
        issues.append(f"subject {quote(subject)} cannot have spaces")
    if subject[0] == "." or subject[-1] == ".":
        issues.append(f"subject {quote(subject)} cannot start or end with a `.`")
    if ".." in subject:
        issues.append(f"subject {quote(subject)} cannot contain consecutive `.`")
    return issues


def permission_issues(allowed: Allowed) -> list[str]:
    issues: list[str] = []
    for entry in (*allowed.sub.allow, *allowed.sub.deny):
        issues += _entry_issues(entry, queue=True)
    for entry in (*allowed.pub.allow, *allowed.pub.deny):
        issues += _entry_issues(entry, queue=False)
    return issues


def _entry_issues(entry: str, queue: bool) -> Iterator[str]:
    parts = entry.split(" ")
    if len(parts) > 2:
        yield f"Permission Subject {quote(entry)} contains too many spaces"
    elif len(parts) == 2 and not queue:
        yield f"Permission Subject {quote(entry)} is not allowed to contain queue"
    else:
        for part in parts:
            yield from subject_issues(part)


def user_issues(claims: UserClaims) -> list[str]:
    body = claims.nats
    issues = permission_issues(body) + limit_issues(body)
    if body.issuer_account and not nkey.is_public(body.issuer_account, nkey.ACCOUNT):
        issues.append("account_id is not an account public key")
    return issues


def limit_issues(limits: UserLimits) -> list[str]:
    issues = [
        f"invalid cidr {quote(text)} in user src limits"
        for text in limits.networks()
        if network(text) is None
    ]
    for times in limits.times:
        for name, text in (("start", times.start), ("end", times.end)):
            if not text:
                issues.append(f"time ranges {name} must contain {_ARTICLE[name]} {name}")
            elif not TIME.match(text):
                issues.append(f"{name} in time range is invalid {quote(text)}")
    if limits.times_location and not is_zone(limits.times_location):
        issues.append(
            f"could not parse iana time zone by name: {_zone_fault(limits.times_location)}"
        )
    return issues


_ARTICLE = {"start": "a", "end": "an"}


def _zone_fault(name: str) -> str:
    if ".." in name or name[0] in "/\\":
        return "time: invalid location name"
    return f"unknown time zone {name}"


def network(text: str) -> IPv4Network | IPv6Network | None:
    """`10.1.2.3/8` as a network, an IPv4 address in the clothes of IPv6 as IPv4."""
    if not _CIDR.match(text):
        return None
    try:
        found = ip_network(text, strict=False)
    except ValueError:
        return None
    mapped = getattr(found.network_address, "ipv4_mapped", None)
    if mapped is not None and found.prefixlen >= 96:
        return IPv4Network((mapped, found.prefixlen - 96))
    return found
