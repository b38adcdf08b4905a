"""`jetstream-py completion bash`: what a shell needs to complete commands, options and names."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from jetstream_py.cli import COMPLETE
from jetstream_py.cli.frame import Command


@click.command(
    "completion",
    cls=Command,
    examples="""jetstream-py completion bash > ~/.local/share/bash-completion/completions/jetstream-py
    jetstream-py completion zsh > ~/.zfunc/_jetstream-py
    jetstream-py completion fish > ~/.config/fish/completions/jetstream-py.fish""",
)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def command(shell: str) -> None:
    """Print the completion script for a shell."""
    kind = get_completion_class(shell)
    assert kind is not None
    root = click.get_current_context().find_root().command
    click.echo(kind(root, {}, "jetstream-py", COMPLETE).source())
