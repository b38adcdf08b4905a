"""The block `tls`, of clients and of the WebSocket listener."""

from __future__ import annotations

import re
from typing import Final

from msgspec.structs import replace

from jetstream_py import gotext, limits
from jetstream_py.config import durations, kinds
from jetstream_py.config.account_options import Tls
from jetstream_py.config.authorization import timeout_kind
from jetstream_py.config.certificates import certificate_fault, content_digest
from jetstream_py.config.draft import Draft, Refusal
from jetstream_py.config.parser import Value
from jetstream_py.config.tables import Fields, Key, Table, ignored, key, read_fields, table
from jetstream_py.config.tls_names import CURVES, INSECURE_SUITES, SUITES

_VERSIONS: Final = ("1.0", "1.1", "1.2", "1.3")
_FINGERPRINT: Final = re.compile("[0-9a-fA-F]{64}")
_SPKI: Final = "hex-encoded sha256 of DER encoded SubjectPublicKeyInfo"
_PROBLEM: Final = "error parsing tls config,"
_UNKNOWN: Final = _PROBLEM + " unknown field {}"


def tls_block(key: str, value: Value, draft: Draft) -> Tls:
    mistakes = len(draft.errors)
    block = kinds.block(key, value, draft)
    fields = read_fields(TLS_KEYS, block, draft, "tls.", _UNKNOWN)
    if len(draft.errors) > mistakes:
        return Tls()
    _check_suites(fields)
    tls = _tls(fields)
    if tls.certs and tls.cert_file:
        text = f"{_PROBLEM} cannot combine 'cert_file' option with 'certs' option"
        raise Refusal(text)
    if tls.cert_file and not tls.key_file:
        raise Refusal("missing 'key_file' in TLS configuration")
    if tls.key_file and not tls.cert_file:
        raise Refusal("missing 'cert_file' in TLS configuration")
    return checked(tls)


def checked(tls: Tls) -> Tls:
    """With the digest of its files, when they are usable."""
    if fault := certificate_fault(tls):
        raise Refusal(fault)
    return replace(tls, digest=content_digest(tls))


def tls_from_flags(draft: Draft) -> None:
    """`--tls` and its kin. `--tls=false` turns the others off."""
    flags = draft.tls_flags
    if not flags or flags.get("tls") is False:
        return
    tls = draft.options.tls or Tls()
    tls = replace(
        tls,
        cert_file=flags.get("tlscert") or tls.cert_file,
        key_file=flags.get("tlskey") or tls.key_file,
        ca_file=flags.get("tlscacert") or tls.ca_file,
        verify=bool(flags.get("tlsverify", tls.verify)),
    )
    if not tls.cert_file and not tls.certs:
        raise Refusal("TLS Server certificate must be present and valid")
    if not tls.key_file and not tls.certs:
        raise Refusal("TLS Server private key must be present and valid")
    draft.options.tls = checked(tls)


def _tls(fields: Fields) -> Tls:
    first, fallback = fields.get("handshake_first", (False, 0.0))
    return Tls(
        cert_file=fields.get("cert_file", ""),
        key_file=fields.get("key_file", ""),
        ca_file=fields.get("ca_file", ""),
        certs=fields.get("certs", ()),
        verify=fields.get("verify", False) or fields.get("verify_and_map", False),
        verify_and_map=fields.get("verify_and_map", False),
        timeout=fields.get("timeout") or limits.TLS_TIMEOUT,
        min_version=fields.get("min_version", "1.2"),
        cipher_suites=fields.get("cipher_suites", ()),
        curve_preferences=fields.get("curve_preferences", ()),
        pinned_certs=fields.get("pinned_certs", frozenset()),
        handshake_first=first,
        handshake_fallback=fallback,
        connection_rate_limit=fields.get("connection_rate_limit", 0),
    )


def _check_suites(fields: Fields) -> None:
    weak = [name for name in fields.get("cipher_suites", ()) if name in INSECURE_SUITES]
    if weak and not fields.get("allow_insecure_cipher_suites"):
        raise Refusal(
            "insecure cipher suites configured without 'allow_insecure_cipher_suites' option set: "
            + ", ".join(weak)
        )


