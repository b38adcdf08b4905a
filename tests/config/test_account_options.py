"""What accounts, users, TLS and the rest become: good files and the data that they stand for."""

from __future__ import annotations

from pathlib import Path

import pytest

from jetstream_py.config.account_options import (
    AccountOptions,
    AuthCallout,
    Destination,
    Export,
    Import,
    Latency,
    Mapping,
    Operator,
    Permissions,
    Responses,
    Rule,
    StreamLimits,
    User,
    WebSocket,
)
from jetstream_py.config.options import Options
from jetstream_py.config.reload import get
from jetstream_py.config.secret import Secret
from tests.config.corpus import OPERATOR, OTHER, SYSTEM, write_files
from tests.config.helper import load

KEY = "UBAAQWTW6CG2G6ANGNKB5U2B7HRWHSGMZEZX3AQSAJOQDAUGJD46LD2E"
ACCOUNT = "ABJHLOVMPA4CI6R5KLNGOB4GSLNIY7IOUPAJC4YFNDLQVIOBYQGUWVLA"
CURVE = "XAB3NANV3M6N7AHSQP2U5FRWKKUT7EG2ZXXABV4XVXYQRJGM4S2CZGHT"
PIN = "A8F407340DCC719864214B85ED96F98D16CBFFA8F509D9FA4CA237B7BB3F9C32"


@pytest.fixture(autouse=True)
def _in_a_directory_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


# -- permissions -----------------------------------------------------------------------------------

PERMISSIONS: list[tuple[str, Permissions]] = [
    ("{}", Permissions()),
    ("{publish: foo}", Permissions(publish=Rule(("foo",)))),
    ("{pub: [foo, 'bar.>']}", Permissions(publish=Rule(("foo", "bar.>")))),
    ("{import: foo, export: bar}", Permissions(Rule(("foo",)), Rule(("bar",)))),
    ("{sub: {allow: a, deny: [b, c]}}", Permissions(subscribe=Rule(("a",), ("b", "c")))),
    ("{subscribe: {deny: a}}", Permissions(subscribe=Rule(None, ("a",)))),
    ("{publish: {allow: []}}", Permissions(publish=Rule())),
    ("{subscribe: 'q.>  grp'}", Permissions(subscribe=Rule(("q.> grp",)))),
    ("{allow_responses: true}", Permissions(responses=Responses(1, 120.0))),
    ("{allow_responses: false}", Permissions()),
    ("{allow_responses: {max: 5, expires: '1m'}}", Permissions(responses=Responses(5, 60.0))),
    ("{allow_responses: {max: 0}}", Permissions(responses=Responses(1, 120.0))),
    ("{publish_allow_responses: {max_msgs: -1, ttl: '-1s'}}", Permissions(responses=Responses(-1, -1.0))),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), PERMISSIONS)
def test_permissions(text: str, expected: Permissions) -> None:
    options = load(f"authorization {{ users [{{user: a, permissions: {text}}}] }}").options
    assert options.authorization.users == (User("a", permissions=expected),)


def test_users_without_permissions_get_the_default() -> None:
    own, default = Permissions(), Permissions(publish=Rule(("foo",)))
    users = f"users [{{user: a}}, {{user: b, permissions {{}}}}, {{nkey: {KEY}}}]"
    expected = (
        User("a", permissions=default),
        User("b", permissions=own),
        User(nkey=KEY, permissions=default),
    )
    text = f"default_permissions {{ publish: foo }}, {users}"
    assert load(f"authorization {{ {text} }}").options.authorization.users == expected
    members = load(f"accounts {{ A {{ {text} }} }}").options.authorization.users
    assert [(user.account, user.permissions) for user in members] == [
        ("A", default),
        ("A", own),
        ("A", default),
    ]


def test_a_single_user_has_no_default_permissions() -> None:
    text = "authorization { user: a, pass: b, default_permissions { publish: foo } }"
    authorization = load(text).options.authorization
    assert authorization.users == (User("a", Secret("b")),)
    assert authorization.single


