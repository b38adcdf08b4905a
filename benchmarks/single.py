"""Benchmarks of one question: measure it on each server, print the table, keep the figures."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from benchmarks.compare import contenders
from benchmarks.crew import WorkerFailed
from benchmarks.servers import COMMANDS, ServerFailed

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Result = TypeVar("Result", bound="DataclassInstance")


def common_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--servers", default="ours,nats", help=", ".join(COMMANDS))
    parser.add_argument("--json", metavar="FILE")


def run(
    options: argparse.Namespace,
    measure: Callable[[str], Result],
    render: Callable[[Sequence[Result]], str],
) -> int:
    """The exit status: 1 when a server could not be measured."""
    results: list[Result] = []
    failed = False
    for one in contenders(options.servers):
        try:
            results.append(measure(one.kind))
        except (ServerFailed, WorkerFailed) as error:
            failed = True
            print(f"FAILED {one.label}: {error}", file=sys.stderr)
    if results:
        print(render(results))
    if options.json:
        Path(options.json).write_text(json.dumps([asdict(r) for r in results], indent=1) + "\n")
    return 1 if failed else 0
