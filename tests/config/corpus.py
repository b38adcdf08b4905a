"""Configurations of accounts, users, TLS and the rest, in files: one after the other, `---` between.

The files that they name are made by `write_files`.
"""

from __future__ import annotations

from pathlib import Path

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ed25519

from tests.support.certs import Authority
from tests.support.tokens import Account, Operator

_CORPUS = Path(__file__).parent / "corpus"
OPERATOR = Operator("OP", b"\1" * 32)
SYSTEM = Account(OPERATOR, "SYS", b"\2" * 32)
OTHER = Account(OPERATOR, "A", b"\3" * 32)
_WORDS = {
    "@OPERATOR@": OPERATOR.key.public,
    "@SYSTEM@": SYSTEM.key.public,
    "@SYSTEM_JWT@": SYSTEM.jwt(),
    "@OTHER@": OTHER.key.public,
    "@OTHER_JWT@": OTHER.jwt(),
}


def samples(name: str) -> dict[str, str]:
    """The samples of a file by their number."""
    found = (_CORPUS / f"{name}.txt").read_text().removesuffix("\n").split("\n---\n")
    return {f"{name}-{number}": _filled(text) for number, text in enumerate(found, 1)}


def _filled(text: str) -> str:
    for word, value in _WORDS.items():
        text = text.replace(word, value)
    return text


def write_files(directory: Path) -> None:
    """Certificates `cert.pem` and `ca.pem`, their keys and what is wrong with them; tokens."""
    authority = Authority(directory, "ca")
    pair = authority.server("cert")
    pair.key.rename(directory / "key.pem")
    authority.server("other").key.rename(directory / "key2.pem")
    foreign = ed25519.Ed25519PrivateKey.generate()
    (directory / "foreign.pem").write_bytes(
        foreign.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    (directory / "junk.pem").write_text("junk\n")
    bad = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"
    (directory / "badcert.pem").write_text(bad)
    token = OPERATOR.jwt(nats={"system_account": SYSTEM.key.public})
    (directory / "op.jwt").write_text(token)
    (directory / "plain.jwt").write_text(OPERATOR.jwt())
    head, foot = "-----BEGIN NATS OPERATOR JWT-----", "------END NATS OPERATOR JWT------"
    (directory / "wrapped.jwt").write_text(f"{head}\n{token}\n{foot}\n\n")