@pytest.mark.behaviour("AUTH-022")
def test_users() -> None:
    text = """
    authorization { users [
      {user: a, password: "$2a$11$abc", clients: [standard, WebSocket]}
      {nkey: UBAAQWTW6CG2G6ANGNKB5U2B7HRWHSGMZEZX3AQSAJOQDAUGJD46LD2E, connection_types: mqtt}
    ] }
    accounts { A { users [{username: b, pass: c}] } }
    """
    assert load(text).options.authorization.users == (
        User("a", Secret("$2a$11$abc"), connection_types=frozenset({"STANDARD", "WEBSOCKET"})),
        User(nkey=KEY, connection_types=frozenset({"MQTT"})),
        User("b", Secret("c"), account="A"),
    )


def test_callout() -> None:
    callout = (
        f"issuer: {ACCOUNT}, account: A, auth_users: [a], xkey: {CURVE}, allowed_accounts: [B]"
    )
    text = f"authorization {{ auth_callout {{ {callout} }} }}\naccounts: [A, B]"
    expected = AuthCallout(ACCOUNT, "A", ("a",), CURVE, ("B",))
    assert load(text).options.authorization.callout == expected
    text = f"authorization {{ auth_hook {{ issuer: {ACCOUNT}, users: [a] }} }}"
    assert load(text).options.authorization.callout == AuthCallout(ACCOUNT, "$G", ("a",))


# -- accounts --------------------------------------------------------------------------------------

ACCOUNTS: list[tuple[str, AccountOptions]] = [
    ("", AccountOptions("A")),
    (f"nkey: {ACCOUNT}", AccountOptions("A", nkey=ACCOUNT)),
    (
        "limits { max_conn: 1, max_subs: 2, max_payload: 3kb, max_leafs: 4 }",
        AccountOptions(
            "A", max_connections=1, max_subscriptions=2, max_payload=3072, max_leafnodes=4
        ),
    ),
    ("jetstream: enabled", AccountOptions("A", jetstream=StreamLimits())),
    ("jetstream: off", AccountOptions("A")),
    (
        "jetstream { mem: 1k, disk: 2k, streams: 3, consumers: 4, max_ack_pending: 5, max_bytes: true, "
        "mem_max_stream_bytes: 6, disk_max_stream_bytes: 7, cluster_traffic: owner }",
        AccountOptions("A", jetstream=StreamLimits(1000, 2000, 3, 4, 5, 6, 7, True)),
    ),
    ("trace_dest: a.b", AccountOptions("A", trace_dest="a.b")),
    (
        "msg_trace { dest: a, sampling: '25%' }",
        AccountOptions("A", trace_dest="a", trace_sampling=25),
    ),
    (
        "mappings { a: b, 'c.*': [{destination: 'd.$1', weight: 30%}, {dest: e, weight: 20, cluster: x}] }",
        AccountOptions(
            "A",
            mappings=(
                Mapping("a", (Destination("b"),)),
                Mapping("c.*", (Destination("d.$1", 30), Destination("e", 20, "x"))),
            ),
        ),
    ),
    (
        "exports [{stream: 's.>'}, {stream: p, accounts: [B, A]}]",
        AccountOptions("A", exports=(Export("s.>"), Export("p", accounts=frozenset({"A", "B"})))),
    ),
    (
        "exports [{service: r, response: chunk, threshold: '2s', latency: l, allow_trace: true}]",
        AccountOptions(
            "A",
            exports=(
                Export(
                    "r",
                    True,
                    response_type="chunked",
                    response_threshold=2.0,
                    latency=Latency("l", 100),
                    allow_trace=True,
                ),
            ),
        ),
    ),
    (
        "exports [{service: r, latency {subject: l, sampling: headers}}, "
        "{service: 't.*', account_token_position: 2, latency {subject: l, sampling: '7%'}}]",
        AccountOptions(
            "A",
            exports=(
                Export("r", True, latency=Latency("l", 0)),
                Export("t.*", True, account_token_position=2, latency=Latency("l", 7)),
            ),
        ),
    ),
    (
        "imports [{stream: {account: B, subject: 's.>'}, prefix: 'x.'}, "
        "{stream: {account: B, subject: 'p.*'}, to: 'y.$1', allow_trace: true}]",
        AccountOptions(
            "A",
            imports=(
                Import("B", "s.>", "x.s.>", prefix="x."),
                Import("B", "p.*", "y.$1", allow_trace=True),
            ),
        ),
    ),
    (
        "imports [{service: {account: B, subject: r}}, "
        "{service: {account: B, subject: r}, to: q, share: true}]",
        AccountOptions(
            "A",
            imports=(
                Import("B", "r", "r", service=True),
                Import("B", "r", "q", service=True, share=True),
            ),
        ),
    ),
]
OFFER = "B { exports [{stream: 's.>'}, {stream: 'p.*'}, {service: r}] }"


