"""jetstream-py: a NATS + JetStream server in pure Python.

`from jetstream_py import Server` is a server inside this program. What it needs is imported then, and not
by the commands, which start faster without it.
"""

from typing import TYPE_CHECKING

from jetstream_py.version import __version__

if TYPE_CHECKING:
    from jetstream_py.embed import (
        ConfigError,
        ManualClock,
        PortInUse,
        Server,
        StartError,
        StoreInUse,
    )

__all__ = [
    "ConfigError",
    "ManualClock",
    "PortInUse",
    "Server",
    "StartError",
    "StoreInUse",
    "__version__",
]


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from jetstream_py import embed

    return getattr(embed, name)
