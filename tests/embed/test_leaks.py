"""Nothing stays behind; `python -m tests.embed.leaks` does it a thousand times."""

from __future__ import annotations

import asyncio

import pytest

from tests.embed.leaks import KINDS, count, cycle


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_is_left(kind: str) -> None:
    async def main() -> None:
        for _ in range(3):
            await cycle(kind)
        before = count()
        for _ in range(5):
            await cycle(kind)
        assert count() == before

    asyncio.run(main())
