"""Segments as Parquet files, and the manifest beside them.

The order of things: row groups into the unfinished file; the footer with the segment's facts; the name;
the entry. A file that has its name and no entry was cut off between the two: `adopt` reads the facts from
its footer.
"""

from __future__ import annotations

import hashlib
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import fs

from jetstream_py.export import layout
from jetstream_py.export.layout import LayoutError, Manifest, Segment
from jetstream_py.export.place import Place
from jetstream_py.store import failpoints

_PIECE: Final = 1 << 20
_DICTIONARIES: Final = ["stream", "subject", "headers.key_value.key"]
_ENCODINGS: Final = {
    "seq": "DELTA_BINARY_PACKED",
    "time": "DELTA_BINARY_PACKED",
    "time_ns": "DELTA_BINARY_PACKED",
    "size": "DELTA_BINARY_PACKED",
    "data": "DELTA_LENGTH_BYTE_ARRAY",
}


class ParquetSink:
    """Writes the segments of one place."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._writer: pq.ParquetWriter | None = None

    def group(self, table: pa.Table) -> None:
        if self._writer is None:
            self._writer = pq.ParquetWriter(
                self._place.unfinished,
                layout.SCHEMA,
                compression="zstd",
                compression_level=1,
                use_dictionary=_DICTIONARIES,
                column_encoding=_ENCODINGS,
                sorting_columns=[pq.SortingColumn(layout.SCHEMA.get_field_index("seq"))],
                write_statistics=["seq", "time", "time_ns", "subject", "size"],
            )
        self._writer.write_table(table, row_group_size=table.num_rows)
        failpoints.hit("export.group")

    def finish(self, segment: Segment) -> None:
        writer = self._writer
        assert writer is not None
        writer.add_key_value_metadata({layout.FOOTER: layout.encode(segment)})
        writer.close()
        self._writer = None
        segment.bytes, segment.sha256 = digest(fs.LocalFileSystem(), self._place.unfinished)
        self._place.publish(segment.path)
        self._enter(segment)

    def _enter(self, segment: Segment) -> None:
        name = layout.segment_name(segment.first_seq, segment.last_seq)
        self._place.put(f"{name}.json", layout.encode(segment))

    def abort(self) -> None:
        if self._writer is not None:
            self._writer.close()
            self._writer = None
        self._place.drop()

    def adopt(self, manifest: Manifest) -> None:
        """Enter a segment that was finished and not entered. There is one at most, the next one."""
        place = self._place
        known = {segment.path for segment in manifest.segments}
        for path in _segments(place):
            if path in known:
                continue
            segment = _facts(place, path)
            if segment.path != path or segment.from_seq != manifest.next_seq:
                raise LayoutError(f"{place.path}/{path} does not belong to this export")
            segment.bytes, segment.sha256 = digest(place.filesystem, f"{place.path}/{path}")
            self._enter(segment)
            manifest.segments.append(segment)


def _segments(place: Place) -> list[str]:
    """Paths of all segments, relative to the place."""
    found = place.filesystem.get_file_info(fs.FileSelector(place.path, recursive=True))
    paths = [info.path.removeprefix(place.path).lstrip("/") for info in found if info.is_file]
    return sorted(path for path in paths if path.startswith("date=") and "/seg-" in path)


def _facts(place: Place, path: str) -> Segment:
    try:
        footer = pq.read_metadata(f"{place.path}/{path}", filesystem=place.filesystem)
        return layout.decode_segment(footer.metadata[layout.FOOTER], path)
    except (pa.ArrowInvalid, KeyError) as error:
        raise LayoutError(f"{place.path}/{path} is not a segment of an export") from error


def digest(filesystem: fs.FileSystem, path: str) -> tuple[int, str]:
    """Size and SHA-256 of a file."""
    size, digest = 0, hashlib.sha256()
    with filesystem.open_input_stream(path) as file:
        while piece := file.read(_PIECE):
            size += len(piece)
            digest.update(piece)
    return size, digest.hexdigest()
