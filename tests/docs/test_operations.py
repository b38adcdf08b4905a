"""docs/operations.md and the README, followed to the letter: configurations, commands and programs are run.

Only what a machine has for itself is replaced: directories, ports, keys.
"""

from __future__ import annotations

import configparser
import os
import re
import shutil
import signal
import ssl
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from jetstream_py import nkey
from jetstream_py.config import parse_args
from tests.docs.snippets import ROOT, snippets
from tests.support.certs import Authority
from tests.support.server import OURS, Server, Servers, port_of
from tests.support.tokens import Key

PAGE = "docs/operations.md"
TIMEOUT = 60.0
SECRETS = {
    "ADMIN_PASSWORD": "admin-secret",
    "SHOP_PASSWORD": "shop-secret",
    "VIEWER_PASSWORD": "viewer-secret",
    "AUDIT_PASSWORD": "audit-secret",
    "CALLOUT_PASSWORD": "callout-secret",
}
OUR_DIRECTORIES = re.compile(r"/(etc|run|var/log|var/lib)/nats")
NKEY = re.compile(r"\bU[A-Z2-7]{55}\b")


class Place:
    """A machine of its own: directories, an authority, a server at most."""

    def __init__(self, root: Path) -> None:
        self.root = root
        for directory in ("etc/nats", "run/nats", "var/log/nats", "var/lib"):
            (root / directory).mkdir(parents=True)
        self.etc = root / "etc/nats"
        self.user = Key(nkey.USER)
        self.issuer = Key(nkey.ACCOUNT)
        authority = Authority(self.etc)
        pair = authority.server()
        shutil.copy(authority.cert, self.etc / "ca.pem")
        pair.cert.rename(self.etc / "server.pem")
        pair.key.rename(self.etc / "server.key")
        (self.etc / "shop.nk").write_text(self.user.seed)
        self.environ = SECRETS | {
            "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
            "XDG_CONFIG_HOME": str(root / "config"),
            "XDG_DATA_HOME": str(root / "data"),
            "ISSUER": self.issuer.public,
            "ISSUER_SEED": self.issuer.seed,
        }
        self.servers = Servers(root)
        self.server: Server | None = None

    def start(self, config: str) -> Server:
        file = self.etc / "nats-server.conf"
        file.write_text(self.localise(config))
        with pytest.MonkeyPatch.context() as patch:
            for name, value in self.environ.items():
                patch.setenv(name, value)
            self.server = self.servers.start(OURS, flags=["-c", str(file)])
        return self.server

    def localise(self, text: str) -> str:
        text = OUR_DIRECTORIES.sub(lambda found: f"{self.root}{found[0]}", text)
        text = NKEY.sub(self.user.public, text)
        if self.server is None:
            return re.sub(r'"[\d.]+:(8222|9222)"', '"127.0.0.1:-1"', text)
        text = text.replace(":4222", f":{self.server.port}")
        if monitoring := self.server.ports.get("monitoring"):
            text = text.replace(":8222", f":{port_of(monitoring[0])}")
        return text

    def run(self, command: list[str], text: str, **environ: str) -> str:
        """What it prints; it has to end well."""
        done = subprocess.run(
            [*command, self.localise(text)],
            cwd=self.root,
            env=os.environ | self.environ | environ,
            capture_output=True,
            text=True,
            timeout=TIMEOUT,
        )
        assert done.returncode == 0, f"{text}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    def shell(self, text: str, **environ: str) -> str:
        if re.search(r"^nats ", text, re.MULTILINE):
            environ["PATH"] = os.pathsep.join([self.environ["PATH"], str(nats_command().parent)])
        return self.run(["bash", "-euc"], text, **environ)

    def python(self, text: str) -> str:
        return self.run([sys.executable, "-c"], text)

    def wait(self, condition: Callable[[], bool]) -> None:
        assert self.server is not None
        deadline = time.monotonic() + TIMEOUT
        while not condition():
            assert time.monotonic() < deadline
            self.server._tick()

    def get(self, path: str) -> str:
        assert self.server is not None
        url = self.server.ports["monitoring"][0]
        with urllib.request.urlopen(url + path, timeout=10) as answer:
            assert answer.status == 200
            return str(answer.read().decode())


def nats_command() -> Path:
    found = shutil.which("nats") or shutil.which("nats", path=ROOT / "build" / "interop")
    if found is None:
        pytest.skip("there is no nats command; make interop builds one")
    return Path(found)


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    place = Place(tmp_path)
    with place.servers:
        yield place


