"""Header blocks: read whole or header by header, with the same answers."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from jetstream_py import headers as hdr

NAMES = [hdr.MSG_ID, hdr.EXPECTED_LAST_SUBJECT_SEQ, hdr.EXPECTED_LAST_SUBJECT_SEQ_SUBJECT, hdr.TTL]
PIECES = st.one_of(
    st.sampled_from([*NAMES, b": ", b":", b"\r\n", b"\r", b"\n", b" ", b"x", b"Nats-", hdr.START]),
    st.binary(max_size=3),
)


@given(block=st.lists(PIECES, max_size=30).map(b"".join))
def test_all_fields_are_what_each_of_them_is(block: bytes) -> None:
    fields = hdr.fields(block)
    assert all(fields[name] == hdr.get(block, name) for name in fields)
    assert [fields.get(name) for name in NAMES] == [hdr.get(block, name) for name in NAMES]
