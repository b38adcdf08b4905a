"""A server inside a Python program: see docs/embedding.md.

server                 the face: started, stopped, killed, restarted, asked
life                   one start until its end
portal, views          between the server's loop and everybody else
place                  where streams are
clock                  time that is moved by hand, and when a server is done with what time caused
bus, faults, records   what a test may break, and what it may look at
state                  streams and consumers, for people
logs                   lines of the server's log as records of `logging`
"""

from jetstream_py.app.failure import PortInUse, StartError, StoreInUse
from jetstream_py.config.errors import ConfigError
from jetstream_py.embed.clock import ManualClock
from jetstream_py.embed.faults import FaultError, Faults, Rule
from jetstream_py.embed.records import Acked, Published
from jetstream_py.embed.server import Server

__all__ = [
    "Acked",
    "ConfigError",
    "FaultError",
    "Faults",
    "ManualClock",
    "PortInUse",
    "Published",
    "Rule",
    "Server",
    "StartError",
    "StoreInUse",
]
