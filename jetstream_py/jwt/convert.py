"""From claims to the plain data that the server knows: `AccountOptions` and `User`."""

from __future__ import annotations

import msgspec

from jetstream_py import limits
from jetstream_py.config.account_options import (
    AccountOptions,
    AuthCallout,
    Destination,
    Export,
    Import,
    Latency,
    Mapping,
    Permissions,
    Responses,
    Rule,
    StreamLimits,
    TimeRange,
    User,
)
from jetstream_py.jwt.claims import (
    AccountClaims,
    Allowed,
    ExportClaim,
    ImportClaim,
    JetStreamLimits,
    LatencyClaim,
    Scope,
    Subjects,
    UserClaims,
    UserLimits,
)

CONNECTION_TYPES = frozenset(
    ("STANDARD", "WEBSOCKET", "LEAFNODE", "LEAFNODE_WS", "MQTT", "MQTT_WS", "IN_PROCESS")
)
_SECOND = 1e9


def user_of(claims: UserClaims, text: str) -> User:
    """The user of a token without a scope."""
    return _named(restricted(claims.nats), claims, text)


def scoped_user(claims: UserClaims, text: str, template: User, may: Permissions | None) -> User:
    """The user of a token whose signer said what its users are."""
    return _named(_replace(template, permissions=may), claims, text)


def _named(user: User, claims: UserClaims, text: str) -> User:
    return _replace(
        user,
        name=claims.name,
        nkey=claims.sub,
        account=claims.nats.issuer_account or claims.iss,
        expires=claims.exp,
        issued=claims.iat,
        issuer=claims.iss,
        jwt=text,
        tags=tuple(claims.nats.tags),
    )


def _replace(user: User, **changes: object) -> User:
    return msgspec.structs.replace(user, **changes)


def restricted(claims: UserLimits) -> User:
    """A user without a name: limits and permissions only."""
    return User(
        permissions=permissions(claims),
        connection_types=frozenset(kind.upper() for kind in claims.allowed_connection_types),
        max_subscriptions=claims.subs,
        max_payload=claims.payload,
        sources=tuple(claims.networks()),
        times=tuple(TimeRange(times.start, times.end) for times in claims.times),
        times_location=claims.times_location,
        bearer=claims.bearer_token,
        proxy_required=claims.proxy_required,
    )


def permissions(claims: Allowed) -> Permissions | None:
    """None when nothing is said."""
    publish, subscribe = _rule(claims.pub), _rule(claims.sub)
    if claims.resp is None:
        return Permissions(publish, subscribe) if publish or subscribe else None
    # Whoever may answer and is not told what else to publish may publish nothing else.
    publish = publish or Rule()
    if publish.allow is None:
        publish = Rule(allow=(), deny=publish.deny)
    responses = Responses(
        claims.resp.max or limits.RESPONSES_MAX,
        claims.resp.ttl / _SECOND or limits.RESPONSES_EXPIRE,
    )
    return Permissions(publish, subscribe, responses)


def _rule(subjects: Subjects) -> Rule | None:
    if not subjects.allow and not subjects.deny:
        return None
    return Rule(tuple(subjects.allow) or None, tuple(subjects.deny))


def account_of(claims: AccountClaims, text: str) -> AccountOptions:
    body = claims.nats
    scopes = [key for key in body.signing_keys if isinstance(key, Scope)]
    tiers = body.limits.tiered_limits
    return AccountOptions(
        name=claims.sub,
        exports=tuple(map(_export, body.exports)),
        imports=tuple(map(_import, body.imports)),
        mappings=_mappings(claims),
        jetstream=None if tiers else _stream_limits(body.limits),
        tiers=tuple((tier, found) for tier, of in tiers.items() if (found := _stream_limits(of))),
        max_connections=body.limits.conn,
        max_subscriptions=body.limits.subs,
        max_payload=body.limits.payload,
        max_leafnodes=body.limits.leaf,
        trace_dest=body.trace.dest if body.trace else "",
        trace_sampling=(body.trace.sampling or 100) if body.trace else 100,
        nkey=claims.sub,
        tags=tuple(body.tags),
        expires=claims.exp,
        issuer=claims.iss,
        jwt=text,
        issued=claims.iat,
        name_tag=claims.name,
        signing_keys=tuple(key for key in body.signing_keys if isinstance(key, str)),
        scopes=tuple((scope.key, restricted(scope.template)) for scope in scopes),
        disallow_bearer=body.limits.disallow_bearer,
        callout=_callout(claims),
        revocations=tuple(body.revocations.items()),
        default_permissions=permissions(body.default_permissions),
    )


def _callout(claims: AccountClaims) -> AuthCallout | None:
    given = claims.nats.authorization
    if not given.auth_users:
        return None
    return AuthCallout(
        issuer=claims.sub,
        account=claims.sub,
        users=tuple(given.auth_users),
        xkey=given.xkey,
        allowed_accounts=tuple(given.allowed_accounts),
    )


def _mappings(claims: AccountClaims) -> tuple[Mapping, ...]:
    return tuple(
        Mapping(
            source,
            tuple(Destination(to.subject, to.weight or 100, to.cluster) for to in destinations),
        )
        for source, destinations in claims.nats.mappings.items()
    )


def _stream_limits(claims: JetStreamLimits) -> StreamLimits | None:
    """None when nothing may be stored. Storage of 0 is none, any other limit of 0 is no limit, and some
    are told to clients as such."""
    if not claims.mem_storage and not claims.disk_storage:
        return None
    return StreamLimits(
        max_memory=claims.mem_storage,
        max_store=claims.disk_storage,
        max_streams=claims.streams,
        max_consumers=claims.consumer,
        max_ack_pending=claims.max_ack_pending or -1,
        memory_max_stream_bytes=claims.mem_max_stream_bytes or -1,
        store_max_stream_bytes=claims.disk_max_stream_bytes or -1,
        max_bytes_required=claims.max_bytes_required,
    )


def _export(claim: ExportClaim) -> Export:
    latency = claim.service_latency
    return Export(
        subject=claim.subject,
        service=claim.type == "service",
        response_type=claim.response_type.lower() or "singleton",
        response_threshold=claim.response_threshold / _SECOND,
        latency=None if latency is None else _latency(latency),
        account_token_position=claim.account_token_position,
        allow_trace=claim.allow_trace,
        revocations=tuple(claim.revocations.items()),
        token_required=claim.token_req,
    )


def _latency(claim: LatencyClaim) -> Latency:
    return Latency(claim.results, claim.sampling if isinstance(claim.sampling, int) else 0)


def _import(claim: ImportClaim) -> Import:
    """The old field `to` is a prefix for a stream. For a service it turns the names around: then
    `subject` is what the importer calls it."""
    service = claim.type == "service"
    subject, local = claim.subject, claim.local_subject or claim.subject
    if claim.to and service:
        subject, local = claim.to, claim.subject
    elif claim.to:
        local = f"{claim.to}.{claim.subject}"
    return Import(
        account=claim.account,
        subject=subject,
        to=local,
        service=service,
        share=claim.share,
        allow_trace=claim.allow_trace,
        token=claim.token,
    )
