"""`$SYS.REQ.CLAIMS.*` and `$SYS.REQ.ACCOUNT.<id>.CLAIMS.*`: tools push, list and delete accounts.

Pure functions of the operator mode and a payload; what to send, to log and to do about accounts comes
back as a `Reply`. A resolver of files keeps whatever is an account's token that makes sense, whoever
signed it: it counts only when `Trust` believes it, and an account in use stays as it was until then.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from jetstream_py import limits, nkey
from jetstream_py.config.account_options import AccountOptions
from jetstream_py.gotext import escape_json, utf8
from jetstream_py.jwt.account_checks import account_issues, mapping_fault
from jetstream_py.jwt.claims import AccountClaims, read_account
from jetstream_py.jwt.directory import Directory
from jetstream_py.jwt.mode import OperatorMode
from jetstream_py.jwt.resolver import ResolverError
from jetstream_py.jwt.token import TokenError, decode
from jetstream_py.jwt.trust import AccountError

UPDATE_FAILED = "jwt update resulted in error"


class Reply(msgspec.Struct):
    """Answers, in order; accounts to change and to drop; lines for the log."""

    bodies: list[bytes] = []
    changed: AccountOptions | None = None
    deleted: list[str] = []
    debug: list[str] = []
    errors: list[str] = []


Server = Callable[[], msgspec.Raw]  # the `server` block of an answer, made anew for each


def handle(mode: OperatorMode, subject: str, payload: bytes, server: Server) -> Reply | None:
    """The answer to a request. None: there is no such service here, as if nobody listened."""
    match subject.split("."):
        case ["$SYS", "REQ", "CLAIMS", verb] if isinstance(mode.resolver, Directory):
            return _for_all(mode, mode.resolver, verb, payload, server)
        case ["$SYS", "REQ", "ACCOUNT", account, "CLAIMS", "UPDATE"]:
            return _update(mode, account, payload, server)
        case ["$SYS", "REQ", "ACCOUNT", account, "CLAIMS", "LOOKUP"]:
            if isinstance(mode.resolver, Directory) and not mode.resolver.is_cache:
                return _lookup(mode, mode.resolver, account)
    return None


def _for_all(
    mode: OperatorMode, store: Directory, verb: str, payload: bytes, server: Server
) -> Reply | None:
    if verb == "UPDATE":
        return _update(mode, None, payload, server)
    if verb == "LIST":
        return _list(store, server)
    if verb == "DELETE":
        return _delete(mode, store, payload, server)
    if verb == "PACK" and not store.is_cache:
        return _pack(store, payload)
    return None


def _update(mode: OperatorMode, named: str | None, payload: bytes, server: Server) -> Reply:
    text = utf8(payload)
    name = named if named is not None else "n/a"
    try:
        claims = read_account(text)
        if named is not None and claims.sub != named:
            raise TokenError("subject does not match jwt content")
        if not nkey.is_public(claims.sub, nkey.ACCOUNT):
            raise TokenError("invalid public key")
    except TokenError as error:
        return _failed(server, UPDATE_FAILED, str(error), name)
    issues = account_issues(claims)
    fault = f"validation errors: [{' '.join(issues)}]" if issues else mapping_fault(claims)
    if fault:
        return _failed(server, "jwt validation failed", fault, claims.sub)
    if isinstance(mode.resolver, Directory):
        return _keep(mode, mode.resolver, claims, text, server)
    return _apply(mode, claims.sub, text, server)


def _keep(
    mode: OperatorMode, store: Directory, claims: AccountClaims, text: str, server: Server
) -> Reply:
    """Into the directory first, then to whoever uses the account."""
    name = claims.sub
    if store.is_cache and not store.knows(name):
        return _done(server, "jwt update cache skipped", name)
    try:
        store.store(name, text, mode.now())
    except ResolverError as error:
        return _failed(server, UPDATE_FAILED, str(error), name)
    reply = _done(server, "jwt updated cache" if store.is_cache else "jwt updated", name)
    if mode.is_loaded(name):
        try:
            reply.changed = mode.update(text)
        except AccountError as error:
            where = "" if store.is_cache else f' for account "{name}"'
            reply.errors.append(f"DirResolver - Update{where} resulted in error {error}")
    return reply


def _apply(mode: OperatorMode, name: str, text: str, server: Server) -> Reply:
    """Without a directory only accounts in use can change, and not for longer than the server runs."""
    if not mode.is_loaded(name):
        return _done(server, "jwt update skipped", name)
    try:
        changed = mode.update(text)
    except AccountError as error:
        return _failed(server, UPDATE_FAILED, str(error), name)
    reply = _done(server, "jwt updated", name)
    reply.changed = changed
    return reply


def _lookup(mode: OperatorMode, store: Directory, account: str) -> Reply:
    if not nkey.is_public(account, nkey.ACCOUNT):
        error = f'DirResolver - Error looking up account "{account}": invalid public key'
        return Reply(errors=[error])
    text = store.fetch(account, mode.now())
    if text is None:
        return Reply([b""], debug=[f'DirResolver - Could not find account "{account}"'])
    return Reply([text.encode()])


def _list(store: Directory, server: Server) -> Reply:
    accounts = store.accounts()
    body = _json({"data": accounts, "server": server()})
    return Reply([body], debug=[f"list request responded with {len(accounts)} account ids"])


def _pack(store: Directory, payload: bytes) -> Reply:
    """All tokens, one to a message, and an empty one; nothing but that to who has them all."""
    digest = store.digest()
    if payload == digest:
        return Reply([b""], debug=[f"DirResolver - Pack request matches hash {digest.hex()}"])
    line = (
        f"DirResolver - Pack request hash {payload[: limits.SERVICE_ECHO].hex()} - "
        f"finished responding with hash {digest.hex()}"
    )
    bodies = [f"{account}|{text}".encode() for account, text in store.tokens()]
    return Reply([*bodies, b""], debug=[line])


def _delete(mode: OperatorMode, store: Directory, payload: bytes, server: Server) -> Reply:
    """Accounts, named in a token that an operator signed for itself."""
    subject = ""
    try:
        token = decode(utf8(payload))
        subject = str(token.claims.get("sub", ""))
        accounts = _to_delete(mode, store, token.issuer, subject, token.claims["nats"])
        for account in accounts:
            store.delete(account)
            mode.forget(account)
    except (TokenError, ResolverError) as error:
        text = f"delete accounts request by {subject} failed - {error}"
        return Reply(_body(server, error={"code": 500, "description": text}), errors=[text])
    text = f"deleted {len(accounts)} accounts"
    body = _body(server, data={"code": 200, "message": text})
    return Reply(body, deleted=accounts, debug=[text])


def _to_delete(
    mode: OperatorMode, store: Directory, issuer: str, subject: str, body: dict[str, Any]
) -> list[str]:
    if not store.may_delete:
        raise TokenError("delete must be enabled in server config")
    if subject != issuer:
        raise TokenError("not self signed")
    if issuer not in mode.trust.keys:
        raise TokenError("not trusted")
    accounts = body.get("accounts")
    if type(accounts) is not list or not all(
        type(account) is str and nkey.is_public(account, nkey.ACCOUNT) for account in accounts
    ):
        raise TokenError("malformed request")
    if mode.system_account in accounts:
        raise TokenError("not allowed to delete system account")
    return accounts


def _done(server: Server, message: str, account: str) -> Reply:
    data = {"account": account, "code": 200, "message": message}
    return Reply(_body(server, data=data), debug=[f"{message} - {account}"])


def _failed(server: Server, what: str, why: str, account: str) -> Reply:
    error = {"account": account, "code": 500, "description": f"{what} - {why}"}
    return Reply(_body(server, error=error), errors=[f"{what} - {account} - {why}"])


def _body(server: Server, **result: object) -> list[bytes]:
    return [_json({"server": server(), **result})]


def _json(value: object) -> bytes:
    return escape_json(msgspec.json.encode(value))
