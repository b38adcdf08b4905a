"""From `argv` and the environment to what the program has to do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from jetstream_py.config import flags
from jetstream_py.config.draft import Draft
from jetstream_py.config.errors import ConfigError
from jetstream_py.config.options import Options
from jetstream_py.config.settle import complaints, settle


class Invocation(msgspec.Struct):
    """What the program is asked to do.

    `signal` and `signal_target` belong to the action "signal": one of the commands of `--signal`,
    and a pid, the name of a pid file, or nothing. `options` count for "serve" and "check".
    """

    action: flags.Action
    options: Options
    warnings: list[str] = []  # for stderr or the log, one line each
    signal: str = ""
    signal_target: str = ""
    argv: tuple[str, ...] = ()


def parse_args(argv: Sequence[str], environ: Mapping[str, str]) -> Invocation:
    """Read the command line (without the program's name) and the file that it names.

    Raises UsageError when the flags cannot be read, ConfigError when they or the file are refused.
    """
    line = flags.parse(argv)
    action = flags.action(line)
    invocation = Invocation(action, Options(), argv=tuple(argv))
    if action == "signal":
        invocation.signal, invocation.signal_target = flags.signal(line)
    elif action in ("serve", "check"):
        _configure(invocation, line, environ)
    return invocation


def reload_options(invocation: Invocation, environ: Mapping[str, str]) -> Invocation:
    """Read the file again; the flags of the first time stay on top.

    Raises ConfigError when the server must keep the options it has.
    """
    if not invocation.options.config_file:
        raise ConfigError("can only reload config when a file is provided using -c or --config")
    return parse_args(invocation.argv, environ)


def _read_file(name: str, environ: Mapping[str, str], draft: Draft, strict: bool) -> None:
    # Most servers have no file: the parser and its tables are imported by those that do.
    from jetstream_py.config.files import read_config
    from jetstream_py.config.schema import read_tree

    tree, draft.options.config_digest = read_config(name, environ)
    if not tree:
        text = f"{name}: config has no values or is empty"
        if strict:
            raise ConfigError(text)
        draft.warnings.append(text)
    read_tree(tree, draft)
    draft.refuse_errors(strict=strict)


def _configure(invocation: Invocation, line: flags.CommandLine, environ: Mapping[str, str]) -> None:
    draft = Draft()
    checking = invocation.action == "check"
    file = line.value("config", default="")
    if checking and not file:
        raise ConfigError("must specify [-c, --config] option to check configuration file syntax")
    if file:
        _read_file(file, environ, draft, strict=checking)
    line.apply(draft)
    invocation.options = settle(draft)
    invocation.warnings = draft.warnings
    for complaint in complaints(draft):
        if not checking:
            raise ConfigError(complaint)
        draft.warnings.append(f"a server with this configuration would not start: {complaint}")
