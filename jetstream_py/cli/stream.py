"""`jetstream-py stream`: its verbs from the modules that have them."""

from __future__ import annotations

import click

from jetstream_py.cli import stream_backup, stream_edit, stream_look, stream_messages
from jetstream_py.cli.frame import Group


@click.group("stream", cls=Group, aliases=("str",))
def command() -> None:
    """Streams: make, look at, change and remove them, read and back up their messages."""


for module in (stream_edit, stream_look, stream_messages, stream_backup):
    for verb in module.VERBS:
        command.add_command(verb)
