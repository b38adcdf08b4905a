"""The short forms: a small crowd of connections, and a subscriber that stops reading."""

from __future__ import annotations

from benchmarks import connections, stuck

# A server's memory never moves by exactly the bytes it holds: allocators round and keep.
ALLOCATOR_SLACK = 32 << 20


def test_idle_and_busy_connections_live_side_by_side(contender: str) -> None:
    crowd = connections.SMALL
    result = connections.measure(contender, crowd)
    assert result.opened == result.still_open == crowd.idle
    assert result.seen_by_server >= crowd.idle
    assert result.sent == result.received > 0
    assert min(result.rss_alone, result.rss_idle, result.rss_busy) > 0
    assert f"{crowd.idle:,}" in connections.render([result])


def test_a_stuck_subscriber_is_closed_and_the_others_lose_nothing(contender: str) -> None:
    scene = stuck.SMALL
    without = stuck.measure(contender, scene, stuck=False)
    with_one = stuck.measure(contender, scene, stuck=True)
    assert without.slow_consumers == 0
    assert without.complete == scene.subscribers
    assert with_one.slow_consumers == 1
    assert with_one.stuck_closed
    assert with_one.complete == scene.subscribers - 1
    assert with_one.delivered == with_one.complete * scene.messages
    assert with_one.stuck_read < scene.messages * scene.size
    assert with_one.peak_rss - without.peak_rss <= scene.max_pending + ALLOCATOR_SLACK
    assert "yes" in stuck.render([(without, with_one)])
