"""Buckets, objects and streams over HTTP, for those who have no NATS client at hand."""

from jetstream_py.gateway.gateway import Doorman, Gateway, Visitor

__all__ = ["Doorman", "Gateway", "Visitor"]
