"""A client as events and USER.INFO name it. Passwords, tokens and JWTs are never among it."""

from __future__ import annotations

import msgspec
from msgspec import UNSET, UnsetType

from jetstream_py import gotext
from jetstream_py.config.account_options import AccountOptions, Permissions, Rule, User
from jetstream_py.server.monitor.conninfo import user_name
from jetstream_py.server.monitor.view import PeerView


class ClientInfo(msgspec.Struct, kw_only=True):
    start: str
    host: str
    id: int
    acc: str
    user: str | UnsetType = UNSET
    name: str | UnsetType = UNSET
    lang: str | UnsetType = UNSET
    ver: str | UnsetType = UNSET
    rtt: int | UnsetType = UNSET
    stop: str | UnsetType = UNSET
    issuer_key: str | UnsetType = UNSET
    name_tag: str
    tags: list[str] | UnsetType = UNSET
    kind: str
    client_type: str


def client_info(peer: PeerView, stop_ns: int = 0) -> ClientInfo:
    """`stop_ns`: it is gone, since then."""
    said, who = peer.connect, peer.identity
    info = ClientInfo(
        start=gotext.rfc3339_nano(peer.start_ns),
        host=peer.ip,
        id=peer.cid,
        acc=peer.account.name,
        user=user_name(peer) or UNSET,
        name=said.name or UNSET,
        lang=said.lang or UNSET,
        ver=said.version or UNSET,
        issuer_key=who.issuer or UNSET,
        name_tag=peer.account.name,
        tags=list(who.tags) or UNSET,
        kind=peer.kind,
        client_type=peer.client_type,
    )
    if stop_ns:
        info.rtt = round((peer.rtt or 0.0) * 1e6) * 1000 or UNSET
        info.stop = gotext.rfc3339_nano(stop_ns)
    return info


class RuleInfo(msgspec.Struct):
    allow: list[str] | UnsetType = UNSET
    deny: list[str] | UnsetType = UNSET


class ResponsesInfo(msgspec.Struct):
    max: int
    ttl: int


class PermissionsInfo(msgspec.Struct):
    publish: RuleInfo | UnsetType = UNSET
    subscribe: RuleInfo | UnsetType = UNSET
    responses: ResponsesInfo | UnsetType = UNSET


class UserInfo(msgspec.Struct, kw_only=True):
    user: str
    account: str
    account_name: str | UnsetType = UNSET
    user_name: str | UnsetType = UNSET
    permissions: PermissionsInfo | UnsetType = UNSET
    expires: int | UnsetType = UNSET


def user_info(peer: PeerView | None, now_ns: int) -> UserInfo:
    """What a client may know of itself; nothing if nobody in particular asks."""
    if peer is None:
        return UserInfo(user="", account="")
    who, account = peer.identity, peer.account.name
    if who.jwt:
        return _user_by_token(who, peer.account.options, now_ns)
    return UserInfo(
        user=user_name(peer),
        account=account,
        account_name=account,
        permissions=_permissions(who.permissions) if who.permissions is not None else UNSET,
        expires=max(0, who.expires * 1_000_000_000 - now_ns) if who.expires else UNSET,
    )


def _user_by_token(who: User, account: AccountOptions, now_ns: int) -> UserInfo:
    """A user whose JWT says who it is: named by its key, with both kinds of rules if there is one."""
    from jetstream_py.jwt import expiry

    info = UserInfo(user=who.nkey, account=account.name, account_name=account.name_tag or UNSET)
    if who.name:
        info.user_name = who.name
    if who.permissions is not None:
        shown = info.permissions = _permissions(who.permissions)
        shown.publish, shown.subscribe = (
            RuleInfo() if rule is UNSET else rule for rule in (shown.publish, shown.subscribe)
        )
    end = expiry(who, now_ns / 1e9)
    if end is not None:
        info.expires = max(0, int(end - now_ns / 1e9)) * 1_000_000_000
    return info


def _permissions(given: Permissions) -> PermissionsInfo:
    info = PermissionsInfo(_rule(given.publish), _rule(given.subscribe))
    if given.responses is not None:
        info.responses = ResponsesInfo(given.responses.max, round(given.responses.expires * 1e9))
    return info


def _rule(rule: Rule | None) -> RuleInfo | UnsetType:
    if rule is None:
        return UNSET
    return RuleInfo(list(rule.allow or ()) or UNSET, list(rule.deny) or UNSET)
