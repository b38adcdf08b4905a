"""The story of the configuration: raw JSON, files, and an edit that shows what it changes."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.shell import Shell
from tests.cli.walkthroughs.test_preview import said

ADD = (
    "stream add LOGS --subjects logs.> --storage file --retention limits --max-msgs=-1 "
    "--max-bytes=-1 --max-age 1d --max-msg-size=-1 --defaults"
)


def test_a_stream_and_a_consumer_from_files(shell: Shell, tmp_path: Path) -> None:
    account = said(shell.typed("req", "$JS.API.INFO", "", "--raw"))
    assert json.loads(account[account.index("{") :])["streams"] == 0

    said(shell.typed(*ADD.split()), "LOGS", "Age: 1d")
    config = json.loads(shell.ok("stream", "info", "LOGS", "--json"))["config"]
    assert config["max_age"] == 86400 * 10**9
    shell.ok("stream", "rm", "LOGS", "-f")
    gone = shell.typed("stream", "info", "LOGS")
    assert (gone.status, "stream not found" in gone.out) == (1, True)

    # The same by a request: its body is what the information said.
    file = tmp_path / "LOGS.json"
    file.write_text(json.dumps(config))
    body = file.read_bytes()
    made = shell.ok("req", "$JS.API.STREAM.CREATE.LOGS", "--raw", stdin=body)
    assert json.loads(made)["config"]["name"] == "LOGS"
    shell.ok("stream", "rm", "LOGS", "-f")
    said(shell.typed("stream", "add", "--config", str(file)), "LOGS", "Age: 1d")

    # An edit shows the difference, and asks.
    file.write_text(json.dumps(config | {"max_bytes": 10 * 2**30}))
    edit = ("stream", "edit", "LOGS", "--config", str(file))
    differs = ("- max_bytes: unlimited", "+ max_bytes: 10 GiB")
    refused = shell.typed(*edit, answers=[("[y/N]: ", "n")])
    assert refused.status == 1
    assert [line for line in differs if line not in refused.out] == [], refused.out
    assert json.loads(shell.ok("stream", "info", "LOGS", "--json"))["config"]["max_bytes"] == -1
    said(shell.typed(*edit, answers=[("[y/N]: ", "y")]), *differs, "Bytes: 10 GiB")

    # A consumer: its information is a file for the next one.
    options = "--target out.tail --ack none --replay instant --deliver all --defaults"
    shell.ok("consumer", "add", "LOGS", "TAIL", *options.split())
    info = shell.ok("consumer", "info", "LOGS", "TAIL", "--json")
    tail = tmp_path / "LOGS_TAIL.json"
    tail.write_text(json.dumps(json.loads(info)["config"]))
    shell.ok("consumer", "rm", "LOGS", "TAIL", "-f")
    said(shell.typed("consumer", "add", "LOGS", "--config", str(tail)), "TAIL", "out.tail")
    shell.ok("pub", "logs.web", "GET /", "-J")
    said(shell.typed("sub", "out.tail", "--count", "1"), "subject: logs.web", "GET /")
