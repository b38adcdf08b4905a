"""docs/backup.md: its programs take a backup, and put back those of older servers."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from tests.backup.old import old_backups
from tests.docs.snippets import snippets
from tests.jetstream.support import JetStream
from tests.support.server import OURS, Servers

PAGE = "docs/backup.md"


def test_programs(tmp_path: Path) -> None:
    programs = {name: snippets(PAGE, "python", name)[0].text for name in ("take", "put")}
    store = tmp_path / "store"
    with Servers(tmp_path) as servers:
        server = servers.start(OURS, None, ["-js", "-sd", str(store)])
        environment = {**os.environ, "NATS_URL": f"nats://127.0.0.1:{server.port}"}

        def run(name: str, *arguments: str) -> str:
            text = programs[name].replace("nats.connect()", "nats.connect(os.environ['NATS_URL'])")
            done = subprocess.run(
                [sys.executable, "-c", f"import os\n{text}", *arguments],
                env=environment,
                capture_output=True,
                text=True,
            )
            assert done.returncode == 0, done.stderr
            return done.stdout

        old = old_backups("2.10.25")["work_queue"]
        given, taken = tmp_path / "given", tmp_path / "taken"
        given.mkdir()
        (given / "backup.json").write_text(json.dumps(old.request))
        (given / "stream.tar.s2").write_bytes(old.data)
        count = len(old.expected["seqs"])
        assert run("put", str(given)) == f"{count} messages\n"
        run("take", "S", str(taken))
        js = JetStream(server, store)
        js.delete("S")
        assert run("put", str(taken)) == f"{count} messages\n"
        assert js.ask("CONSUMER.NAMES.S")["consumers"] == ["W"]
