"""The short way of get requests reads a body as the careful parser does, or leaves it to that one."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jetstream_py.api.decode import decode_lenient, decode_required
from jetstream_py.api.messages import usual
from jetstream_py.api.requests import MsgGetRequest

KEYS = st.sampled_from(["seq", "last_by_subj", "next_by_subj", "Seq", "no_hdr", "batch"])
VALUES = st.one_of(
    st.integers(-1, 1 << 65), st.booleans(), st.none(), st.text(max_size=6), st.just("s.<&>.*")
)
BODIES = st.one_of(
    st.binary(max_size=20),
    st.dictionaries(KEYS, VALUES, max_size=3).map(lambda body: json.dumps(body).encode()),
    st.dictionaries(KEYS, VALUES, max_size=3).map(
        lambda body: json.dumps(body, separators=(",", ":"), ensure_ascii=False).encode()
    ),
    st.integers(0, 1 << 65).map(lambda seq: b'{"seq":%d}' % seq),
    st.binary(max_size=5).map(lambda text: b'{"last_by_subj": "' + text + b'"}'),
    st.binary(max_size=5).map(lambda text: b'{"seq":1,"next_by_subj":"' + text + b'"}'),
)


@settings(deadline=None)
@given(BODIES)
def test_both_ways_read_the_same(body: bytes) -> None:
    short = usual(body)
    if short is not None:
        assert short == decode_required(body, MsgGetRequest) == decode_lenient(body, MsgGetRequest)


@pytest.mark.parametrize(
    "body",
    [
        b'{"seq":1}',
        b'{"seq": 18446744073709551}',
        b'{"last_by_subj":"a.b"}',
        b'{"last_by_subj": "a.*"}',
        b'{"seq":7,"next_by_subj":"a.>"}',
        b'{"seq": 7, "next_by_subj": "a.>"}',
    ],
)
def test_what_clients_send_takes_the_short_way(body: bytes) -> None:
    assert usual(body) == decode_required(body, MsgGetRequest)


@pytest.mark.parametrize("body", [b'{"seq":0}', b'{"seq":01}', b'{"seq":1.0}', b'{"seq":-1}'])
def test_what_needs_judgement_does_not(body: bytes) -> None:
    assert usual(body) is None
