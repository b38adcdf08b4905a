"""Both servers' verdict on a configuration, in one shape."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from jetstream_py.config import ConfigError, Invocation, UsageError, parse_args
from jetstream_py.config.parser import Block, Data, Value, parse

ORACLE = Path(sys.prefix) / "bin" / "nats-server"


class Verdict(NamedTuple):
    """What `-t` says: the exit status and the lines on stderr, without the program's name."""

    status: int
    lines: list[str]


def oracle(argv: Sequence[str], cwd: Path, environ: Mapping[str, str]) -> Verdict:
    """Run nats-server with flags that make it end by itself."""
    result = subprocess.run(
        [str(ORACLE), *argv], capture_output=True, cwd=cwd, env=environ, timeout=30, check=False
    )
    text = result.stderr.decode("utf-8", "surrogateescape").removeprefix("nats-server: ")
    return Verdict(result.returncode, normal(text))


def ours(argv: Sequence[str], environ: Mapping[str, str]) -> Verdict:
    """The same with our package; what the program prints is its caller's business."""
    try:
        invocation = parse_args(argv, environ)
    except ConfigError as error:
        return Verdict(1, normal(str(error)))
    except UsageError as error:
        return Verdict(error.exit_status, normal(str(error)))
    if invocation.action != "check":
        return Verdict(0, [])
    options = invocation.options
    line = f"configuration file {options.config_file} is valid ({options.config_digest})"
    return Verdict(0, [line])


def normal(text: str) -> list[str]:
    """Lines in any order, without what only Go says or what differs from run to run."""
    text = text.replace("'\0'", "'EOF'")
    lines = [line for line in text.splitlines() if line and "runtime error" not in line]
    return sorted(map(_normal_type, lines))


def _normal_type(line: str) -> str:
    """All complaints about types are equal: only their position counts."""
    line = re.sub(r"interface conversion: .*", "wrong type", line)
    return re.sub(r'"\w+" must be an? \w+, got an? \w+', "wrong type", line)


def load(text: str, environ: Mapping[str, str] | None = None) -> Invocation:
    """What a server would do with the file; `text` is written to a file in the current directory."""
    Path("server.conf").write_text(text)
    return parse_args(["-c", "server.conf"], environ or {})


def tree(
    text: str | bytes,
    environ: Mapping[str, str] | None = None,
    files: Mapping[str, str] | None = None,
) -> object:
    """The values of a configuration as plain Python; `files` can be included."""
    data = text.encode() if isinstance(text, str) else text
    return plain(blocks(data, environ or {}, files or {}))


def blocks(data: bytes, environ: Mapping[str, str], files: Mapping[str, str]) -> Block:
    def read(including: str, word: str) -> tuple[str, bytes]:
        if word not in files:
            raise ConfigError(f"open {word}: no such file or directory")
        return word, files[word].encode()

    return parse(data, "test.conf", read, environ)


def plain(data: Data) -> object:
    if isinstance(data, dict):
        return {key: plain(value.data) for key, value in data.items()}
    if isinstance(data, list):
        return [plain(item.data) for item in data]
    return data


def position(value: Value) -> str:
    return str(value.at)
