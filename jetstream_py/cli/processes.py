"""`--signal`: find the running server and tell it something."""

from __future__ import annotations

import os
import signal
from typing import Final

# `stop` is meant for a server that does not listen any more; `quit` and `term` let it finish.
SIGNALS: Final = {
    "ldm": signal.SIGUSR2,
    "quit": signal.SIGINT,
    "reload": signal.SIGHUP,
    "reopen": signal.SIGUSR1,
    "stop": signal.SIGKILL,
    "term": signal.SIGTERM,
}
PROC: Final = "/proc"


class SignalError(Exception):
    """Nobody was told; the text says why."""


def send(name: str, target: str) -> None:
    """`target` is a pid, a pid file or empty: the only server running."""
    number = SIGNALS.get(name)
    if number is None:
        raise SignalError(f'unknown signal "{name}"')
    pid = read_pid(target) if target else only_server()
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        raise SignalError(f'\nsignal "{name}" {pid}: no such process') from None
    except OSError as error:
        what = os.strerror(error.errno or 0).lower()
        raise SignalError(f'\nsignal "{name}" {pid}: {what}') from None


def read_pid(target: str) -> int:
    """The pid itself, or the file that holds it."""
    text = target
    if not text.isdecimal():
        try:
            with open(target, encoding="ascii") as file:
                text = file.read(32).strip()
        except (OSError, UnicodeDecodeError):
            raise SignalError(f"invalid pid: {target}") from None
    if not text.isdecimal() or int(text) == 0:
        raise SignalError(f"invalid pid: {target}")
    return int(text)


def only_server(proc: str = PROC) -> int:
    pids = running_servers(proc)
    if not pids:
        raise SignalError("no nats-server processes running")
    if len(pids) > 1:
        listed = "\n".join(map(str, pids))
        raise SignalError(f"multiple nats-server processes running:\n{listed}")
    return pids[0]


def running_servers(proc: str = PROC) -> list[int]:
    """Our servers on this machine, without ourselves."""
    try:
        entries = os.listdir(proc)
    except OSError:
        raise SignalError(
            f"cannot list processes: no {proc} here, give a pid or pid file"
        ) from None
    pids = sorted(int(entry) for entry in entries if entry.isdecimal())
    return [pid for pid in pids if pid != os.getpid() and is_server(_command_line(proc, pid))]


def is_server(command: list[str]) -> bool:
    """The command itself, or the interpreter running it (`python .../nats-server-py -p 4222`)."""
    for at, word in enumerate(command[:2]):
        name = os.path.basename(word)
        if name == "nats-server-py":
            return not _asks_for_signal(command[at + 1 :])
        if name == "jetstream-py":
            return command[at + 1 : at + 2] == ["serve"] and not _asks_for_signal(command[at + 2 :])
    return False


def _asks_for_signal(flags: list[str]) -> bool:
    """Another `--signal` at work, not a server."""
    return any(flag.lstrip("-").split("=")[0] in ("signal", "sl") for flag in flags)


def _command_line(proc: str, pid: int) -> list[str]:
    try:
        with open(f"{proc}/{pid}/cmdline", "rb") as file:
            return file.read(4096).decode("utf-8", "replace").split("\0")[:-1]
    except OSError:
        return []  # ended meanwhile, or not ours to look at