@pytest.fixture(scope="module")
def production(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """A server as the page would have it."""
    place = Place(tmp_path_factory.mktemp("production"))
    with place.servers:
        place.start(snippets(PAGE, "conf", "production")[0].text)
        yield place


def test_every_block_that_can_be_run_is_run() -> None:
    """A block of a name that no test knows would look tested and is not."""
    text = (ROOT / PAGE).read_text()
    fences = set(re.findall(r"^```(?:conf|sh|python)(?: (.*))?$", text, re.MULTILINE))
    assert fences == {"production", "store", "operator", "operator-push", "callout"}


def test_configuration_is_valid(production: Place) -> None:
    commands = snippets(PAGE, "sh", "production")
    production.shell(commands[0].text)
    assert "config_digest" in production.shell(commands[2].text)


def test_clients_use_passwords_and_nkeys(production: Place) -> None:
    connect, trace = snippets(PAGE, "python", "production")
    assert production.python(connect.text) == "orders.shipped.7\n"
    assert production.python(trace.text).startswith("['in', ")


def test_reload_by_pid_file(production: Place) -> None:
    production.shell(snippets(PAGE, "sh", "production")[1].text)
    log = production.root / "var/log/nats/nats.log"
    production.wait(lambda: "Reloaded server configuration" in log.read_text())


def test_system_account(production: Place) -> None:
    assert production.server is not None
    url = f"tls://127.0.0.1:{production.server.port}"
    login = {"NATS_USER": "admin", "NATS_PASSWORD": "admin-secret", "NATS_CA": "etc/nats/ca.pem"}
    told = production.shell(snippets(PAGE, "sh", "production")[3].text, NATS_URL=url, **login)
    assert "east" in told
    assert "│ SYS " in told


def test_probes_are_answered(production: Place) -> None:
    manifest = (ROOT / "docker/kubernetes/jetstream-py.yaml").read_text()
    probes = re.findall(r'path: "([^"]+)", port: monitor', manifest)
    assert len(probes) == 3
    for path in probes:
        assert production.get(path) == '{"status":"ok"}'


def test_alerts_are_about_metrics_that_exist(production: Place) -> None:
    table = (ROOT / PAGE).read_text().partition("Worth an alert")[2].partition("\nThe mon")[0]
    names = re.findall(r"\b(?:gnatsd|jetstream)_\w+", table)
    assert len(names) > 4
    metrics = production.get("/metrics")
    for name in names:
        assert f"# TYPE {name} gauge\n" in metrics, name


def test_paths_of_the_table_exist(production: Place) -> None:
    table = (ROOT / PAGE).read_text().partition("| path | what |")[2].partition("```")[0]
    for path, rest in re.findall(r"^\| `(/\w*)`(?:, `/\w+`)? \|(.*)", table, re.MULTILINE):
        production.get(path)
        for query in re.findall(r"`(\?[^`]+)`", rest):
            production.get(path + query)


def test_systemd_waits_for_lame_duck_mode(production: Place) -> None:
    unit = configparser.ConfigParser(interpolation=None, strict=False)
    unit.read(ROOT / "docker/systemd/jetstream-py.service")
    start = unit["Service"]["ExecStart"].split()
    assert start[1:] == ["-c", "/etc/nats/nats-server.conf"]
    options = parse_args(["-c", str(production.etc / "nats-server.conf")], SECRETS).options
    assert float(unit["Service"]["TimeoutStopSec"]) > options.lame_duck_duration


def test_certificates_are_renewed_by_a_reload(production: Place) -> None:
    assert production.server is not None
    address = ("127.0.0.1", port_of(production.server.ports["websocket"][0]))
    before = ssl.get_server_certificate(address)
    renewed = Authority(production.root, "Second CA").server("renewed")
    shutil.copy(production.etc / "server.pem", production.root / "old.pem")
    shutil.copy(production.etc / "server.key", production.root / "old.key")
    try:
        shutil.copy(renewed.cert, production.etc / "server.pem")
        shutil.copy(renewed.key, production.etc / "server.key")
        production.server.signal(signal.SIGHUP)
        production.wait(lambda: ssl.get_server_certificate(address) != before)
        assert ssl.get_server_certificate(address) == renewed.cert.read_text()
    finally:
        shutil.copy(production.root / "old.pem", production.etc / "server.pem")
        shutil.copy(production.root / "old.key", production.etc / "server.key")
        production.server.signal(signal.SIGHUP)


def test_backup_of_a_stopped_server(place: Place) -> None:
    server = place.start('jetstream { store_dir: "/var/lib/nats" }')
    server.stop()
    told = place.shell(snippets(PAGE, "sh", "store")[0].text)
    assert told.count("no complaints") == 2


def test_operators(place: Place) -> None:
    place.shell(snippets(PAGE, "sh", "operator")[0].text)
    home = place.root / "data/nats/nsc/stores/DEMO"
    shutil.copy(home / "DEMO.jwt", place.etc / "operator.jwt")
    token = (home / "accounts/SYSTEM/SYSTEM.jwt").read_text().strip()
    told = place.shell("nats auth account info SYSTEM --operator DEMO")
    key = re.search(r"\bA[A-Z2-7]{55}\b", told)
    assert key, told
    (place.etc / "system_account.conf").write_text(f"{key[0]}: {token}\n")
    place.start(snippets(PAGE, "conf", "operator")[0].text)
    assert "ORDERS" in place.shell(snippets(PAGE, "sh", "operator-push")[0].text)


def test_readme_configuration(place: Place) -> None:
    text = snippets("README.md", "conf", "accounts")[0].text
    place.start(text.replace('"server.', '"/etc/nats/server.'))
    assert place.get("/healthz") == '{"status":"ok"}'
    assert place.shell("nats-server-py -t -c /etc/nats/nats-server.conf") == ""


def test_readme_programs(place: Place) -> None:
    place.start('jetstream { store_dir: "/var/lib/nats" }')
    greet, store = (block.text for block in snippets("README.md", "python"))
    assert place.python(greet) == "hello world\n"
    whole = f"import asyncio\n\nimport nats\n\n\n{store}\n\nasyncio.run(main())\n"
    assert place.python(whole) == "orders.new 1 piano\nb'green'\n"


def test_auth_callout(place: Place) -> None:
    place.start(snippets(PAGE, "conf", "callout")[0].text)
    told = place.python(snippets(PAGE, "python", "callout")[0].text)
    assert told.endswith(" True\n")
    wrong = snippets(PAGE, "python", "callout")[0].text.replace(
        'password="mellon")', 'password="friend", allow_reconnect=False)'
    )
    with pytest.raises(AssertionError, match="Authorization Violation"):
        place.python(wrong)
