"""The `nats` command on one server: a script of commands, one case each.

A case is held to its exit code, to words that its output must have, and, where the command speaks
JSON, to the whole answer without what differs from run to run. Tables and colours are for people and
are not compared.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.interop.outcome import Outcome, Transcript

TIMEOUT = 60.0
VOLATILE = {"created", "first_ts", "last_ts", "last_active", "ts", "time", "id", "leader", "server"}
COLOUR = re.compile(r"\x1b\[[0-9;]*m")


@dataclass(frozen=True)
class Step:
    name: str
    command: str
    words: tuple[str, ...] = ()
    json: bool = False
    refused: bool = False
    system: bool = False  # done by the user of the system account


def system(command: str, *words: str, refused: bool = False) -> Step:
    return Step(command, command, words, refused=refused, system=True)


SYSTEM = "system"
FILE = "@FILE@"
STEPS = (
    Step("account info", "account info"),
    Step("pub", "pub core.a hello", ("5 bytes",)),
    Step("request nobody", "request core.nobody hello --timeout 2s"),
    Step(
        "stream add", "stream add CLI --subjects cli.> --storage file --defaults --json", json=True
    ),
    Step("stream add twice", "stream add CLI --subjects other --defaults", refused=True),
    Step("stream ls", "stream ls --names", ("CLI",)),
    Step("stream publish", "pub cli.a numbered --count 5"),
    Step("stream info", "stream info CLI --json", json=True),
    Step("stream edit", "stream edit CLI --max-msgs 100 --force"),
    Step("stream info after edit", "stream info CLI --json", ("100",), json=True),
    Step("stream get", "stream get CLI 2 --json", json=True),
    Step("stream get nothing", "stream get CLI 99", refused=True),
    Step("stream report", "stream report", ("CLI",)),
    Step(
        "consumer add",
        "consumer add CLI PULL --pull --deliver all --ack explicit --filter cli.a --defaults",
        ("PULL",),
    ),
    Step("consumer ls", "consumer ls CLI --names", ("PULL",)),
    Step("consumer info", "consumer info CLI PULL --json", json=True),
    Step("consumer next", "consumer next CLI PULL --count 2 --raw", ("numbered",)),
    Step("consumer nak", "consumer next CLI PULL --nak --raw", ("numbered",)),
    Step("consumer pause", "consumer pause CLI PULL 1h --force"),
    Step("consumer resume", "consumer resume CLI PULL --force"),
    Step("consumer report", "consumer report CLI", ("PULL",)),
    Step("consumer rm", "consumer rm CLI PULL --force"),
    Step("consumer info of nobody", "consumer info CLI PULL", refused=True),
    Step("stream rmm", "stream rmm CLI 2 --force"),
    Step("stream to back up", "stream add BACK --subjects back.> --storage file --defaults"),
    Step("messages to back up", "pub back.a numbered --count 500"),
    Step("consumer to back up", "consumer add BACK PULL --pull --ack explicit --defaults"),
    Step("stream backup", f"stream backup BACK {FILE}.backup --no-progress --consumers --check"),
    Step("stream restore over it", f"stream restore {FILE}.backup --no-progress", refused=True),
    Step("stream rm before restore", "stream rm BACK --force"),
    Step("stream restore", f"stream restore {FILE}.backup --no-progress", ("Messages: 500",)),
    Step("stream info after restore", "stream info BACK --json", json=True),
    Step("consumer info after restore", "consumer info BACK PULL --json", json=True),
    Step("stream backup of nothing", f"stream backup NOPE {FILE}.none --no-progress", refused=True),
    Step("stream rm after restore", "stream rm BACK --force"),
    Step("stream purge", "stream purge CLI --force"),
    Step("stream state", "stream state CLI --json", json=True),
    Step("stream rm", "stream rm CLI --force"),
    Step("stream info of nothing", "stream info CLI", refused=True),
    Step("kv add", "kv add BUCKET --history 5"),
    Step("kv put", "kv put BUCKET key one", ("one",)),
    Step("kv get", "kv get BUCKET key --raw", ("one",)),
    Step("kv create", "kv create BUCKET other two"),
    Step("kv create twice", "kv create BUCKET other two", refused=True),
    Step("kv update", "kv update BUCKET key three 1"),
    Step("kv update stale", "kv update BUCKET key four 1", refused=True),
    Step("kv ls", "kv ls BUCKET", ("key", "other")),
    Step("kv history", "kv history BUCKET key", ("one", "three")),
    Step("kv revert", "kv revert BUCKET key 1 --force"),
    Step("kv del", "kv del BUCKET other --force"),
    Step("kv purge", "kv purge BUCKET key --force"),
    Step("kv get nothing", "kv get BUCKET key", refused=True),
    Step("kv compact", "kv compact BUCKET --force"),
    Step("kv info", "kv info BUCKET", ("BUCKET",)),
    Step("kv rm", "kv rm BUCKET --force"),
    Step("object add", "object add THINGS"),
    Step("object put", f"object put THINGS {FILE} --name thing --force --no-progress"),
    Step("object info", "object info THINGS thing", ("SHA-256",)),
    Step("object ls", "object ls THINGS", ("thing",)),
    Step("object get", f"object get THINGS thing --output {FILE}.back --force --no-progress"),
    Step("object del", "object del THINGS thing --force"),
    Step("object seal", "object seal THINGS --force"),
    Step(
        "object put when sealed",
        f"object put THINGS {FILE} --name late --force --no-progress",
        refused=True,
    ),
    Step("object rm", "object rm THINGS --force"),
    Step("bench pub", "bench pub bench.core --msgs 10000 --no-progress"),
    Step("bench js pub", "bench js pub sync bench.js --create --msgs 500 --no-progress"),
    Step("bench js get", "bench js ordered --msgs 500 --no-progress"),
    Step("server check connection", "server check connection", ("OK",)),
    Step("server check jetstream", "server check jetstream"),
    Step("stream to check", "stream add CHECK --subjects check.> --storage file --defaults"),
    Step("consumer to check", "consumer add CHECK PULL --pull --ack explicit --defaults"),
    Step("message to check", "pub check.a hello"),
    Step("server check stream", "server check stream --stream CHECK", ("OK",)),
    Step("server check consumer", "server check consumer --stream CHECK --consumer PULL", ("OK",)),
    Step("server check message", "server check message --stream CHECK --subject check.a", ("OK",)),
    Step("server check nothing", "server check stream --stream NOPE", refused=True),
    Step("account report connections", "account report connections", ("NATS CLI",)),
    Step("account report statistics", "account report statistics"),
    Step("no system account", "server list", refused=True),
    system("server ping 1", "interop"),
    system("server list", "interop"),
    system("server info", "Server information for interop"),
    system("server report connections", "NATS CLI"),
    system("server report accounts", "$SYS"),
    system("server report jetstream", "interop"),
    system("server report health"),
    system("server report cpu", "interop"),
    system("server report mem", "interop"),
    system("server check server --name interop", "OK"),
    system("server check server --name nobody --timeout 1s", refused=True),
    system("server account info APP", "APP"),
    system("server request variables", '"server_name":"interop"'),
    system("server request connections", '"connections":'),
    system("server request subscriptions", '"num_subscriptions":'),
    system("server request jetstream", '"streams":'),
    system("server request accounts", '"APP"'),
    system("server request accounts --account APP", '"account_name":"APP"'),
    system("server request jetstream-health", '"status":"ok"'),
    system("server request raft", '"data":{}'),
    system("server request routes", '"routes":[]'),
    system("server request gateways", '"outbound_gateways":{}'),
    system("server request leafnodes", '"leafs":[]'),
    system("server request kick 99999 interop", refused=True),
)


def version(command: Path) -> str:
    done = subprocess.run([command, "--version"], capture_output=True, text=True, timeout=TIMEOUT)
    return f"nats {(done.stdout + done.stderr).strip()}"


def steady(value: Any) -> Any:
    """JSON without what differs from run to run."""
    if isinstance(value, list):
        return [steady(item) for item in value]
    if isinstance(value, dict):
        return {k: "<volatile>" if k in VOLATILE else steady(v) for k, v in value.items()}
    return value


def play(command: Path, url: str, directory: Path) -> Transcript:
    """The whole script; the command's own settings live in the directory."""
    file = directory / "thing"
    file.write_bytes(bytes(number % 251 for number in range(300_000)))
    environment = {**os.environ, "HOME": str(directory), "XDG_CONFIG_HOME": str(directory)}
    outcomes = {}
    for step in STEPS:
        arguments = [part.replace(FILE, str(file)) for part in step.command.split()]
        who = ["--user", SYSTEM, "--password", SYSTEM] if step.system else []
        call = [str(command), "--server", url, *who, *arguments]
        outcomes[step.name] = run(step, call, environment)
    back = Path(f"{file}.back")
    if not back.exists() or back.read_bytes() != file.read_bytes():
        outcomes["object get"].failed = "the object came back with other bytes"
    return outcomes


def run(step: Step, command: list[str], environment: dict[str, str]) -> Outcome:
    try:
        done = subprocess.run(
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=TIMEOUT,
        )
    except subprocess.TimeoutExpired:
        return Outcome(f"no end after {TIMEOUT} s")
    output = COLOUR.sub("", done.stdout + done.stderr)
    if (done.returncode != 0) != step.refused:
        return Outcome(f"exit code {done.returncode}: {output.strip()[-500:]}")
    missing = [word for word in step.words if word not in output]
    if missing:
        return Outcome(f"{missing} not in: {output.strip()[-500:]}")
    facts = [f"exit code {done.returncode}"]
    if step.json:
        try:
            answer = steady(json.loads(done.stdout[done.stdout.index("{") :]))
        except ValueError:
            return Outcome(f"no JSON: {output.strip()[-500:]}")
        facts += json.dumps(answer, indent=1, sort_keys=True).splitlines()
    return Outcome("", facts)