@pytest.mark.parametrize(("text", "expected"), ACCOUNTS)
def test_accounts(text: str, expected: AccountOptions) -> None:
    first, second = load(f"accounts {{ A {{ {text} }}, {OFFER} }}").options.accounts
    assert first == expected
    assert second.name == "B"


def test_accounts_by_name() -> None:
    assert load("accounts: [A, B]").options.accounts == (AccountOptions("A"), AccountOptions("B"))


def test_mappings_of_everybody() -> None:
    expected = (Mapping("a", (Destination("b"),)),)
    assert load("mappings { a: b }").options.mappings == expected


def test_the_system_account() -> None:
    assert load("accounts { S { } }\nsystem_account: S").options.system_account == "S"
    assert load("system_account: ''").options.system_account == "$SYS"


# -- operators -------------------------------------------------------------------------------------


def test_operator() -> None:
    write_files(Path())
    system, other = SYSTEM.key.public, OTHER.key.public
    text = f"""
    operator: wrapped.jwt
    resolver: {{ type: full, dir: jwts, allow_delete: true, interval: "1m", limit: 5, timeout: "1s" }}
    resolver_preload: {{ {system}: {SYSTEM.jwt()} }}
    resolver_pinned_accounts: {other}
    """
    assert load(text).options.authorization.operator == Operator(
        jwts=(Path("op.jwt").read_text(),),
        resolver="full",
        directory="jwts",
        allow_delete=True,
        interval=60.0,
        limit=5,
        timeout=1.0,
        preload=((system, SYSTEM.jwt()),),
        pinned_accounts=(other,),
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("MEMORY", Operator(resolver="memory")),
        ("URL(http://x/y)", Operator(resolver="url", url="http://x/y")),
        ("'URL(\"http://x/y\")'", Operator(resolver="url", url="http://x/y")),
        ("{type: cache, dir: d, ttl: '1h'}", Operator(resolver="cache", directory="d", ttl=3600.0)),
    ],
)
def test_resolvers(text: str, expected: Operator) -> None:
    key = OPERATOR.key.public
    operator = load(f"trusted_keys: {key}\nresolver: {text}").options.authorization.operator
    assert operator is not None
    assert operator.trusted_keys == (key,)
    for field in ("resolver", "url", "directory", "ttl"):
        assert getattr(operator, field) == getattr(expected, field)


def test_a_resolver_alone_is_no_operator_mode() -> None:
    options = load("resolver: MEMORY").options
    assert options.authorization.operator is None
    assert not options.authorization.required


# -- listeners -------------------------------------------------------------------------------------

PAIR = "cert_file: cert.pem, key_file: key.pem"
TLS: list[tuple[str, dict[str, object]]] = [
    (PAIR, {"cert_file": "cert.pem", "key_file": "key.pem", "timeout": 2.0, "min_version": "1.2"}),
    (f"{PAIR}, ca_file: ca.pem, verify: true", {"ca_file": "ca.pem", "verify": True}),
    (f"{PAIR}, verify_and_map: true", {"verify": True, "verify_and_map": True}),
    (f"{PAIR}, timeout: '1500ms', min_version: '1.3'", {"timeout": 1.5, "min_version": "1.3"}),
    (f"{PAIR}, timeout: 0.5", {"timeout": 0.5}),
    (f"{PAIR}, pinned_certs: [{PIN}]", {"pinned_certs": frozenset({PIN.lower()})}),
    (f"{PAIR}, handshake_first: true", {"handshake_first": True, "handshake_fallback": 0.0}),
    (f"{PAIR}, first: auto", {"handshake_first": True, "handshake_fallback": 0.05}),
    (f"{PAIR}, immediate: '300ms'", {"handshake_first": True, "handshake_fallback": 0.3}),
    (f"{PAIR}, handshake_first: off", {"handshake_first": False}),
    (f"{PAIR}, connection_rate_limit: 7", {"connection_rate_limit": 7}),
    (
        f"{PAIR}, cipher_suites: [TLS_AES_128_GCM_SHA256], curve_preferences: [X25519]",
        {"cipher_suites": ("TLS_AES_128_GCM_SHA256",), "curve_preferences": ("X25519",)},
    ),
    (f"certs: [{{{PAIR}}}]", {"certs": (("cert.pem", "key.pem"),)}),
]


