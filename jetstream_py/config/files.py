"""Reading configuration files from disk: the only input and output of this package."""

from __future__ import annotations

import os
from collections.abc import Mapping

from jetstream_py import limits
from jetstream_py.config import parser
from jetstream_py.config.digest import digest
from jetstream_py.config.errors import ConfigError


def read_config(name: str, environ: Mapping[str, str]) -> tuple[parser.Block, str]:
    """The tree of a file and its digest."""
    tree = parser.parse(read_file(name), name, read_included, environ)
    return tree, digest(tree)


def read_included(including: str, word: str) -> tuple[str, bytes]:
    """Names are relative to the including file, also those that start with a slash."""
    name = os.path.normpath(os.path.join(os.path.dirname(including), word.lstrip("/")))
    return name, read_file(name)


def read_file(name: str) -> bytes:
    """At most one byte more than allowed: the parser refuses what is too long."""
    step = "open"
    try:
        file = os.open(name, os.O_RDONLY | os.O_CLOEXEC)
        with os.fdopen(file, "rb", closefd=True) as stream:
            step = "read"
            return stream.read(limits.CONFIG_FILE_SIZE + 1)
    except IsADirectoryError as error:
        raise ConfigError(f"read {name}: {_reason(error)}") from None
    except OSError as error:
        raise ConfigError(f"{step} {name}: {_reason(error)}") from None
    except ValueError as error:
        raise ConfigError(f"{step} {name!r}: {error}") from None


def _reason(error: OSError) -> str:
    """The reason in Go's words, which are those of the system in lower case."""
    return (error.strerror or str(error)).lower()
