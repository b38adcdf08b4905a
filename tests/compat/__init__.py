"""The compatibility page: what nats-server does, and which test proves that we do it too.

`python -m tests.compat` writes docs/compatibility.md; with `--check` it fails when the committed
page is not what the tests prove, or when a test claims to prove a behaviour that nobody knows.

behaviours.csv is the catalogue: observable behaviours of nats-server, one to a row. A row counts as
proven when a test that carries its id runs on jetstream-py and is expected to pass.
differences.csv holds what is different on purpose, with the reason.
"""
