"""Versions: ours, and the NATS level that clients may rely on."""

__version__ = "0.1.0"

# Clients switch features on by INFO.version, so this is the level we are compatible with.
NATS_VERSION = "2.15.1"
API_LEVEL = 5
