"""What is wrong with an archive."""

from __future__ import annotations


class ArchiveError(Exception):
    """The text is for people."""