@pytest.mark.parametrize(("text", "expected"), TLS)
def test_tls(text: str, expected: dict[str, object]) -> None:
    write_files(Path())
    tls = load(f"tls {{ {text} }}").options.tls
    assert tls is not None
    assert {name: getattr(tls, name) for name in expected} == expected


def test_certificates_are_known_by_their_content() -> None:
    write_files(Path())
    before = load(f"tls {{ {PAIR} }}").options.tls
    assert before == load(f"tls {{ {PAIR} }}").options.tls
    write_files(Path())
    assert before != load(f"tls {{ {PAIR} }}").options.tls


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", 2.0),
        (f"tls {{ {PAIR} }}", 3.0),
        (f"tls {{ {PAIR}, timeout: 5 }}", 6.0),
        (f"tls {{ {PAIR} }}\nauthorization {{ timeout: 1 }}", 1.0),
    ],
)
def test_time_to_log_in_starts_with_the_handshake(text: str, expected: float) -> None:
    write_files(Path())
    assert load(text).options.authorization.timeout == expected


WEBSOCKETS: list[tuple[str, WebSocket | None]] = [
    ("", None),
    ("no_tls: true", None),
    ("port: -1, no_tls: true", WebSocket(port=0, no_tls=True)),
    ("listen: '127.0.0.1:81', no_tls: true", WebSocket("127.0.0.1", 81, no_tls=True)),
    (
        "host: h, port: 81, no_tls: true, advertise: x, same_origin: true, origins: 'http://a', "
        "compression: true, handshake_timeout: '3s', ping_interval: '4s', headers {a: b}",
        WebSocket(
            "h",
            81,
            advertise="x",
            no_tls=True,
            same_origin=True,
            allowed_origins=("http://a",),
            compression=True,
            handshake_timeout=3.0,
            ping_interval=4.0,
            headers=(("a", "b"),),
        ),
    ),
    (
        "port: 81, no_tls: true, user_cookie: u, pass_cookie: p, token_cookie: t, "
        "authorization { user: a, pass: b, timeout: 5 }",
        WebSocket(
            port=81,
            no_tls=True,
            user_cookie="u",
            password_cookie="p",
            token_cookie="t",
            user="a",
            password=Secret("b"),
            auth_timeout=5.0,
        ),
    ),
]


@pytest.mark.parametrize(("text", "expected"), WEBSOCKETS)
def test_websocket(text: str, expected: WebSocket | None) -> None:
    assert load(f"websocket {{ {text} }}").options.websocket == expected


@pytest.mark.parametrize(
    ("text", "field", "expected"),
    [
        ("https: '127.0.0.1:8443'", "https_port", 8443),
        ("https: '127.0.0.1:8443'", "http_host", "127.0.0.1"),
        ("https_port: -1", "https_port", 0),
        ("allow_non_tls: true", "allow_non_tls", True),
    ],
)
def test_secure_monitoring(text: str, field: str, expected: object) -> None:
    write_files(Path())
    assert get(load(f"{text}\ntls {{ {PAIR} }}").options, field) == expected


def test_secrets_do_not_show() -> None:
    text = "websocket { port: 1, no_tls: true, authorization { user: a, pass: hidden } }"
    assert "hidden" not in repr(load(text).options)
    text = "accounts { A { users [{user: a, pass: hidden}] } }"
    assert "hidden" not in repr(load(text).options)


def test_nothing_of_it_is_there_by_itself() -> None:
    options = load("port: 4222").options
    plain = Options()
    for field in ("accounts", "mappings", "tls", "websocket", "authorization", "https_port"):
        assert getattr(options, field) == getattr(plain, field)
