"""One mirror or source at work: an origin, an intake, and a feed that brings the messages.

There are two feeds. `LocalFeed` reads the origin's store, if the origin is a stream of the same account
that keeps its messages. `RemoteFeed` speaks to the origin through the API, as one server of NATS to
another: for streams of other accounts and domains (`external`), for origins that let go of messages
when they are acknowledged, and if the configuration names the consumer to be used.

An origin may not be there: then the link waits until a stream of its name appears, or asks again after a
while if it is elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from jetstream_py.api.errors import error
from jetstream_py.api.times import parse_time
from jetstream_py.api.types import ErrorBody, StreamSourceInfo
from jetstream_py.engine.feed import LocalFeed
from jetstream_py.engine.mirror import MirrorIntake
from jetstream_py.engine.origin import Origin
from jetstream_py.engine.remote import RemoteFeed
from jetstream_py.engine.source import Positions, SourceIntake

if TYPE_CHECKING:
    from jetstream_py.api.types import StreamSource
    from jetstream_py.engine.intake import Intake
    from jetstream_py.engine.stream import Stream
    from jetstream_py.store import StreamStore
    from jetstream_py.timers import Timer


class Link:
    """Between a stream and one of its origins. Without `positions` it is a mirror's."""

    def __init__(self, stream: Stream, config: StreamSource, positions: Positions | None) -> None:
        self.stream = stream
        self.shared = stream.shared
        self.config = config
        self.origin = origin = Origin(config)
        self.is_mirror = positions is None
        self.intake: Intake = (
            MirrorIntake(stream, origin)
            if positions is None
            else SourceIntake(stream, origin, positions)
        )
        # The origin's consumer remembers where it is: ask for the same one again and again.
        self.lasting = config.external is None
        self.error: ErrorBody | None = None
        self._feed: LocalFeed | RemoteFeed | None = None
        self._heard = 0  # when a feed that is gone last heard of the origin
        self._timer: Timer | None = None
        self._closed = False
        self.shared.soon(self.connect)

    def connect(self) -> None:
        """Find the origin and a way to it."""
        if self._closed or self._feed is not None:
            return
        self._cancel()
        origin = None
        if self.config.external is None and self.config.consumer is None:
            origin = self.shared.streams.get(self.origin.name)
            if origin is None:
                self.error = error(10059).body
                return  # `appeared` will tell
        if origin is not None and origin.config.retention == "limits":
            self.error = None
            self._feed = LocalFeed(self, origin)
        else:
            self._feed = RemoteFeed(self)
            self._feed.begin()

    def appeared(self, name: str) -> None:
        """There is a new stream in the account."""
        if name == self.origin.name and self.config.external is None:
            self.lost()

    def lost(self, seconds: float = 0.0) -> None:
        """The feed has ended: look for the origin again."""
        self._part(False)
        if seconds:
            self.later(seconds, self.connect)
        else:
            self.shared.soon(self.connect)

    def later(self, seconds: float, action: Callable[[], None]) -> None:
        """One thing at a time."""
        self._cancel()
        self._timer = self.shared.timers.call_later(seconds, action)

    def close(self, deleted: bool) -> None:
        self._closed = True
        self._cancel()
        self._part(deleted)

    def _part(self, deleted: bool) -> None:
        feed, self._feed = self._feed, None
        if feed is not None:
            self._heard = feed.heard
            feed.close(deleted)

    def _cancel(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def start(self, store: StreamStore) -> int:
        """The first sequence of the origin to look at."""
        config = self.config
        if self.intake.position:
            seq = self.intake.position + 1
        elif config.opt_start_seq:
            seq = config.opt_start_seq
        elif config.opt_start_time:
            seq = store.seq_at(parse_time(config.opt_start_time))
        else:
            seq = 1
        return max(seq, store.first_seq)

    # -- what info says ----------------------------------------------------------------------------

    @property
    def lag(self) -> int:
        return self._feed.lag if self._feed is not None else 0

    def info(self) -> StreamSourceInfo:
        config = self.config
        heard = self._feed.heard if self._feed is not None else self._heard
        return StreamSourceInfo(
            name=config.name,
            external=config.external,
            lag=self.lag,
            seq=self.intake.shown,
            active=self.shared.now() - heard if heard else -1,
            error=self.error,
            # nats-server tells that of a mirror when it is at work
            filter_subject=config.filter_subject if heard or not self.is_mirror else "",
            subject_transforms=config.subject_transforms,
        )
