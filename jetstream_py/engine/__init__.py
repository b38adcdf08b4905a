"""JetStream: streams as state machines. No sockets, no JSON requests, no LMDB."""
