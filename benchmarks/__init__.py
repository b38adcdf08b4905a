"""Benchmarks of core NATS: this server and nats-server side by side, on loopback."""
