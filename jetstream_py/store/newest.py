"""The newest message of each subject under a pattern, of all of them at once.

`SubjectTable.last` has the answer for nearly every subject: an upper bound that is exact unless the newest
message was removed. So the bounds are sorted and compared with the blocks, a block at a time; one without
dead records is done with two bisections. Subjects whose bound is dead, or newer than what was asked for,
are looked for in one walk back through the blocks.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .file_stream import FileStream
    from .summary import Block


def lasts(stream: FileStream, pattern: bytes, since: int, up_to: int) -> list[int]:
    """The newest sequence up to `up_to` of each subject, if it is not below `since`; in order."""
    last = stream.table.last
    names = stream.table.matching(pattern)
    bounds = sorted(last.values() if len(names) == len(last) else map(last.__getitem__, names))
    start, end = bisect_left(bounds, since), bisect_right(bounds, up_to)
    found = _live(stream, bounds[start:end])
    if len(found) < len(bounds) - start:
        known = set(found)
        unknown = {name for name in names if last[name] >= since and last[name] not in known}
        found += _search(stream, unknown, since, up_to)
        found.sort()
    return found


def _live(stream: FileStream, seqs: list[int]) -> list[int]:
    """Those of the ascending sequences that are there."""
    found: list[int] = []
    if not seqs:
        return found
    directory, at = stream.directory, 0
    for block in directory.blocks[directory.at(seqs[0]) :]:
        at = bisect_left(seqs, block.first, at)
        if at == len(seqs):
            break
        stop = bisect_right(seqs, block.last, at)
        if block.live and stop > at:
            wanted = seqs[at:stop]
            if block.gaps or block.dead is not None:
                positions = directory.live_among(block, wanted)
                wanted = [directory.seq(block, i) for i in positions]
            found += wanted
        at = stop
    found += [seq for seq in seqs[at:] if seq in stream.tail]
    return found


def _search(stream: FileStream, names: set[bytes], since: int, up_to: int) -> list[int]:
    """The newest sequence within the limits of each of these subjects, the last first."""
    found: list[int] = []
    for message in reversed(stream.tail.upto(up_to + 1)):
        if message.seq >= since and message.subject in names:
            names.discard(message.subject)
            found.append(message.seq)
    blocks = stream.directory.blocks
    k = min(stream.directory.at(up_to), len(blocks) - 1)
    while names and k >= 0 and blocks[k].last >= since:
        if blocks[k].live:
            found += _search_in(stream, blocks[k], names, since, up_to)
        k -= 1
    return found


def _search_in(
    stream: FileStream, block: Block, names: set[bytes], since: int, up_to: int
) -> list[int]:
    if block.name is not None and block.name not in names:
        return []
    view = stream.view(block)
    if view is None or names.isdisjoint(view.names):
        return []
    found: list[int] = []
    for i in reversed(list(stream.directory.live_positions(block))):
        seq, name = view.seq(i), view.subject(i)
        if since <= seq <= up_to and name in names:
            names.discard(name)
            found.append(seq)
    return found
