"""Clients over TLS and WebSocket."""
