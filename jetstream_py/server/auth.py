"""Who may in: the one place where credentials are judged.

Sans-IO and without side effects. Comparisons take the same time for every wrong answer, and a missing
or empty password never matches. What takes long (a bcrypt hash does so on purpose) is not done here: the
verdict is then a `Later`, for whoever has threads for it. `ASK` leaves the decision to the service of an
auth callout.
"""

from __future__ import annotations

import hmac
import re
from base64 import urlsafe_b64decode
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

import msgspec

from jetstream_py import nkey
from jetstream_py.config.account_options import AccountOptions, AuthCallout, Import, User
from jetstream_py.config.options import Options
from jetstream_py.server.connect import ConnectOptions

if TYPE_CHECKING:
    from jetstream_py.jwt.callout import House

NOBODY: Final = User()
_BCRYPT_LONGEST: Final = 72  # bytes of a password that bcrypt looks at
_BCRYPT: Final = re.compile(r"\$2[abxy]\$\d\d\$")


class Certificate(Protocol):
    """What a client showed in its TLS handshake."""

    def user(self, known: Collection[str]) -> str:
        """Which of these users it names, or nothing."""
        ...


class Attempt(NamedTuple):
    """A client that wants in."""

    client: ConnectOptions
    nonce: str = ""
    ip: str = ""
    connection_type: str = "STANDARD"
    certificate: Certificate | None = None
    now: float = 0.0  # seconds since 1970


class Refusal(NamedTuple):
    """Not this one."""

    why: str = ""  # for the log
    text: str = "Authorization Violation"  # for the client


class Later(NamedTuple):
    """Do the work in a thread; what comes out of it concludes."""

    work: Callable[[], object]
    conclude: Callable[[object], Verdict]


class Ask(NamedTuple):
    """Let the service of an auth callout decide."""

    callout: AuthCallout


Verdict = User | Refusal | Later | Ask


class Operator(Protocol):
    """The judge of JWTs."""

    def authenticate(self, attempt: Attempt) -> Verdict: ...

    def still(self, user: User) -> Refusal | None:
        """Why a connected user has to leave, if it has to."""
        ...

    def account(self, name: str) -> AccountOptions | None: ...

    def is_activated(self, importer: str, imported: Import, exporter: AccountOptions) -> bool:
        """Does an import come with a token that opens an export which asks for one?"""
        ...

    def leaves_at(self, user: User, now: float) -> float | None:
        """The second at which it has to leave in any case."""
        ...

    def house(self, callout: AuthCallout) -> House:
        """Where the users of an auth callout may live."""
        ...


