"""How the process keeps its memory.

Every read and write of a busy connection is a buffer of up to a few hundred KiB that lives for
microseconds. With glibc's defaults such a buffer at the end of the heap goes back to the kernel when
it is freed and comes again page by page, each with a fault: measured with 1 KiB messages, a third of
the server's time. So the heap keeps some slack. Larger blocks (big payloads) still come from `mmap`
and go back at once.
"""

from __future__ import annotations

import gc
from typing import Final

# mallopt(3)
_M_TRIM_THRESHOLD: Final = -1
_M_MMAP_THRESHOLD: Final = -3

HEAP_SLACK: Final = 32 * 1024 * 1024
LARGE_BLOCK: Final = 4 * 1024 * 1024


# Young objects before the collector looks at them: with the default of 700 a burst of new subjects
# spends a quarter of its time there. Closed connections leave no cycles, so little waits for it.
COLLECT_AFTER: Final = (20_000, 20, 50)


def settle() -> None:
    """Call once, when everything is up."""
    _keep_heap()
    gc.set_threshold(*COLLECT_AFTER)
    # What lives now lives to the end: full collections need not look at it again.
    gc.collect()
    gc.freeze()


def _keep_heap() -> None:
    import ctypes

    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:  # glibc
        mallopt(_M_TRIM_THRESHOLD, HEAP_SLACK)
        mallopt(_M_MMAP_THRESHOLD, LARGE_BLOCK)
