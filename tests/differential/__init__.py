"""The same bytes on nats-server and on jetstream-py.

Tests with a `server` or `start` fixture state what must happen and run on both: passing on
nats-server is what makes the statement true, passing on jetstream-py is what makes it ours. Tests
with `oracle` and `ours` state nothing; they compare the two normalised transcripts.
"""
