"""How much of a run flow control lets through: by bisection as message by message."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from jetstream_py.engine.push import Push

WINDOW = 100


def push(flying: int, covered: int, window: int) -> Push:
    """One with a window; what an answer covers is on its way, and is something."""
    made = Push.__new__(Push)
    made._rate, made._window, made._flying = 0.0, window, max(flying, covered)
    made._asked, made._covered = b"asked" if covered else b"", covered
    return made


@given(
    runs=st.lists(st.lists(st.integers(1, 60), min_size=1, max_size=30), min_size=1, max_size=4),
    flying=st.integers(0, WINDOW + 20),
    covered=st.integers(0, WINDOW + 20),
    window=st.sampled_from([WINDOW, WINDOW + 1, 10 * WINDOW]),
)
def test_bisection_is_message_by_message(
    runs: list[list[int]], flying: int, covered: int, window: int
) -> None:
    one, other = push(flying, covered, window), push(flying, covered, window)
    for sizes in runs:
        assert one._within_window(sizes) == other._admitted(sizes, True)
        assert (one._flying, one._covered) == (other._flying, other._covered)
