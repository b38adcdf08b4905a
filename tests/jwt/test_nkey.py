"""Names of keys: one spelling each, and nothing else is a key."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jetstream_py import nkey

KINDS = {
    "A": nkey.ACCOUNT, "C": nkey.CLUSTER, "N": nkey.SERVER, "O": nkey.OPERATOR, "U": nkey.USER,
    "X": nkey.CURVE,
}  # fmt: skip
kinds = st.sampled_from([*KINDS.values()])
keys = st.binary(min_size=32, max_size=32)
ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"


@pytest.mark.parametrize(("letter", "kind"), KINDS.items())
def test_the_first_letters_tell_the_kind(letter: str, kind: int) -> None:
    assert nkey.encode(kind, bytes(32))[0] == letter
    assert nkey.encode_seed(kind, bytes(32))[:2] == "S" + letter


def test_a_known_pair() -> None:
    pair = nkey.KeyPair("SUACSSL3UAHUDXKFSNVUZRF5UHPMWZ6BFDTJ7M6USDXIEDNPPQYYYCU3VY")
    assert pair.public == "UDXU4RCSJNZOIQHZNWXHXORDPRTGNJAHAHFRGZNEEJCPQTT2M7NLCNF4"


@settings(deadline=None)
@given(kinds, keys)
def test_round_trip(kind: int, key: bytes) -> None:
    assert nkey.decode(nkey.encode(kind, key)) == (kind, key)
    assert nkey.decode_seed(nkey.encode_seed(kind, key)) == (kind, key)
    assert nkey.is_public(nkey.encode(kind, key), kind)
    assert not nkey.is_public(nkey.encode(kind, key), *({*KINDS.values()} - {kind}))


@settings(deadline=None)
@given(kinds, keys, st.data())
def test_every_character_counts(kind: int, key: bytes, data: st.DataObject) -> None:
    for text in (nkey.encode(kind, key), nkey.encode_seed(kind, key)):
        at = data.draw(st.integers(0, len(text) - 1))
        others = {*ALPHABET, *ALPHABET.lower(), *"=\n 01"} - {text[at]}
        other = data.draw(st.sampled_from(sorted(others)))
        changed = text[:at] + other + text[at + 1 :]
        cut, longer = text[:at], text + other
        for wrong in (changed, cut, longer, text.lower(), text + "\n", f" {text}", text[0] + text):
            assert refused(nkey.decode, wrong), wrong
            assert refused(nkey.decode_seed, wrong), wrong


@settings(deadline=None)
@given(st.text(max_size=80))
def test_no_text_is_a_surprise(text: str) -> None:
    assert refused(nkey.decode, text)
    assert refused(nkey.decode_seed, text)
    assert not nkey.is_public(text)
    assert not nkey.verify(text, b"", bytes(64))


def test_a_seed_is_no_public_key() -> None:
    seed = nkey.encode_seed(nkey.USER, bytes(32))
    assert not nkey.is_public(seed)
    assert refused(nkey.decode_seed, nkey.KeyPair(seed).public)
    with pytest.raises(ValueError, match="sign"):
        nkey.KeyPair(nkey.encode_seed(nkey.CURVE, bytes(32)))


@settings(deadline=None)
@given(keys, st.binary(max_size=40), st.data())
def test_signatures(seed: bytes, message: bytes, data: st.DataObject) -> None:
    pair = nkey.KeyPair(nkey.encode_seed(nkey.USER, seed))
    signed = pair.sign(message)
    assert nkey.verify(pair.public, message, signed)
    at = data.draw(st.integers(0, 8 * 64 - 1))
    broken = bytearray(signed)
    broken[at // 8] ^= 1 << at % 8
    assert not nkey.verify(pair.public, message, bytes(broken))
    assert not nkey.verify(pair.public, message + b"x", signed)
    assert not nkey.verify(pair.public, message, signed[:-1])
    assert not nkey.verify(pair.public, message, signed + b"x")


def refused(read: object, text: str) -> bool:
    assert callable(read)
    try:
        read(text)
    except ValueError:
        return True
    return False
