"""What `export` and `import` have in common: how they begin, what goes wrong, how they end."""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Callable, Coroutine
from typing import Any, Final, NamedTuple, TypeVar

from jetstream_py.cli.endpoint import Bar

USAGE_ERROR: Final = 2
NO_SERVER: Final = 3
INTERRUPTED: Final = 130
NEEDS: Final = "needs pyarrow and nats-py: pip install 'jetstream-py[export]'"

T = TypeVar("T")


class Fault(NamedTuple):
    """What is told on stderr, and the exit status."""

    text: str
    status: int


def run(
    parser: Callable[[], argparse.ArgumentParser],
    arguments: list[str],
    work: Callable[[argparse.Namespace, Bar], Coroutine[Any, Any, T]],
    show: Callable[[T], None],
) -> int:
    """Parse, work, tell. Returns the exit status."""
    made = parser()
    try:
        given = made.parse_args(arguments)
    except SystemExit as end:
        return USAGE_ERROR if end.code else 0
    except ModuleNotFoundError as error:  # a bound is read by what writes the files
        outcome: T | Fault = _missing(error)
    else:
        outcome = _tried(given, work)
    if isinstance(outcome, Fault):
        print(f"{made.prog}: {outcome.text}", file=sys.stderr)
        return outcome.status
    show(outcome)
    return 0


def _tried(
    given: argparse.Namespace, work: Callable[[argparse.Namespace, Bar], Coroutine[Any, Any, T]]
) -> T | Fault:
    try:
        from pyarrow import ArrowException

        from jetstream_py.export.errors import ExportError
        from jetstream_py.export.layout import LayoutError
        from jetstream_py.migrate import ConnectError, MigrateError
    except ModuleNotFoundError as error:
        return _missing(error)
    bar = Bar(sys.stderr.isatty())
    try:
        return asyncio.run(work(given, bar))
    except argparse.ArgumentTypeError as error:
        return Fault(str(error), USAGE_ERROR)
    except ConnectError as error:
        return Fault(str(error), NO_SERVER)
    except (ExportError, LayoutError, MigrateError, ArrowException, OSError) as error:
        return Fault(str(error), 1)
    except KeyboardInterrupt:
        return Fault("interrupted; run it again to go on", INTERRUPTED)
    finally:
        bar.clear()


def _missing(error: ModuleNotFoundError) -> Fault:
    if error.name not in ("pyarrow", "nats"):
        raise error
    return Fault(NEEDS, NO_SERVER)
