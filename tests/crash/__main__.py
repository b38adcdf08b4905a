"""`python -m tests.crash`: kills, power cuts and the size of the file, in their long form."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

from tests.crash import batches, consumer_cuts, consumers, copies, cycles, kills, powercut, sizes
from tests.crash.trace import find_strace
from tests.support.server import COMMANDS, KINDS, OURS, Kind

CUTS_PER_RECORD = 15


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, prog="python -m tests.crash")
    parser.add_argument("--cycles", type=int, default=50)
    parser.add_argument("--cuts", type=int, default=45)
    parser.add_argument("--messages", type=int, default=1_000_000, help="to measure the file with")
    parser.add_argument("--copies", type=int, default=100_000, help="messages to be copied")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--server", choices=KINDS, default=OURS, metavar="|".join(COMMANDS))
    args = parser.parse_args()
    if args.server == OURS:
        _core(args.cycles, args.seed)
        if args.messages:
            _sizes(args.messages)
    with tempfile.TemporaryDirectory() as directory:
        _kills(args.server, args.cycles, args.seed, Path(directory))
    if args.server == OURS:
        with tempfile.TemporaryDirectory() as directory:
            _consumers(args.cycles, args.seed, Path(directory))
        with tempfile.TemporaryDirectory() as directory:
            _batches(args.cycles, args.seed, Path(directory))
        with tempfile.TemporaryDirectory() as directory:
            _copies(args.copies, args.cycles, args.seed, Path(directory))
    if find_strace() is None:
        sys.exit(
            "NOT TESTED: power cuts need strace, which is missing and cannot be installed here"
        )
    with tempfile.TemporaryDirectory() as directory:
        _cuts(args.server, args.cuts, args.seed, Path(directory))
    if args.server == OURS:
        with tempfile.TemporaryDirectory() as directory:
            _consumer_cuts(args.cuts, args.seed, Path(directory))


def _core(count: int, seed: int) -> None:
    began = time.monotonic()
    tally = cycles.run(count, seed)
    seconds = time.monotonic() - began
    print(
        f"{tally.cycles} kills in {seconds:.1f} s: {tally.published} published, "
        f"{tally.received} received by two readers, all whole and in order"
    )


def _sizes(messages: int) -> None:
    for name, load in (("overwritten keys", sizes.overwrite), ("a work queue", sizes.work_queue)):
        with tempfile.TemporaryDirectory() as directory:
            size = load(Path(directory), messages)
        print(f"{name}: {size}")
        if size.file >= size.bound:
            sys.exit("the file is larger than it may be")


def _kills(kind: Kind, count: int, seed: int, directory: Path) -> None:
    began = time.monotonic()
    tally = kills.run(kind, count, seed, directory)
    seconds = time.monotonic() - began
    verified = ", verify is content" if tally.verified else ""
    print(
        f"{tally.cycles} kills of JetStream in {seconds:.1f} s: {tally.sent} requests, {tally.acked} "
        f"answers, all kept; {tally.in_doubt} publishes in doubt at a kill, {tally.removals} removals, "
        f"{tally.scanned} messages read back{verified}"
    )


def _consumers(count: int, seed: int, directory: Path) -> None:
    began = time.monotonic()
    tally = consumers.run(OURS, count, seed, directory)
    seconds = time.monotonic() - began
    print(
        f"{tally.cycles} kills of consumers in {seconds:.1f} s: {tally.published} published, "
        f"{tally.delivered} delivered, {tally.acked} acks, {tally.confirmed} of them confirmed under "
        f"load, none came back; {tally.again} delivered again after a kill, none is missing"
    )


def _batches(count: int, seed: int, directory: Path) -> None:
    began = time.monotonic()
    tally = batches.run(count, seed, directory)
    seconds = time.monotonic() - began
    print(
        f"{tally.cycles} kills in batches in {seconds:.1f} s: {tally.sent} published (atomic, fast, "
        f"counters, TTLs), {tally.heard} answers, all kept; {tally.kept} messages, no batch in part, "
        "every sum right"
    )


def _copies(messages: int, count: int, seed: int, directory: Path) -> None:
    began = time.monotonic()
    tally = copies.run(messages, count, seed, directory)
    seconds = time.monotonic() - began
    print(
        f"{tally.kills} kills of mirrors and sources in {seconds:.1f} s: {tally.sent} published, "
        f"{tally.under_way} copies under way at a kill; {tally.kept} kept and copied, none missing, "
        "none doubled"
    )


def _cuts(kind: Kind, count: int, seed: int, directory: Path) -> None:
    began = time.monotonic()
    done = checked = 0
    lost: list[str] = []
    while done < count:
        home = directory / f"record-{done}"
        recording = powercut.record(kind, seed + done, home)
        report = powercut.cut(recording, min(CUTS_PER_RECORD, count - done), seed + done, home)
        done += report.cuts
        checked += report.checked
        lost += [f"seed {seed}, record {home.name}: {text}" for text in report.lost]
    seconds = time.monotonic() - began
    if lost:
        sys.exit(f"{len(lost)} of {done} power cuts lost something:\n" + "\n".join(lost))
    print(f"{done} power cuts in {seconds:.1f} s: {checked} acked publishes looked for, all there")


def _consumer_cuts(count: int, seed: int, directory: Path) -> None:
    began = time.monotonic()
    done = checked = 0
    lost: list[str] = []
    while done < count:
        home = directory / f"record-{done}"
        recording = consumer_cuts.record(seed + done, home)
        cuts = min(CUTS_PER_RECORD, count - done)
        report = consumer_cuts.cut(recording, cuts, seed + done, home)
        done += report.cuts
        checked += report.checked
        lost += [f"seed {seed}, record {home.name}: {text}" for text in report.lost]
    seconds = time.monotonic() - began
    if lost:
        sys.exit(f"{len(lost)} of {done} power cuts with consumers:\n" + "\n".join(lost))
    print(f"{done} power cuts in {seconds:.1f} s: {checked} confirmed acks, none undone")


if __name__ == "__main__":
    main()
