"""`jetstream-py consumer`: its verbs from the modules that have them."""

from __future__ import annotations

import click

from jetstream_py.cli import consumer_edit, consumer_look, consumer_read
from jetstream_py.cli.frame import Group


@click.group("consumer", cls=Group, aliases=("con",))
def command() -> None:
    """Consumers: make, look at, change and remove them, fetch messages."""


for module in (consumer_edit, consumer_look, consumer_read):
    for verb in module.VERBS:
        command.add_command(verb)
