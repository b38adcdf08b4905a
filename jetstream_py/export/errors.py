"""What can go wrong, in words for whoever runs an export or an import."""

from __future__ import annotations


class ExportError(Exception):
    """It cannot go on; the text says why."""
