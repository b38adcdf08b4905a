"""Segments as commits of a Delta table (`--format delta`, extra `delta`).

The table's own log is the manifest. Each commit names the last sequence it brings as the version of an
application's transaction, which is Delta's means against writing twice: the table says where to go on.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from jetstream_py.export import layout
from jetstream_py.export.errors import ExportError
from jetstream_py.export.layout import Origin, Segment
from jetstream_py.export.place import Place


class DeltaSink:
    """Appends to the table in one place."""

    def __init__(self, place: Place, origin: Origin) -> None:
        """Raises `ExportError`."""
        try:
            import deltalake
        except ModuleNotFoundError:
            raise ExportError(
                "--format delta needs deltalake: pip install 'jetstream-py[delta]'"
            ) from None
        if not place.local:
            raise ExportError("--format delta writes to local directories only")
        self._library: Any = deltalake
        self._path = place.path
        self._app = f"jetstream-py/{origin.stream}/{origin.created_ns}"
        self._groups: list[pa.Table] = []
        self.next_seq = self._known() or origin.first

    def _known(self) -> int:
        if not self._library.DeltaTable.is_deltatable(self._path):
            return 0
        version = self._library.DeltaTable(self._path).transaction_version(self._app)
        return 0 if version is None else int(version) + 1

    def group(self, table: pa.Table) -> None:
        self._groups.append(table)

    def finish(self, segment: Segment) -> None:
        table = pa.concat_tables(self._groups)
        date = segment.path.removeprefix("date=").partition("/")[0]
        table = table.append_column("date", pa.repeat(pa.scalar(date), table.num_rows))
        library = self._library
        library.write_deltalake(
            self._path,
            table,
            mode="append",
            partition_by=["date"],
            commit_properties=library.CommitProperties(
                custom_metadata={"jetstream_py.segment": layout.encode(segment).decode()},
                app_transactions=[library.Transaction(self._app, segment.last_seq)],
            ),
        )
        self._groups = []

    def abort(self) -> None:
        self._groups = []
