"""Configuration: flags and the configuration file become `Options`.

This is all that other packages use:

    invocation = parse_args(sys.argv[1:], os.environ)   # what to do, with which options
    newer = reload_options(invocation, os.environ)       # the same words, the file read again
    names = changes(invocation.options, newer.options)   # what a running server has to change
"""

from __future__ import annotations

from jetstream_py.config.errors import ConfigError, NotReloadable, UsageError
from jetstream_py.config.flags import usage
from jetstream_py.config.invocation import Invocation, parse_args, reload_options
from jetstream_py.config.options import Options
from jetstream_py.config.reload import changes

__all__ = [
    "ConfigError",
    "Invocation",
    "NotReloadable",
    "Options",
    "UsageError",
    "changes",
    "parse_args",
    "reload_options",
    "usage",
]