# -- values ----------------------------------------------------------------------------------------


def _file(key: str, value: Value, draft: Draft) -> str:
    if type(value.data) is not str:
        raise Refusal(f"{_PROBLEM} expected '{key}' to be filename")
    return value.data


def _boolean(key: str, value: Value, draft: Draft) -> bool:
    if type(value.data) is not bool:
        raise Refusal(f"{_PROBLEM} expected '{key}' to be a boolean")
    return value.data


def _known_urls(key: str, value: Value, draft: Draft) -> bool:
    if on := _boolean(key, value, draft):
        raise Refusal("verify_cert_and_check_known_urls not supported in this context")
    return on


def _names(known: frozenset[str], what: str) -> kinds.Kind:
    def read(key: str, value: Value, draft: Draft) -> tuple[str, ...]:
        items = kinds.array(key, value, draft)
        if not items:
            raise Refusal(f"{_PROBLEM} '{key}' cannot be empty")
        for item in items:
            if (name := kinds.text(key, item, draft)) not in known:
                raise Refusal(f"unrecognized {what} {name}", item.at)
        return tuple(kinds.texts(key, value, draft))

    return kinds.Kind("array of names", read)


def _min_version(key: str, value: Value, draft: Draft) -> str:
    data = value.data
    if type(data) is not str:
        raise Refusal(f"error parsing tls config: 'min_version' wrong type: {kinds.shown(data)}")
    if data not in _VERSIONS:
        raise Refusal(f"error parsing tls config: unknown version: {data}")
    if data < "1.2":
        raise Refusal(f"error parsing tls config: unsupported TLS version: TLS {data}")
    return data


def _pinned(key: str, value: Value, draft: Draft) -> frozenset[str]:
    if type(value.data) is not list:
        raise Refusal(f"{_PROBLEM} expected '{key}' to be a list of {_SPKI}")
    for item in value.data:
        pin = kinds.text(key, item, draft)
        if not _FINGERPRINT.fullmatch(pin):
            text = f"{_PROBLEM} '{key}' key {pin.lower()} does not look like {_SPKI}"
            raise Refusal(text, item.at)
    return frozenset(pin.lower() for pin in kinds.texts(key, value, draft))


def _handshake_first(key: str, value: Value, draft: Draft) -> tuple[bool, float]:
    """Whether, and how long to wait for the handshake before a plain INFO; 0: there is none."""
    data = value.data
    if type(data) is bool:
        return data, 0.0
    if type(data) is not str:
        got = kinds.go_type(data)
        raise Refusal(f"field {gotext.quote(key)} should be a boolean or a string, got {got}")
    match data.strip().lower():
        case "true" | "on":
            return True, 0.0
        case "false" | "off":
            return False, 0.0
        case "auto":
            return True, limits.TLS_FALLBACK
        case word:
            try:
                return True, durations.seconds(word)
            except ValueError:
                shown = gotext.quote(data)
                raise Refusal(f"field {gotext.quote(key)}'s value {shown} is invalid") from None


def _rate(key: str, value: Value, draft: Draft) -> int:
    if type(value.data) is not int:
        raise Refusal(f"{_PROBLEM} '{key}' wrong type")
    return max(value.data, 0)


def _certs(key: str, value: Value, draft: Draft) -> tuple[tuple[str, str], ...]:
    if type(value.data) is not list:
        raise Refusal("error parsing certificates config: unsupported type map[string]interface {}")
    return tuple(_pair(item, draft) for item in value.data)


def _pair(item: Value, draft: Draft) -> tuple[str, str]:
    problem = "error parsing certificates config:"
    if type(item.data) is not dict:
        raise Refusal(f"{problem} unsupported type {kinds.go_type(item.data)}", item.at)
    files: dict[str, str] = {}
    at = item.at
    for written, entry in item.data.items():
        at = entry.at
        if type(entry.data) is not str:
            raise Refusal(f"{problem} unsupported type {kinds.go_type(entry.data)}", at)
        if written.lower() not in ("cert_file", "key_file"):
            shown = gotext.quote(written)
            raise Refusal(f"error parsing tls certs config, unknown field {shown}", at)
        files[written.lower()] = entry.data
    if not files.get("cert_file") or not files.get("key_file"):
        raise Refusal(f"{problem} both 'cert_file' and 'cert_key' options are required", at)
    return files["cert_file"], files["key_file"]


