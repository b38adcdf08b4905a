"""The directory of one stream's export: files appear in it whole or not at all.

On a local disk a file is written under a hidden name, synced, renamed, and its directory is synced. Other
file systems have no such steps: there a file is made here, sent under a hidden name, and moved. Both end
the same way: what has its name is complete. Whatever an earlier run left under a hidden name is removed.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from contextlib import suppress
from typing import Final

from pyarrow import fs

from jetstream_py.export.errors import ExportError
from jetstream_py.export.layout import MANIFEST
from jetstream_py.store import failpoints
from jetstream_py.store.opening import make_directory, sync_directory

UNFINISHED: Final = ".in-progress"
_PIECE: Final = 1 << 20


class Place:
    """A directory in any of Arrow's file systems; one writer at a time."""

    def __init__(self, filesystem: fs.FileSystem, path: str) -> None:
        self.filesystem, self.path = filesystem, path
        self.local = isinstance(filesystem, fs.LocalFileSystem)
        self._scratch = ""
        self._lock = -1

    # -- one writer ------------------------------------------------------------------------------

    def open(self) -> None:
        """Make the directory and take it; raises `ExportError` when another export has it."""
        manifest = f"{self.path}/{MANIFEST}"
        if not self.local:
            self.filesystem.create_dir(manifest)
            self._scratch = tempfile.mkdtemp(prefix="jetstream-py-export-")
            return
        make_directory(manifest)
        self._lock = os.open(f"{manifest}/.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o640)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(self._lock)
            self._lock = -1
            raise ExportError(f"another export writes to {self.path}") from error
        self.drop()

    def close(self) -> None:
        self.drop()
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1
        if self._scratch:
            shutil.rmtree(self._scratch, ignore_errors=True)

    # -- large files -----------------------------------------------------------------------------

    @property
    def unfinished(self) -> str:
        """Where the next file is made, always on a local disk."""
        return os.path.join(self._scratch or self.path, UNFINISHED)

    def drop(self) -> None:
        """Forget the unfinished file."""
        with suppress(FileNotFoundError):
            os.unlink(self.unfinished)

    def publish(self, relative: str) -> None:
        """Give the unfinished file its name."""
        target = f"{self.path}/{relative}"
        folder = os.path.dirname(target)
        if self.local:
            _sync_file(self.unfinished)
            failpoints.hit("export.written")
            make_directory(folder)
            os.rename(self.unfinished, target)
            failpoints.hit("export.named")
            sync_directory(folder)
            return
        hidden = f"{self.path}/{UNFINISHED}"
        with (
            open(self.unfinished, "rb") as source,
            self.filesystem.open_output_stream(hidden) as sink,
        ):
            shutil.copyfileobj(source, sink, _PIECE)
        failpoints.hit("export.written")
        self.filesystem.create_dir(folder)
        self.filesystem.move(hidden, target)
        failpoints.hit("export.named")
        self.drop()

    # -- the manifest's files --------------------------------------------------------------------

    def put(self, name: str, data: bytes) -> None:
        """Write a small file of the manifest, as a whole."""
        target = f"{self.path}/{MANIFEST}/{name}"
        hidden = f"{self.path}/{MANIFEST}/{UNFINISHED}"
        with self.filesystem.open_output_stream(hidden) as sink:
            sink.write(data)
        if self.local:
            _sync_file(hidden)
        failpoints.hit("export.entry")
        self.filesystem.move(hidden, target)
        if self.local:
            sync_directory(os.path.dirname(target))
        failpoints.hit("export.done")

    def remove(self, relative: str) -> None:
        self.filesystem.delete_file(f"{self.path}/{relative}")


def _sync_file(path: str) -> None:
    fd = os.open(path, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
