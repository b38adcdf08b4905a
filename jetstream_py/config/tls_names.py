"""Names of cipher suites and curves, as Go has them."""

from __future__ import annotations

from typing import Final

SUITES: Final = frozenset(
    (
        "TLS_AES_128_GCM_SHA256",
        "TLS_AES_256_GCM_SHA384",
        "TLS_CHACHA20_POLY1305_SHA256",
        "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA",
        "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256",
        "TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA",
        "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384",
        "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256",
        "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA",
        "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
        "TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA",
        "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384",
        "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256",
    )
)
# Those that need `allow_insecure_cipher_suites`.
INSECURE_SUITES: Final = frozenset(
    (
        "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256",
        "TLS_ECDHE_ECDSA_WITH_RC4_128_SHA",
        "TLS_ECDHE_RSA_WITH_3DES_EDE_CBC_SHA",
        "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256",
        "TLS_ECDHE_RSA_WITH_RC4_128_SHA",
        "TLS_RSA_WITH_3DES_EDE_CBC_SHA",
        "TLS_RSA_WITH_AES_128_CBC_SHA",
        "TLS_RSA_WITH_AES_128_CBC_SHA256",
        "TLS_RSA_WITH_AES_128_GCM_SHA256",
        "TLS_RSA_WITH_AES_256_CBC_SHA",
        "TLS_RSA_WITH_AES_256_GCM_SHA384",
        "TLS_RSA_WITH_RC4_128_SHA",
    )
)
CURVES: Final = frozenset(
    (
        "CurveP256",
        "CurveP384",
        "CurveP521",
        "SecP256r1MLKEM768",
        "SecP384r1MLKEM1024",
        "X25519",
        "X25519MLKEM768",
    )
)


def tls_help() -> str:
    """What `--help_tls` prints."""
    lines = [
        "",
        "A server speaks TLS when its file has a block like this one:",
        "",
        "    tls {",
        '        cert_file: "server-cert.pem"',
        '        key_file: "server-key.pem"',
        '        ca_file: "ca.pem"',
        "        verify: true",
        "        cipher_suites: [TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256]",
        "        curve_preferences: [X25519, CurveP256]",
        "    }",
        "",
        "Cipher suites:",
        *(f"    {name}" for name in sorted(SUITES)),
        "",
        "Cipher suites that need `allow_insecure_cipher_suites: true`:",
        *(f"    {name}" for name in sorted(INSECURE_SUITES)),
        "",
        "Curves:",
        *(f"    {name}" for name in sorted(CURVES)),
        "",
    ]
    return "\n".join(lines) + "\n"
