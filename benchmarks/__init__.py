"""Benchmarks: this server and nats-server side by side, on loopback."""
