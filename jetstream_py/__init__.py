"""jetstream-py: a NATS + JetStream server in pure Python."""

from jetstream_py.version import __version__

__all__ = ["__version__"]
