"""What is under docker/: linted, parsed, and played as far as that goes without an engine."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml

from tests.support.server import OURS, Servers, run

FOLDER = Path(__file__).parents[2] / "docker"
ROOT = FOLDER.parent


def tool(name: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    beside = Path(sys.executable).with_name(name)
    found = str(beside) if beside.exists() else shutil.which(name)
    if found is None:
        pytest.skip(f"{name} is not here: what it would check is not checked")
    return subprocess.run([found, *arguments], capture_output=True, text=True, cwd=ROOT)


def documents(file: str) -> list[dict[str, Any]]:
    return list(yaml.safe_load_all((FOLDER / file).read_text()))


def test_the_dockerfile_has_no_faults() -> None:
    found = tool("hadolint", "docker/Dockerfile")
    assert (found.returncode, found.stdout) == (0, "")


def test_the_image_copies_only_what_is_there() -> None:
    text = (FOLDER / "Dockerfile").read_text()
    allowed = set((ROOT / ".dockerignore").read_text().split())
    sources = [
        source
        for line in re.findall(r"^COPY (?!--from)(.*)$", text, re.MULTILINE)
        for source in line.split()[:-1]
        if not source.startswith("--")
    ]
    assert len(sources) >= 5
    for source in sources:
        assert (ROOT / source).exists(), source
        assert f"!{source.split('/')[0]}" in allowed, source


@pytest.mark.parametrize(
    ("arguments", "command"),
    [
        ([], "nats-server-py -c /etc/nats/nats-server.conf"),
        (["-js", "-m", "8222"], "nats-server-py -js -m 8222"),
        (["nats-server", "-js"], "nats-server-py -js"),
        (["serve", "-js"], "jetstream-py serve -js"),
        (["verify", "/data"], "jetstream-py verify /data"),
        (["echo", "-n", "x"], "x"),
    ],
)
def test_bare_flags_are_the_servers(arguments: list[str], command: str, tmp_path: Path) -> None:
    for name in ("nats-server-py", "jetstream-py"):
        fake = tmp_path / name
        fake.write_text(f'#!/bin/sh\necho "{name} $*"\n')
        fake.chmod(0o755)
    path = f"{tmp_path}:{os.environ['PATH']}"
    said = subprocess.run(
        ["sh", str(FOLDER / "entrypoint.sh"), *arguments],
        env={"PATH": path},
        capture_output=True,
        text=True,
        check=True,
    )
    assert said.stdout.strip() == command


def test_the_configurations_are_valid(tmp_path: Path) -> None:
    (maps,) = (
        one for one in documents("kubernetes/jetstream-py.yaml") if one["kind"] == "ConfigMap"
    )
    of_kubernetes = tmp_path / "kubernetes.conf"
    of_kubernetes.write_text(maps["data"]["nats-server.conf"])
    for file in (FOLDER / "nats-server.conf", of_kubernetes):
        checked = run(OURS, "-t", "-c", str(file), directory=tmp_path)
        assert checked.returncode == 0, checked.stderr


def test_kubernetes_would_take_the_manifest() -> None:
    found = documents("kubernetes/jetstream-py.yaml")
    for document in found:
        kubernetes_validate.validate(document, kubernetes_validate.latest_version(), strict=True)
    (workload,) = (one for one in found if one["kind"] == "StatefulSet")
    (container,) = workload["spec"]["template"]["spec"]["containers"]
    probes = {
        name: container[f"{name}Probe"]["httpGet"]["path"]
        for name in ("startup", "liveness", "readiness")
    }
    assert probes == {
        "startup": "/healthz",
        "liveness": "/healthz?js-server-only=true",
        "readiness": "/healthz?js-enabled-only=true",
    }
    assert container["securityContext"]["readOnlyRootFilesystem"] is True


def test_the_compose_file_names_what_it_uses() -> None:
    (compose,) = documents("compose.yaml")
    assert set(compose["services"]) == {"nats", "spark"}
    mounted = {
        mount.split(":")[0]
        for service in compose["services"].values()
        for mount in service["volumes"]
    }
    assert {name for name in mounted if "/" not in name} == set(compose["volumes"])
    build = compose["services"]["nats"]["build"]
    assert (FOLDER / build["context"] / build["dockerfile"]).exists()


def test_systemd_would_take_the_unit(tmp_path: Path) -> None:
    text = (FOLDER / "systemd" / "jetstream-py.service").read_text()
    assert "Type=notify\n" in text
    # The command is not installed where tests run.
    unit = tmp_path / "jetstream-py.service"
    unit.write_text(text.replace("/opt/jetstream-py/bin/nats-server-py", "/bin/true"))
    found = tool("systemd-analyze", "verify", str(unit))
    about_it = [line for line in found.stderr.splitlines() if "jetstream-py" in line]
    assert about_it == []


def test_the_dashboard_asks_for_metrics_that_are_there(tmp_path: Path) -> None:
    dashboard = json.loads((FOLDER / "grafana" / "jetstream-py.json").read_text())
    asked = {
        name
        for panel in dashboard["panels"]
        for target in panel["targets"]
        for name in re.findall(r"\b(?:gnatsd|jetstream)_\w+", target["expr"])
    }
    assert len(asked) > 15
    with Servers(tmp_path) as servers:
        server = servers.start(OURS, flags=["-js", "-sd", str(tmp_path / "store"), "-m", "-1"])
        with server.client(b"CONNECT {}\r\n") as client:
            client.send(
                b'SUB in 1\r\nPUB $JS.API.STREAM.CREATE.S in 29\r\n{"name":"S","subjects":["s"]}\r\n'
                b"PUB $JS.API.CONSUMER.CREATE.S.C in 60\r\n"
                b'{"stream_name":"S","config":{"name":"C","durable_name":"C"}}\r\n'
            )
            client.read_until(b"consumer_create_response")
        names = {line.split("{")[0] for line in server.monitor_text("/metrics").splitlines()}
    assert asked <= names
