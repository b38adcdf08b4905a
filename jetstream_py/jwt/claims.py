"""The claims of operators, accounts, users and activations, as they are written in tokens.

What a field leaves out is its zero, as in Go: an account without `limits` may have no connection, a
user of version 2 without `subs` no subscription. Wrong types make the token unreadable.
"""

from __future__ import annotations

from typing import Annotated, Any, TypeVar

import msgspec

from jetstream_py.gotext import quote
from jetstream_py.jwt.token import Token, TokenError, decode

T = TypeVar("T", bound="Claims")
Int = Annotated[int, msgspec.Meta(ge=-(1 << 63), le=(1 << 63) - 1)]


class Subjects(msgspec.Struct):
    allow: list[str] = []
    deny: list[str] = []


class Replies(msgspec.Struct):
    max: Int = 0
    ttl: Int = 0  # ns


class TimesOfDay(msgspec.Struct):
    start: str = ""
    end: str = ""


class Allowed(msgspec.Struct):
    """Permissions, of a user or by default."""

    pub: Subjects = msgspec.field(default_factory=Subjects)
    sub: Subjects = msgspec.field(default_factory=Subjects)
    resp: Replies | None = None


class UserLimits(Allowed):
    """Everything that a scope can say instead of the user's own token."""

    src: list[str] | str = []
    times: list[TimesOfDay] = []
    times_location: str = ""
    subs: Int = 0
    data: Int = 0
    payload: Int = 0
    bearer_token: bool = False
    proxy_required: bool = False
    allowed_connection_types: list[str] = []

    def networks(self) -> list[str]:
        if isinstance(self.src, str):
            return [part.strip() for part in self.src.split(",") if part.strip()]
        return self.src


class UserBody(UserLimits):
    issuer_account: str = ""
    tags: list[str] = []


class Template(UserLimits):
    """Unlike a token's, its limits are none unless it has them."""

    subs: Int = -1
    data: Int = -1
    payload: Int = -1


class Scope(msgspec.Struct):
    kind: str = ""
    key: str = ""
    role: str = ""
    template: Template = msgspec.field(default_factory=Template)


class JetStreamLimits(msgspec.Struct):
    mem_storage: Int = 0
    disk_storage: Int = 0
    streams: Int = 0
    consumer: Int = 0
    max_ack_pending: Int = 0
    mem_max_stream_bytes: Int = 0
    disk_max_stream_bytes: Int = 0
    max_bytes_required: bool = False


class AccountLimits(JetStreamLimits):
    subs: Int = 0
    data: Int = 0
    payload: Int = 0
    imports: Int = 0
    exports: Int = 0
    wildcards: bool = False
    disallow_bearer: bool = False
    conn: Int = 0
    leaf: Int = 0
    tiered_limits: dict[str, JetStreamLimits] = {}


class LatencyClaim(msgspec.Struct):
    sampling: Int | str = 0
    results: str = ""


class ExportClaim(msgspec.Struct):
    name: str = ""
    subject: str = ""
    type: str = ""
    token_req: bool = False
    revocations: dict[str, Int] = {}
    response_type: str = ""
    response_threshold: Int = 0  # ns
    service_latency: LatencyClaim | None = None
    account_token_position: Int = 0
    allow_trace: bool = False


class ImportClaim(msgspec.Struct):
    name: str = ""
    subject: str = ""
    account: str = ""
    token: str = ""
    to: str = ""
    local_subject: str = ""
    type: str = ""
    share: bool = False
    allow_trace: bool = False


class Weighted(msgspec.Struct):
    subject: str = ""
    weight: Annotated[int, msgspec.Meta(ge=0, le=255)] = 0
    cluster: str = ""


class Callout(msgspec.Struct):
    auth_users: list[str] = []
    allowed_accounts: list[str] = []
    xkey: str = ""


class TraceClaim(msgspec.Struct):
    dest: str = ""
    sampling: Int = 0


class AccountBody(msgspec.Struct):
    imports: list[ImportClaim] = []
    exports: list[ExportClaim] = []
    limits: AccountLimits = msgspec.field(default_factory=AccountLimits)
    signing_keys: list[str | Scope] = []
    revocations: dict[str, Int] = {}
    default_permissions: Allowed = msgspec.field(default_factory=Allowed)
    mappings: dict[str, list[Weighted]] = {}
    authorization: Callout = msgspec.field(default_factory=Callout)
    trace: TraceClaim | None = None
    cluster_traffic: str = ""
    tags: list[str] = []


class OperatorBody(msgspec.Struct):
    signing_keys: list[str] = []
    system_account: str = ""
    strict_signing_key_usage: bool = False
    tags: list[str] = []


class ActivationBody(msgspec.Struct):
    subject: str = ""
    kind: str = ""
    issuer_account: str = ""
    tags: list[str] = []


class Claims(msgspec.Struct):
    """What all tokens say."""

    iss: str = ""
    sub: str = ""
    aud: str = ""
    name: str = ""
    jti: str = ""
    iat: Int = 0
    nbf: Int = 0
    exp: Int = 0

    def time_issues(self, now: float) -> list[str]:
        """Why it does not hold now."""
        issues = []
        if 0 < self.exp < int(now):
            issues.append("claim is expired")
        if self.nbf > int(now):
            issues.append("claim is not yet valid")
        return issues


class OperatorClaims(Claims):
    nats: OperatorBody = msgspec.field(default_factory=OperatorBody)


class AccountClaims(Claims):
    nats: AccountBody = msgspec.field(default_factory=AccountBody)


class UserClaims(Claims):
    nats: UserBody = msgspec.field(default_factory=UserBody)


class ActivationClaims(Claims):
    nats: ActivationBody = msgspec.field(default_factory=ActivationBody)


def read_operator(text: str) -> OperatorClaims:
    return _convert(decode(text, "operator"), OperatorClaims)


def read_account(text: str) -> AccountClaims:
    claims = _convert(decode(text, "account"), AccountClaims)
    body = claims.nats
    kinds = {item.type for item in body.exports} | {item.type for item in body.imports}
    for kind in sorted(kinds - {"", "stream", "service"}):
        raise TokenError(f"unknown export type {quote(kind)}")
    for key in body.signing_keys:
        if isinstance(key, Scope) and key.kind != "user_scope":
            raise TokenError("unknown signing key scope %!q(<nil>)")
    return claims


def read_user(text: str) -> UserClaims:
    return _convert(decode(text, "user"), UserClaims)


def read_activation(text: str) -> ActivationClaims:
    return _convert(decode(text, "activation"), ActivationClaims)


def _convert(token: Token, kind: type[T]) -> T:
    claims: dict[str, Any] = token.claims
    if token.version == 1:
        claims = {**claims, "nats": _first_version(token)}
    return convert(claims, kind)


def convert(claims: dict[str, Any], kind: type[T]) -> T:
    """Claims of the kind; those of another shape are a `TokenError`."""
    try:
        return msgspec.convert(claims, kind)
    except (msgspec.ValidationError, RecursionError) as error:
        raise TokenError(str(error)) from None


def _first_version(token: Token) -> dict[str, Any]:
    """The body of a token of version 1, as version 2 would have it."""
    claims = token.claims
    body = {**claims["nats"]}
    if token.kind == "user":
        body = {"subs": -1, "data": -1, "payload": -1, **body}
        body["issuer_account"] = claims.get("issuer_account", "")
    if "tags" in claims:
        body["tags"] = claims["tags"]
    return body
