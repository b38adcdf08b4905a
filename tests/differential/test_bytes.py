"""Odd bytes, cut in odd ways: both servers must answer alike."""

from __future__ import annotations

import random

import pytest

from tests.differential.cases import all_cases
from tests.differential.transcript import assert_alike, assert_same, normal
from tests.support.server import Server

CASES = all_cases()


def random_pieces(data: bytes, seed: int) -> list[bytes]:
    chance = random.Random(seed)
    cuts = sorted(chance.sample(range(1, len(data)), min(4, len(data) - 1)))
    return [data[start:end] for start, end in zip([0, *cuts], [*cuts, len(data)], strict=True)]


def assert_alike_in_pieces(server: Server, data: bytes, pieces: list[bytes]) -> None:
    """The answer does not depend on where the network cuts the bytes."""
    for _ in range(3):
        whole = normal(server.talk(data))
        with server.client() as client:
            for piece in pieces:
                client.send(piece)
            cut = normal(client.talk(b""))
        if whole == cut:
            return
    assert_same(whole, cut)


@pytest.mark.parametrize("number", range(len(CASES)))
def test_odd_bytes(oracle: Server, ours: Server, number: int) -> None:
    data = CASES[number]
    print("sent:", data)
    assert_alike(oracle, ours, data)
    assert_alike_in_pieces(ours, data, random_pieces(data, number))


@pytest.mark.parametrize("number", range(0, len(CASES), 5))
def test_odd_bytes_one_by_one(ours: Server, number: int) -> None:
    data = CASES[number][:1500]
    print("sent:", data)
    assert_alike_in_pieces(ours, data, [bytes([byte]) for byte in data])