def _ocsp_peer(key: str, value: Value, draft: Draft) -> None:
    if value.data is not False:
        raise Refusal(
            '"tls.ocsp_peer" is not supported in this version: '
            "without it, revoked certificates would be accepted"
        )


def _store_text(key: str, value: Value, draft: Draft) -> str:
    if type(value.data) is not str or not value.data:
        raise Refusal(f"expected '{key}' to be a valid non-empty string")
    return value.data


def _store_boolean(key: str, value: Value, draft: Draft) -> bool:
    if type(value.data) is not bool:
        raise Refusal(f"expected '{key}' to be a boolean")
    return value.data


def _cert_store(key: str, value: Value, draft: Draft) -> None:
    _store_text(key, value, draft)
    raise Refusal("cert_store not compatible with current operating system")


# -- the table -------------------------------------------------------------------------------------


def _tls_key(names: str, kind: kinds.Kind, note: str) -> Key:
    return key(names, kind, "tls", note)


TLS: Final = kinds.Kind("block", tls_block)
_FILE: Final = kinds.Kind("file", _file)
_BOOLEAN: Final = kinds.Kind("boolean", _boolean)
_WINDOWS: Final = "only on Windows"

TLS_KEYS: Final[Table] = table(
    _tls_key("cert_file", _FILE, "certificate, and those up to its root"),
    _tls_key("key_file", _FILE, "its private key"),
    _tls_key("ca_file", _FILE, "roots for the certificates of clients"),
    _tls_key(
        "certs certificates",
        kinds.Kind("array of blocks of `cert_file` and `key_file`", _certs),
        "instead of one pair: several, chosen by the name that a client asks for",
    ),
    _tls_key("verify", _BOOLEAN, "clients need a certificate"),
    _tls_key("verify_and_map", _BOOLEAN, "... and are the users that it names"),
    _tls_key(
        "verify_cert_and_check_known_urls", kinds.Kind("boolean", _known_urls), "only `false`"
    ),
    _tls_key(
        "timeout", timeout_kind("tls", limit=float("inf")), "for the handshake; 2 s by default"
    ),
    _tls_key("min_version", kinds.Kind('"1.2" or "1.3"', _min_version), "oldest version of TLS"),
    _tls_key(
        "cipher_suites",
        _names(SUITES | INSECURE_SUITES, "cipher"),
        "for TLS 1.2; see `--help_tls`",
    ),
    _tls_key("allow_insecure_cipher_suites", _BOOLEAN, "weak ones may be among them"),
    _tls_key("curve_preferences", _names(CURVES, "curve preference"), "see `--help_tls`"),
    _tls_key(
        "pinned_certs",
        kinds.Kind("array of SHA-256", _pinned),
        "only clients whose certificates have these public keys",
    ),
    _tls_key(
        "handshake_first first immediate",
        kinds.Kind("boolean, auto or duration", _handshake_first),
        "TLS before INFO; with a time, a plain INFO comes when no handshake has begun by then",
    ),
    _tls_key("connection_rate_limit", kinds.Kind("integer", _rate), "handshakes in a second"),
    _tls_key("insecure", _BOOLEAN, "no effect: this server does not connect to others"),
    _tls_key("ocsp_peer", kinds.Kind("boolean", _ocsp_peer), "only `false`"),
    _tls_key("cert_store", kinds.Kind("string", _cert_store), _WINDOWS),
    ignored("cert_match_by", kinds.Kind("string", _store_text), _WINDOWS),
    ignored("cert_match", kinds.Kind("string", _store_text), _WINDOWS),
    ignored("cert_match_skip_invalid", kinds.Kind("boolean", _store_boolean), _WINDOWS),
    ignored("ca_certs_match", kinds.ANYTHING, _WINDOWS),
)
