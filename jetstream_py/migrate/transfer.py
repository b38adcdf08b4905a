"""One stream on its way: fill the stage, compare, make it real."""

from __future__ import annotations

import asyncio
import os
import re
from typing import Final

from jetstream_py import headers
from jetstream_py.migrate import archives, consumers, copy, report, stage, verify
from jetstream_py.migrate.connection import Connection, Json
from jetstream_py.migrate.errors import ApiError, MigrateError, UnavailableError
from jetstream_py.migrate.messages import Message, Reader
from jetstream_py.migrate.options import Options
from jetstream_py.migrate.plan import Item
from jetstream_py.nuid import Nuid

_BAD_JSON: Final = 10025
_UNKNOWN: Final = re.compile(r'unknown field "(\w+)"')


class Transfer:
    def __init__(
        self, source: Connection, target: Connection, item: Item, options: Options, account: Json
    ) -> None:
        self._source = source
        self._target = target
        self._item = item
        self._options = options
        self._bounded = bool((account.get("limits") or {}).get("max_bytes_required"))
        self._run = Nuid(os.urandom).next()
        self._final = stage.wanted(item.config, item.target, options.renames, options.replicas)
        self._dropped: set[str] = set()  # fields that the target does not know
        self._mirror = bool(item.config.get("mirror"))
        old, new = stage.kv_bucket(item.name), stage.kv_bucket(item.target)
        rename = (lambda subject: stage.moved_key(subject, old, new)) if old != new else None
        self._reader = Reader(source, item.name, item.config, rename)

    async def run(self) -> None:
        item = self._item
        there = await self._target.find(item.target)
        how, origin = stage.note(there["config"]) if there else ("", "")
        if there and not how:
            await self._compare_foreign(there)
            return
        if there and origin != item.origin:
            raise MigrateError(f"the target is being filled from another stream: {origin}")
        if self._options.dry_run:
            if there:
                item.outcome.notes.append(f"goes on behind {there['state']['last_seq']}")
            return
        if there:
            how, info = await self._resume(how, there)
        else:
            how, info = await self._begin()
        await self._finish(how, info)

    async def _compare_foreign(self, there: Json) -> None:
        """A stream that we did not make, or have finished: it is fine if there is nothing to do."""
        verdict = verify.Verdict(differences=["it is another"])
        ours, theirs = self._item.info["state"], there["state"]
        if all(ours[key] == theirs[key] for key in ("messages", "last_seq")):
            verdict = await self._compare("copy", there, ours["last_seq"])
        if verdict.differences:
            raise MigrateError(
                f"there is a stream {self._item.target} at the target, and it is not the same;"
                " delete it there, or give this one another name with --rename"
            )
        self._item.outcome.status, self._item.outcome.method = report.ALREADY, ""
        self._item.outcome.verified, self._item.outcome.digest = True, verdict.digest

    # -- filling -----------------------------------------------------------------------------------

    def _how(self, method: str) -> str:
        """A backup that is followed goes on as a copy."""
        followed = self._options.follow and not self._mirror
        return f"{method} copy" if followed and method != "copy" else method

    def _stage(self, how: str) -> Json:
        final = stage.without(self._final, self._dropped)
        return stage.staged(final, how, self._item.origin, self._run, self._bounded)

    async def _begin(self) -> tuple[str, Json]:
        """By the first way that is open."""
        for method in (ways := self._item.methods):
            self._item.outcome.method = method
            try:
                return await self._fill_with_known(method)
            except UnavailableError as error:
                await self._clear()
                if method == ways[-1]:
                    raise
                self._item.outcome.notes.append(f"no {method}: {error}")
        raise AssertionError("there is at least one way")

    async def _fill_with_known(self, method: str) -> tuple[str, Json]:
        """Without fields that the target refuses, if that is allowed."""
        while True:
            try:
                return await self._fill(method)
            except ApiError as error:
                unknown = _UNKNOWN.search(error.description)
                if error.err_code != _BAD_JSON or unknown is None:
                    raise
                self._drop([unknown[1]])

    async def _clear(self) -> None:
        """nats-server may keep a part of an archive that it has refused."""
        there = await self._target.find(self._item.target)
        if there and stage.note(there["config"])[1] == self._item.origin:
            await self._target.api(f"STREAM.DELETE.{self._item.target}")

    async def _fill(self, method: str) -> tuple[str, Json]:
        item, progress, how = self._item, self._options.progress, self._how(method)
        if method == "copy":
            info = await self._create(how)
        else:
            config = self._stage(how)
            restore = archives.Restore(self._target, item.target)
            if method == "backup":
                info = await archives.pass_on(
                    self._source, item.name, self._options.consumers, restore, config, progress
                )
            else:
                state = item.info["state"]
                info = await archives.rebuild(
                    self._reader, item.name, state, restore, config, progress
                )
            self._drop(stage.ignored(config, info["config"]))
        return how, await self._publish(info, []) if self._publishes(how) else info

    def _publishes(self, how: str) -> bool:
        return stage.publishes(how) and not self._mirror

    async def _resume(self, how: str, info: Json) -> tuple[str, Json]:
        """A restore is whole when it can be seen; a copy goes on where it is."""
        self._item.outcome.method = how.split()[0]
        self._item.outcome.notes.append(f"went on behind {info['state']['last_seq']}")
        how = self._how(how.removesuffix(" copy"))
        if not self._publishes(how):
            return how, info
        target, state = self._target, info["state"]
        there = Reader(target, self._item.target, info["config"])
        where = f"target: {self._item.target}"
        # From here on nothing of an earlier run can arrive.
        answer = await target.api(f"STREAM.UPDATE.{self._item.target}", self._stage(how))
        known = await copy.recent(
            self._reader, there, state["first_seq"], answer["state"]["last_seq"], where
        )
        return how, await self._publish(answer, known)

    async def _create(self, how: str) -> Json:
        """An empty stage; the first sequence is the one that the first message needs."""
        state, name = self._item.info["state"], self._item.target
        first = state["first_seq"] if state["messages"] else state["last_seq"] + 1
        config = self._stage(how)
        if first > 1 and not self._mirror:
            config["first_seq"] = first
        info = await self._target.api(f"STREAM.CREATE.{name}", config)
        try:
            self._drop(stage.ignored(config, info["config"]))
        except MigrateError:
            await self._target.api(f"STREAM.DELETE.{name}")
            raise
        return info

    def _drop(self, fields: list[str]) -> None:
        if not fields:
            return
        text = ", ".join(fields)
        if not self._options.drop_unsupported:
            raise MigrateError(
                f"the target does not know {text}; with --drop-unsupported the stream goes without"
            )
        self._dropped.update(fields)
        self._item.outcome.notes.append(f"unknown to the target and dropped: {text}")

    async def _publish(self, info: Json, known: list[Message]) -> Json:
        """Publish what is missing. The target's info then."""
        item, options = self._item, self._options
        publisher = copy.Publisher(self._target, self._run, info["state"]["last_seq"])
        await publisher.open(known)
        last = item.info["state"]["last_seq"]
        while True:
            await copy.copy(self._reader, publisher, item.name, last, options.progress)
            if not options.follow:
                break
            await asyncio.sleep(options.quiet)
            before, last = (
                last,
                (await self._source.api(f"STREAM.INFO.{item.name}"))["state"]["last_seq"],
            )
            if last == before:
                break
        await self._target.api(f"STREAM.PURGE.{item.target}", {"filter": stage.GAP})
        return await self._target.api(f"STREAM.INFO.{item.target}")

    # -- the end -----------------------------------------------------------------------------------

    async def _finish(self, how: str, info: Json) -> None:
        item, options, outcome = self._item, self._options, self._item.outcome
        last = info["state"]["last_seq"]
        for key in ("messages", "bytes", "first_seq", "last_seq"):
            setattr(outcome, key, info["state"][key])
        if self._mirror and how == "copy":
            outcome.notes.append("a mirror: it fills itself from its origin")
        elif options.verify:
            verdict = await self._compare(how, info, last)
            if verdict.differences:
                raise MigrateError("not the same: " + "; ".join(verdict.differences))
            if verdict.gone:
                outcome.notes.append(f"removed at the source meanwhile: {verdict.gone}")
            outcome.verified, outcome.digest = True, verdict.digest
        if options.consumers and not how.startswith("backup"):
            if item.passing:
                text = f"consumers that are not durable stayed behind: {item.passing}"
                outcome.notes.append(text)
            work_queue = item.config.get("retention") == "workqueue"
            outcome.consumers = await consumers.create(
                self._target, item.target, item.consumers, last, options.replicas, work_queue
            )
        config = stage.without(self._final, self._dropped)
        if config.get("sources"):
            config = stage.continued(config, await self._reached(info))
        answer = await self._target.api(f"STREAM.UPDATE.{item.target}", config)
        self._drop(stage.ignored(config, answer["config"]))
        outcome.status = report.DONE

    async def _reached(self, info: Json) -> dict[tuple[str, str], int]:
        """How far each origin has come, by its name and filter."""
        found = {}
        reader, state = Reader(self._target, self._item.target, info["config"]), info["state"]
        async for batch in reader.read(state["first_seq"], state["last_seq"]):
            for message in batch:
                words = (
                    (headers.get(message.headers, headers.STREAM_SOURCE) or b"").decode().split()
                )
                if len(words) > 2:
                    found[words[0].partition(":")[0], words[2]] = int(words[1])
        return found

    async def _compare(self, how: str, info: Json, last: int) -> verify.Verdict:
        """Up to a sequence. What was published again has another time, and not all of its headers."""
        item, state = self._item, info["state"]
        ours = (await self._source.api(f"STREAM.INFO.{item.name}"))["state"]
        first = min(ours["first_seq"], state["first_seq"])
        there = Reader(self._target, item.target, info["config"])
        seen = _published if stage.publishes(how) else _kept
        verdict = await verify.compare(
            self._reader,
            there,
            first,
            last,
            seen,
            item.name,
            state["messages"],
            self._options.progress,
        )
        if not self._mirror:
            verify.check_state(verdict, ours, state, last)
        return verdict


def _published(message: Message) -> Message:
    return message._replace(headers=copy.carried(message.headers), time="")


def _kept(message: Message) -> Message:
    return message
