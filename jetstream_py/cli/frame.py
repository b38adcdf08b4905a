"""Commands as all verbs have them: global options anywhere on the line, examples, other names.

The nats command takes its global options before and behind a verb, so people type them at either place.
Each command here has them, too; below the root they are not shown in the help. What is given last wins;
the environment counts once, at the root.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import click

from jetstream_py.cli import units

DEFAULT_URL: Final = "nats://127.0.0.1:4222"
SECOND: Final = 1e9


@dataclass
class Settings:
    """What the global options say; None where nobody said anything."""

    server: str | None = None
    user: str | None = None
    password: str | None = None
    token: str | None = None
    creds: str | None = None
    nkey: str | None = None
    tlscert: str | None = None
    tlskey: str | None = None
    tlsca: str | None = None
    tlsfirst: bool | None = None
    context: str | None = None
    no_context: bool = False
    timeout: int | None = None
    connection_name: str | None = None
    inbox_prefix: str | None = None
    js_domain: str | None = None
    js_api_prefix: str | None = None
    json: bool = False
    given: set[str] = field(default_factory=set)  # names of options that were on the line

    @property
    def seconds(self) -> float:
        """How long to wait for an answer."""
        return (self.timeout or 5 * units.SECOND) / SECOND


class Duration(click.ParamType[int]):
    """`1h30m` → nanoseconds."""

    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        try:
            return value if isinstance(value, int) else units.parse_duration(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)


class Size(click.ParamType[int]):
    """`10MiB` → bytes."""

    name = "size"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        try:
            return value if isinstance(value, int) else units.parse_size(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)


DURATION: Final = Duration()
SIZE: Final = Size()

# flags, metavar or type, environment, help
GLOBAL: Final[tuple[tuple[tuple[str, ...], Any, str | None, str], ...]] = (
    (("-s", "--server"), "URL", "NATS_URL", f"Servers, separated by commas [{DEFAULT_URL}]"),
    (("--user",), "NAME", "NATS_USER", "User, or token when there is no password"),
    (("--password",), "SECRET", "NATS_PASSWORD", "Password"),
    (("--token",), "SECRET", "NATS_TOKEN", "Token"),
    (("--creds",), "FILE", "NATS_CREDS", "File with a user's JWT and seed"),
    (("--nkey",), "FILE", "NATS_NKEY", "File with a user's nkey seed"),
    (("--tlscert",), "FILE", "NATS_CERT", "Our certificate"),
    (("--tlskey",), "FILE", "NATS_KEY", "Its private key"),
    (("--tlsca",), "FILE", "NATS_CA", "Authorities to trust"),
    (("--tlsfirst",), bool, None, "Begin with TLS, before the server says anything"),
    (("--context",), "NAME", "NATS_CONTEXT", "Settings by name, see `context`"),
    (("--no-context",), bool, None, "Do not use the selected context"),
    (("--timeout",), DURATION, "NATS_TIMEOUT", "How long to wait for an answer [5s]"),
    (("--connection-name",), "NAME", None, "What servers call this connection"),
    (("--inbox-prefix",), "PREFIX", "NATS_INBOX_PREFIX", "Where answers go [_INBOX]"),
    (("--js-domain",), "DOMAIN", "NATS_JS_DOMAIN", "JetStream domain"),
    (("--js-api-prefix",), "PREFIX", "NATS_JS_API_PREFIX", "Subject prefix of the JetStream API"),
    (("-j", "--json"), bool, None, "JSON for programs"),
)


def global_options(root: bool) -> list[click.Option]:
    made = []
    for flags, kind, env, text in GLOBAL:
        how: dict[str, Any] = {"help": text, "hidden": not root, "expose_value": False}
        if kind is bool:
            how |= {"is_flag": True, "default": False}
        elif isinstance(kind, str):
            how |= {"metavar": kind}
        else:
            how |= {"type": kind, "metavar": kind.name.upper()}
        if root and env:
            how |= {"envvar": env, "show_envvar": True}
        made.append(click.Option(list(flags), callback=_keep, **how))
    return made


def _keep(ctx: click.Context, param: click.Parameter, value: Any) -> None:
    if value is None or value is False or param.name is None:
        return
    settings = ctx.find_object(Settings)
    if settings is not None:
        setattr(settings, param.name, value)
        if ctx.get_parameter_source(param.name) is click.core.ParameterSource.COMMANDLINE:
            settings.given.add(param.name)


class Framed(click.Command):
    """What commands and groups have in common."""

    def __init__(
        self,
        *arguments: Any,
        examples: str = "",
        aliases: Sequence[str] = (),
        root: bool = False,
        **more: Any,
    ) -> None:
        super().__init__(*arguments, **more)
        self.examples = [line.strip() for line in examples.strip().splitlines()]
        self.aliases = tuple(aliases)
        self.root = root
        self.context_settings.setdefault("help_option_names", ["-h", "--help"])
        own = {flag for param in self.params for flag in param.opts}
        self.params += [
            option for option in global_options(root) if root or not own & {*option.opts}
        ]

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        if self.examples:
            with formatter.section("Examples"):
                for example in self.examples:
                    formatter.write(f"  {example}\n")
        if self.aliases:
            formatter.write_paragraph()
            formatter.write_text(f"Also called: {', '.join(self.aliases)}")
        if not self.root:
            formatter.write_paragraph()
            formatter.write_text("Global options: jetstream-py --help")


class Command(Framed):
    """A verb."""


class Group(Framed, click.Group):
    """A verb with verbs below it; they may be called by other names and by unique beginnings."""

    command_class = Command

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if found := super().get_command(ctx, cmd_name):
            return found
        for command in self.commands.values():
            if isinstance(command, Framed) and cmd_name in command.aliases:
                return command
        return None


Decorated = Callable[..., Any]


def force_option(function: Decorated) -> Decorated:
    """-f for verbs that ask before they do something."""
    text = "Do it without asking"
    return click.option("-f", "--force", is_flag=True, help=text)(function)
