"""`jetstream-py context`: connection settings by name, shared with the nats command."""

from __future__ import annotations

import asyncio
import json

import click

from jetstream_py.cli import ask, contexts, show
from jetstream_py.cli.connect import FIELDS, connect
from jetstream_py.cli.contexts import SECRETS, Context
from jetstream_py.cli.failure import Failure
from jetstream_py.cli.frame import Group, Settings, force_option

pass_settings = click.make_pass_decorator(Settings)


@click.group("context", cls=Group, aliases=("ctx",))
def command() -> None:
    """Connection settings by name: the files of the nats command, read and written."""


@command.command(
    "add",
    aliases=("save", "create"),
    examples="""jetstream-py context add prod -s nats://prod:4222 --creds prod.creds --select
    jetstream-py context add prod --description 'the real thing'""",
)
@click.argument("name")
@click.option("--description", help="A text for people")
@click.option("--select", "selected", is_flag=True, help="Use it from now on")
@pass_settings
def add(settings: Settings, name: str, description: str | None, selected: bool) -> None:
    """Make NAME from the global options of this line, or change it."""
    file = contexts.path(name)
    found: Context = contexts.load(name) if file.exists() else {}
    for field, option in FIELDS.items():
        if option in settings.given:
            found[field] = getattr(settings, option)
    if description is not None:
        found["description"] = description
    contexts.save(name, found)
    if selected:
        contexts.select(name)
    print_context(settings, name)


def print_context(settings: Settings, name: str) -> None:
    found = contexts.load(name)
    if settings.json:
        show.data({"name": name, **found})
        return
    facts = [
        (field.replace("_", " ").title(), "*********" if field in SECRETS else value)
        for field, value in found.items()
        if value
    ]
    show.facts(f"Context {name}", [("", [*facts, ("Path", contexts.path(name))])])


@command.command("ls", aliases=("list", "l"), examples="jetstream-py context ls")
@click.option("-n", "--names", is_flag=True, help="Only names")
@pass_settings
def list_contexts(settings: Settings, names: bool) -> None:
    """List contexts; the selected one has a star."""
    found, chosen = contexts.names(), contexts.selected()
    if settings.json:
        show.data(found if names else [{"name": name, **contexts.load(name)} for name in found])
    elif names:
        for name in found:
            show.line(name)
    elif not found:
        show.note("No contexts; `jetstream-py context add` makes one")
    else:
        rows = []
        for name in found:
            context = contexts.load(name)
            star = "*" if name == chosen else ""
            rows.append((name + star, context.get("description", ""), context.get("url", "")))
        show.table("Contexts", ("Name", "Description", "Server"), rows)


@command.command("info", aliases=("show",), examples="jetstream-py context info prod")
@click.argument("name", required=False)
@pass_settings
def info(settings: Settings, name: str | None) -> None:
    """Show NAME, or the selected context; secrets only with --json."""
    print_context(settings, name or chosen_one())


def chosen_one() -> str:
    name = contexts.selected()
    if not name:
        raise Failure("no context is selected", "`jetstream-py context select NAME` selects one")
    return name


@command.command("select", aliases=("switch", "set"), examples="jetstream-py context select prod")
@click.argument("name", required=False)
@pass_settings
def select(settings: Settings, name: str | None) -> None:
    """Use NAME from now on."""
    name = name or ask.pick("Context", "NAME", contexts.names())
    contexts.select(name)
    print_context(settings, name)


@command.command("unselect", examples="jetstream-py context unselect")
def unselect() -> None:
    """Use no context from now on."""
    contexts.select("")


@command.command("previous", examples="jetstream-py context previous")
@pass_settings
def previous(settings: Settings) -> None:
    """Use the context that was selected before."""
    name = contexts.previous()
    if not name:
        raise Failure("no context was selected before")
    contexts.select(name)
    print_context(settings, name)


@command.command("copy", aliases=("cp",), examples="jetstream-py context copy prod staging")
@click.argument("source")
@click.argument("name")
@pass_settings
def copy(settings: Settings, source: str, name: str) -> None:
    """Make NAME from another context; global options of this line win."""
    if contexts.path(name).exists():
        raise Failure(f"context {name!r} is there already")
    found = contexts.load(source)
    for field, option in FIELDS.items():
        if option in settings.given:
            found[field] = getattr(settings, option)
    contexts.save(name, found)
    print_context(settings, name)


@command.command("edit", examples="jetstream-py context edit prod")
@click.argument("name", required=False)
@pass_settings
def edit(settings: Settings, name: str | None) -> None:
    """Change NAME in $EDITOR."""
    name = name or chosen_one()
    if not ask.possible():
        raise click.UsageError("an editor needs a terminal: `context add NAME` changes settings")
    text = click.edit(json.dumps(contexts.load(name), indent=2), extension=".json")
    if text is None:
        raise Failure("nothing was changed")
    try:
        contexts.save(name, dict(json.loads(text)))
    except (ValueError, TypeError) as error:
        raise Failure(f"what the editor left is no JSON object: {error}") from None
    print_context(settings, name)


@command.command("rm", aliases=("delete", "del"), examples="jetstream-py context rm prod -f")
@click.argument("name")
@force_option
def remove(name: str, force: bool) -> None:
    """Remove NAME."""
    contexts.load(name)
    if name == contexts.selected():
        raise Failure(
            f"context {name!r} is selected", "`context unselect` or `select` another first"
        )
    ask.confirm(f"Really delete context {name}?", force)
    contexts.remove(name)
    show.line(f"Context {name} was deleted")


@command.command("validate", examples="jetstream-py context validate prod")
@click.argument("name", required=False)
@pass_settings
def validate(settings: Settings, name: str | None) -> None:
    """Connect with NAME, or with every context, and say how it went."""
    rows, failed = [], False
    for each in [name] if name else contexts.names():
        try:
            asyncio.run(_connect(Settings(context=each, timeout=settings.timeout)))
            rows.append((each, "OK"))
        except Failure as error:
            failed = True
            rows.append((each, error.message))
    if settings.json:
        show.data(dict(rows))
    else:
        show.table("Contexts", ("Name", "Connection"), rows)
    if failed:
        click.get_current_context().exit(1)


async def _connect(settings: Settings) -> None:
    await (await connect(settings)).close()
