"""Paging: every list that monitoring answers has a limit.

The loop serves nobody else while an answer is built, so the limits below are what a client may have
to wait because somebody looked: a tenth of a second or two.
"""

from __future__ import annotations

from typing import Final

from jetstream_py import limits

PAGE_MAX: Final = 10_000  # connections or subscriptions in one answer, whatever was asked for
SUBS_MAX: Final = 50_000  # subscriptions below all connections of one answer


def clamp(offset: int, limit: int) -> tuple[int, int]:
    """Usable values from whatever was asked for; no limit means the default page."""
    limit = min(limit, PAGE_MAX) if limit > 0 else limits.MONITOR_LIMIT
    return max(offset, 0), limit
