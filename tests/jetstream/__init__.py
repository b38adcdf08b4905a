"""JetStream streams on both servers: every scenario is played on nats-server and on jetstream-py.

A scenario is a test function that takes a `JetStream` and carries the catalogue rows it proves. It
asserts what the rows say; beyond that, everything both servers answered goes into a transcript, and
the two transcripts must be equal byte for byte, but for times and names that chance decides.
"""