class Guard:
    """Judges clients by the server's options."""

    def __init__(self, options: Options, operator: Operator | None = None, guest: str = "") -> None:
        """`guest` is what the server calls clients without a name where only operators have one."""
        self._auth = auth = options.authorization
        self._operator = operator
        self.no_auth_user = options.no_auth_user
        self._by_certificate = options.tls is not None and options.tls.verify_and_map
        self._by_name = {user.name: user for user in auth.users if not user.nkey}
        self._by_key = {user.nkey: user for user in auth.users if user.nkey}
        self.required = auth.required or operator is not None
        self.wants_nonce = bool(self._by_key or operator)
        if guest and operator is None and _only_for_operators(options):
            self.no_auth_user = guest
            self._by_name[guest] = User(name=guest)

    def default(self) -> User | None:
        """Who a client is that has not said anything yet; None: it must."""
        if not self.required:
            return NOBODY
        return self._user(self.no_auth_user)

    def judge(self, attempt: Attempt) -> Verdict:
        client, callout = attempt.client, self._auth.callout
        if callout is not None and not {client.user, client.nkey}.intersection(callout.users):
            return Ask(callout)
        verdict = self._judge(attempt)
        if isinstance(verdict, User) and verdict.connection_types:
            return _by_type(verdict, attempt)
        return verdict

    def _judge(self, attempt: Attempt) -> Verdict:
        client = attempt.client
        if client.account:
            return Refusal("accounts are not a client's to choose")
        if not self.required:
            return User(name=client.user)
        if self._by_certificate:
            return self._by_names(attempt)
        if self._operator is not None:
            return self._operator.authenticate(attempt)
        if self._by_key and client.nkey:
            return self._by_signature(client, attempt.nonce)
        if not (client.user or client.password or client.auth_token):
            return self.default() or Refusal()
        if self._auth.token:
            holder = User(password=self._auth.token)
            return self._by_secret(holder, client.auth_token, attempt)
        user = self._by_name.get(client.user)
        return Refusal() if user is None else self._by_secret(user, client.password, attempt)

    def _by_names(self, attempt: Attempt) -> Verdict:
        """Users that may not come this way do not hide others that the certificate names, too."""
        known = [
            name
            for name, user in self._by_name.items()
            if not user.connection_types or attempt.connection_type in user.connection_types
        ]
        name = attempt.certificate.user(known) if attempt.certificate is not None else ""
        return self._user(name) or Refusal("no user for the certificate")

    def _by_signature(self, client: ConnectOptions, nonce: str) -> Verdict:
        user = self._by_key.get(client.nkey)
        if user is None or not nonce:
            return Refusal()
        if not nkey.verify(client.nkey, nonce.encode(), signature(client.sig)):
            return Refusal("signature not verified")
        return user

    def _by_secret(self, user: User, given: str, attempt: Attempt) -> Verdict:
        secret = user.password
        if not is_hash(secret):
            return user if _equal(secret, given) else Refusal()
        if not given:
            return Refusal()

        def conclude(matched: object) -> Verdict:
            return _by_type(user, attempt) if matched else Refusal()

        return Later(lambda: _has_hash(given, secret), conclude)

    def _user(self, name: str) -> User | None:
        if not name:
            return None
        return self._by_name.get(name) or self._by_key.get(name)

    def still(self, user: User, attempt: Attempt) -> User | Refusal | None:
        """After a reload: who is this client now? None: nobody any more, it leaves without a word."""
        if user.jwt:
            return self._operator.still(user) or user if self._operator is not None else None
        if not user.password and not user.nkey:  # nobody asked who it was, or it was no_auth_user
            verdict = self.judge(attempt)
            return verdict if isinstance(verdict, User) else Refusal()
        if not user.name and not user.nkey:
            return user if _equal(self._auth.token, user.password) else Refusal()
        now = self._by_key.get(user.nkey) if user.nkey else self._by_name.get(user.name)
        if now is None or now.account != user.account:
            return None
        if user.password and not _equal(now.password, user.password):
            return Refusal()
        verdict = _by_type(now, attempt)
        return verdict if isinstance(verdict, User) else Refusal()


def has_clear_secrets(options: Options) -> bool:
    """Is there a password or a token that whoever reads the file can use?"""
    auth = options.authorization
    known = [user.password for user in auth.users if not user.nkey] + [auth.token]
    return any(secret and not _BCRYPT.match(secret) for secret in known)


def for_websocket(options: Options) -> Options:
    """The options by which clients are judged that come by WebSocket: its block may name others."""
    own = options.websocket
    if own is None:
        return options
    changes: dict[str, object] = {"tls": own.tls}
    if own.no_auth_user:
        changes["no_auth_user"] = own.no_auth_user
    if own.user or own.token:
        users = (User(name=own.user, password=own.password),) if own.user else ()
        changes["authorization"] = msgspec.structs.replace(
            options.authorization, users=users, token=own.token
        )
    return msgspec.structs.replace(options, **changes)


def _only_for_operators(options: Options) -> bool:
    """Is the system account the only one that the file names, and its users all there are? Then they are
    there for operators, and the server stays as open to others as it is without them."""
    auth = options.authorization
    accounts = {options.system_account}
    return (
        {account.name for account in options.accounts} == accounts
        and {user.account for user in auth.users} == accounts
        and not (auth.token or auth.callout or options.no_auth_user)
    )


def _by_type(user: User, attempt: Attempt) -> Verdict:
    if user.connection_types and attempt.connection_type not in user.connection_types:
        return Refusal("connection type is not allowed")
    return user


def is_hash(secret: str) -> bool:
    """Whether a configured password or token is a bcrypt hash."""
    return _BCRYPT.match(secret) is not None


def _has_hash(secret: str, hashed: str) -> bool:
    import bcrypt

    given = secret.encode("utf-8", "surrogatepass")[:_BCRYPT_LONGEST]
    matched: bool = bcrypt.checkpw(given, hashed.encode())
    return matched


def signature(text: str) -> bytes:
    """A client's signature, in either alphabet of base64, with padding or without; empty: it is none."""
    try:
        return urlsafe_b64decode(text.replace("+", "-").replace("/", "_").rstrip("=") + "==")
    except ValueError:
        return b""


def _equal(secret: str, given: str) -> bool:
    # "surrogatepass": what a client sends may be any text; it only has to compare, not to be valid.
    known, offered = (text.encode("utf-8", "surrogatepass") for text in (secret, given))
    return bool(secret) and hmac.compare_digest(known, offered)
