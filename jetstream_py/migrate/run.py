"""One migration: connect, plan, then stream by stream."""

from __future__ import annotations

import time

import nats.errors

from jetstream_py.migrate import plan, report
from jetstream_py.migrate.connection import connect
from jetstream_py.migrate.errors import MigrateError
from jetstream_py.migrate.options import Options
from jetstream_py.migrate.plan import Item
from jetstream_py.migrate.report import Outcome
from jetstream_py.migrate.transfer import Transfer


async def migrate(options: Options) -> list[Outcome]:
    """What became of each stream. Raises `MigrateError` when nothing could be begun."""
    source = await connect("source", options.source)
    try:
        target = await connect("target", options.target)
        try:
            items = await plan.make(source, target, options)
            account = await target.api("INFO")
            for item in items:
                await _one(Transfer(source, target, item, options, account), item)
            return [item.outcome for item in items]
        finally:
            await target.close()
    finally:
        await source.close()


async def _one(transfer: Transfer, item: Item) -> None:
    outcome, began = item.outcome, time.monotonic()
    try:
        if outcome.error:
            raise MigrateError(outcome.error)
        await transfer.run()
    except (MigrateError, nats.errors.Error) as error:
        outcome.status, outcome.error = report.FAILED, str(error)
    outcome.seconds = round(time.monotonic() - began, 3)
