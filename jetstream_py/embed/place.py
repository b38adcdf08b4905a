"""Where the streams of an embedded server are: in memory, in a temporary directory, in a given one.

In memory means all of them, also those that ask for `file`: nothing of them is left after a stop, a kill or a
restart. A temporary directory lives as long as the `Server` object is in use, so it outlasts kills and
restarts, and goes with the last stop. Nobody needs it after a power cut, so it is on a file system in memory
where there is one with room: a sync costs nothing there, and a start a quarter.
"""

from __future__ import annotations

import os
from typing import Final

from jetstream_py import limits
from jetstream_py.config.options import Options

MEMORY: Final = "memory"
TEMPORARY: Final = "tmp"

Store = str | os.PathLike[str]


_SHARED_MEMORY: Final = "/dev/shm"  # noqa: S108 - a directory of its own is made there


def _in_memory() -> str | None:
    """A file system in memory, if it has room for several servers."""
    try:
        found = os.statvfs(_SHARED_MEMORY)
    except OSError:
        return None
    return _SHARED_MEMORY if found.f_bavail * found.f_frsize >= limits.EMBED_ROOM else None


class Place:
    """Of one `Server`."""

    def __init__(self, store: Store | None) -> None:
        """None: what the configuration says, or memory."""
        self._store = store
        self._temporary = ""

    def furnish(self, options: Options) -> None:
        """Tell the options where streams are. A temporary directory is made when it is first needed."""
        js, store = options.jetstream, self._store
        if store == MEMORY or (store is None and not js.store_dir):
            js.in_memory = True
        elif store == TEMPORARY:
            js.store_dir, js.ahead = self._directory(), limits.EMBED_AHEAD
        elif store is not None:
            js.store_dir = os.fspath(store)

    def _directory(self) -> str:
        if not self._temporary:
            import tempfile

            self._temporary = tempfile.mkdtemp(prefix="jetstream-py-", dir=_in_memory())
        return self._temporary

    def clear(self) -> None:
        """Remove the temporary directory."""
        if self._temporary:
            import shutil

            shutil.rmtree(self._temporary, ignore_errors=True)
            self._temporary = ""
