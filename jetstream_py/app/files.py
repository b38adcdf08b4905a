"""The files by which a running server is found: pid file, ports file, store directory."""

from __future__ import annotations

import os

import msgspec

from jetstream_py.app.addresses import reachable
from jetstream_py.app.failure import StartError
from jetstream_py.gotext import join_host_port
from jetstream_py.log.files import reason


def write_pid_file(path: str) -> None:
    """The pid, without a line end, readable by its owner only."""
    try:
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        with os.fdopen(fd, "w") as file:
            file.write(str(os.getpid()))
    except OSError as error:
        text = f"Could not write pidfile: open {path}: {reason(error)}"
        raise StartError(text, "Give a file in an existing, writable directory") from error


class PortsFile:
    """Tells harnesses which ports the server took: they wait for the file, then read it."""

    def __init__(self, directory: str) -> None:
        # Harnesses look for this name, whatever our command is called.
        self.path = os.path.join(directory, f"nats-server_{os.getpid()}.ports")

    def write(self, endpoints: dict[str, tuple[str, str, int]]) -> None:
        """`endpoints`: kind of listener -> scheme, host, port. A reader sees all of it or nothing."""
        urls = {
            kind: [f"{scheme}://{join_host_port(address, port)}" for address in reachable(host)]
            for kind, (scheme, host, port) in endpoints.items()
        }
        unfinished = f"{self.path}.tmp"
        try:
            with open(unfinished, "wb") as file:
                file.write(msgspec.json.encode(urls))
            os.replace(unfinished, self.path)
        except OSError as error:
            text = f"Error writing ports file ({self.path}): open {self.path}: {reason(error)}"
            raise StartError(text, "Give an existing, writable directory") from error

    def remove(self) -> None:
        try:
            os.remove(self.path)
        except OSError:
            pass  # somebody tidied up before us


def prepare_store(directory: str) -> str:
    """Make sure that JetStream's directory can be used, so that a bad one is noticed now."""
    path = os.path.join(directory or default_store(), "jetstream")
    probe = os.path.join(path, f".writable-{os.getpid()}")
    try:
        os.makedirs(path, mode=0o750, exist_ok=True)
        os.close(os.open(probe, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600))
        os.remove(probe)
    except (FileExistsError, NotADirectoryError) as error:
        text = "Can't start JetStream: storage directory is not a directory"
        raise StartError(
            text, f"{error.filename} is a file: choose another one with -sd"
        ) from error
    except OSError as error:
        what = f"mkdir {path}: {reason(error)}"
        text = f"Can't start JetStream: could not create storage directory - {what}"
        raise StartError(text, "Choose a writable directory with -sd") from error
    return path


def default_store() -> str:
    return os.path.join(os.environ.get("TMPDIR") or "/tmp", "nats")  # noqa: S108 - as documented
