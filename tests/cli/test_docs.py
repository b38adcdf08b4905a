"""docs/cli.md is what the commands say of themselves."""

from __future__ import annotations

from jetstream_py.cli.docs import page
from tests.docs.snippets import DOCS


def test_the_page_is_that_of_the_commands() -> None:
    assert (DOCS / "cli.md").read_text() == page(), "run python -m jetstream_py.cli.docs"
