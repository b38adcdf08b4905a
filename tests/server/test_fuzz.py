"""The protocol fuzz in its short form: conversations against the model, and hypothesis."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fuzz import protocol
from tests.server.harness import Bench

CASES = 48_000  # `make fuzz` plays two million
SHARDS = 8
RUNS = 4_000


@pytest.mark.parametrize("shard", range(SHARDS))
def test_conversations_do_what_the_model_does_in_any_cut(shard: int) -> None:
    size = CASES // SHARDS
    protocol.run(1_000_000 + shard * size, size)


@pytest.mark.parametrize("shard", range(4))
def test_runs_of_publishes_reach_their_collector_as_the_model_says(shard: int) -> None:
    size = RUNS // 4
    protocol.run(2_000_000 + shard * size, size, protocol.Collected)


pieces = st.one_of(
    st.binary(max_size=40),
    st.sampled_from(
        [
            b"PUB a 5\r\nhello\r\n",
            b"SUB a 1\r\n",
            b"PING\r\n",
            b"HPUB a 3 5\r\nabcde\r\n",
            b"UNSUB 1 2\r\n",
        ]
    ),
)


@settings(max_examples=1_000, deadline=None)
@given(st.lists(pieces, max_size=8).map(b"".join), st.lists(st.integers(0, 200), max_size=5))
def test_any_bytes_in_any_cut_end_in_an_answer_or_a_protocol_error(
    data: bytes, cuts: list[int]
) -> None:
    bench = Bench()
    answers = []
    for places in ([], [cut for cut in cuts if cut < len(data)]):
        client = bench.client()
        client.send(data, places)
        answers.append((client.read(), client.session.closed, client.session.in_msgs))
        client.drop()
    bench.close()
    assert answers[0] == answers[1]
