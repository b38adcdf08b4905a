"""Streams, buckets and consumers from one NATS server to another, by clients' means alone.

**Nothing is seen before it is whole.** On the target a stream is built under a *stage* configuration: it
takes messages from a subject that only this run knows, no limit is in force, and its metadata say that it
is under way. When everything is there and has been compared, one update puts the real configuration in
place and takes that note away. So the target itself is the record of how far a migration has come:
whoever was killed runs the same command again.

**Three ways to fill it**, the first that the two servers can go:

* *backup*: the source's snapshot goes to the target's restore as it is. Everything is kept, consumers to
  the last unacked message.
* *rebuild*: messages are read one by one and packed into an archive here, for sources whose archives the
  target does not know (nats-server before 2.15). Sequences, times and headers are kept.
* *copy*: messages are published again, for targets that cannot take such an archive. Sequences are kept;
  times are new.

A restore is all or nothing, so one that was cut off begins again. A copy goes on behind the last sequence
that the target has. What an earlier run had still on its way cannot disturb it: that run's subject is no
subject of the stream any more.

Messages are read by sequence, never consumed: a work queue is as full afterwards as it was.
"""

from jetstream_py.migrate.errors import ConnectError, MigrateError
from jetstream_py.migrate.options import METHODS, Endpoint, Options
from jetstream_py.migrate.report import Outcome
from jetstream_py.migrate.run import migrate

__all__ = ["METHODS", "ConnectError", "Endpoint", "MigrateError", "Options", "Outcome", "migrate"]
