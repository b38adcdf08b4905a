"""What certificates say, in the spelling of Go."""

from __future__ import annotations

import ssl
from collections.abc import Sequence

import pytest
from cryptography import x509
from cryptography.x509.oid import NameOID

from jetstream_py.server.certificates import Peer, describe, parse_dn
from tests.support.certs import Authority, Pair

SUBJECT = [
    (NameOID.COUNTRY_NAME, "US"),
    (NameOID.ORGANIZATION_NAME, "Acme, Inc"),
    (NameOID.ORGANIZATION_NAME, "Sales"),
    (NameOID.COMMON_NAME, "bob"),
]


def der(pair: Pair) -> bytes:
    return ssl.PEM_cert_to_DER_cert(pair.cert.read_text())


def peer(
    authority: Authority,
    subject: Sequence[tuple[x509.ObjectIdentifier, str]],
    names: Sequence[x509.GeneralName] = (),
) -> Peer:
    return Peer(der(authority.issue("some", subject, names)))


def test_alternative_names_by_kind(authority: Authority) -> None:
    names = [
        x509.UniformResourceIdentifier("spiffe://x/y"),
        x509.DNSName("h.x.com"),
        x509.RFC822Name("bob@x.com"),
        x509.DNSName("g.x.com"),
    ]
    found = peer(authority, SUBJECT, names)
    assert found.alternatives() == ["bob@x.com", "h.x.com", "g.x.com", "spiffe://x/y"]
    assert found.user(["g.x.com", "spiffe://x/y"]) == "g.x.com"
    assert found.user(["bob", "x.com"]) == ""


@pytest.mark.parametrize(
    "user",
    [
        r"CN=bob,O=Sales,O=Acme\, Inc,C=US",
        r"C=US,O=Acme\, Inc,O=Sales,CN=bob",
        r"cn = bob , o = Acme\2c Inc, O=Sales ,C=US",
        r"CN=bob,O=Acme\, Inc+O=Sales,C=US",  # as Go writes it
    ],
)
def test_the_distinguished_name_in_any_order(authority: Authority, user: str) -> None:
    others = ["CN=bob", "CN=bob,O=Sales,C=US", "CN=eve,O=Sales,O=Acme,C=US", "bob", "=", ",", "+"]
    assert peer(authority, SUBJECT).user([*others, user]) == user
    assert peer(authority, SUBJECT).user(others) == ""


def test_the_right_order_is_preferred(authority: Authority) -> None:
    turned, right = r"C=US,CN=bob", r"CN=bob,C=US"
    subject = [(NameOID.COUNTRY_NAME, "US"), (NameOID.COMMON_NAME, "bob")]
    assert peer(authority, subject).user([turned, right]) == right


def test_domain_components(authority: Authority) -> None:
    subject = [
        (NameOID.DOMAIN_COMPONENT, "com"),
        (NameOID.DOMAIN_COMPONENT, "example"),
        (NameOID.COMMON_NAME, "bob"),
    ]
    found = peer(authority, subject)
    assert found.subjects() == ["CN=bob,DC=example,DC=com", "CN=bob"]
    assert found.user(["DC=com,DC=example,CN=bob"]) == "DC=com,DC=example,CN=bob"
    assert found.user(["CN=bob"]) == "CN=bob"


def test_names_that_have_no_short_form(authority: Authority) -> None:
    """Then only Go's spelling of the rest is a name."""
    subject = [(NameOID.COMMON_NAME, "bob"), (NameOID.EMAIL_ADDRESS, "b@x")]
    found = peer(authority, subject)
    assert found.user(["CN=bob"]) == "CN=bob"
    (shown,) = describe([der(authority.issue("mail", subject))])
    assert shown.subject == "CN=bob,1.2.840.113549.1.9.1=#0c03624078"


@pytest.mark.parametrize(
    ("text", "parsed"),
    [
        (r"CN=a\+b", [{("CN", "a+b")}]),
        (r"CN=\ a\ ", [{("CN", " a ")}]),
        ("CN= a ", [{("CN", "a")}]),
        ("CN=a+OU=b,C=c", [{("CN", "a"), ("OU", "b")}, {("C", "c")}]),
        (r"CN=\c3\a4", [{("CN", "ä")}]),
        ("CN=a=b", [{("CN", "a=b")}]),
        ("CN=#04", []),
        ("bob", []),
        ("", []),
    ],
)
def test_texts_of_distinguished_names(text: str, parsed: list[set[tuple[str, str]]]) -> None:
    assert parse_dn(text) == parsed


def test_monitoring_shows_digests(authority: Authority) -> None:
    pair = authority.issue("shown", SUBJECT)
    (shown,) = describe([der(pair)])
    assert shown.subject == r"CN=bob,O=Acme\, Inc+O=Sales,C=US"
    assert (shown.spki_sha256, shown.cert_sha256) == (pair.pin, pair.fingerprint)
