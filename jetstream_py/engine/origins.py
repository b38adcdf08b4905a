"""Where a stream gets messages from beside publishers: a mirror's origin, or any number of sources."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from jetstream_py.engine.link import Link
from jetstream_py.engine.source import Positions

if TYPE_CHECKING:
    from collections.abc import Collection

    from jetstream_py.api.types import StreamConfig, StreamSource, StreamSourceInfo
    from jetstream_py.engine.source import Position
    from jetstream_py.engine.stream import Stream

NEAR: Final = 10  # messages that a mirror may lack and still answer for its origin


class Origins:
    """The links of one stream; most have none."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self._links: list[Link] = []
        self._positions: Positions | None = None

    def resume(self, found: Collection[Position]) -> None:
        """Sources of a stream that was restored go on where it had come."""
        if self._positions is not None:
            self._positions.resume(found)

    def configure(self, config: StreamConfig) -> None:
        """Links of origins that stay are left alone."""
        wanted = list(config.sources) if config.mirror is None else [config.mirror]
        if not wanted and not self._links:
            return
        if config.sources and self._positions is None:
            self._positions = Positions(self._stream)
        positions = self._positions if config.sources else None
        links = [
            self._link_to(each, positions is None) or Link(self._stream, each, positions)
            for each in wanted
        ]
        for link in self._links:
            if link not in links:
                link.close(deleted=True)
        self._links = links
        if self._positions is not None:
            self._positions.prune({link.origin.key for link in links})

    def _link_to(self, origin: StreamSource, mirror: bool) -> Link | None:
        """The one that is there: the same words may have been a mirror's before."""
        found = (it for it in self._links if it.config == origin and it.is_mirror is mirror)
        return next(found, None)

    def appeared(self, name: str) -> None:
        for link in self._links:
            link.appeared(name)

    def close(self, deleted: bool) -> None:
        for link in self._links:
            link.close(deleted)
        self._links = []
        if deleted and self._positions is not None:
            self._positions.delete()

    # -- what others see ---------------------------------------------------------------------------

    def close_behind(self) -> bool:
        """Has a mirror nearly all that its origin has?"""
        return all(link.lag < NEAR for link in self._links)

    def mirror_info(self) -> StreamSourceInfo | None:
        return next((link.info() for link in self._links if link.is_mirror), None)

    def sources_info(self) -> tuple[StreamSourceInfo, ...]:
        return tuple(link.info() for link in self._links if not link.is_mirror)
