"""What goes wrong between a user's words and the options of a server."""

from __future__ import annotations

from typing import Final


class ConfigError(Exception):
    """The configuration or the command line is refused.

    `str(error)` is what to print after `<program>: `. It is one line, except that a file with
    several mistakes gets one line for each, so that they can be mended in one go.
    """


class NotReloadable(ConfigError):
    """The new configuration is valid, but a running server cannot change to it."""


class UsageError(Exception):
    """The flags cannot be read: print `str(error)` to stderr and the usage to stdout."""

    # nats-server prints its usage through a path that ends in success; scripts may rely on it.
    exit_status: Final = 0
