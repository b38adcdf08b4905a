"""The page at / and the files that belong to it."""

from __future__ import annotations

import re

import pytest

from jetstream_py.config.options import Options
from jetstream_py.server.monitor import bundle
from jetstream_py.server.monitor.endpoints import ENDPOINTS, Answer, answer
from jetstream_py.server.monitor.state import MonitorState
from tests.monitor.fakes import FakeBroker

SIZE_MAX = 60_000
OWN = re.compile(r'(?:href|src)="([^"#]+)"')


def ask(target: str, name: str = "test", base: str = "") -> Answer:
    broker = FakeBroker(options=Options(http_base_path=base), server_name=name)
    return answer(broker, MonitorState("0.0.0.0", 8222), target)


@pytest.mark.parametrize("base", ["", "/base/path"])
def test_everything_that_the_page_names_is_there(base: str) -> None:
    page = ask(base or "/", base=base)
    assert (page.status, page.content_type) == (200, "text/html; charset=utf-8")
    named = OWN.findall(page.body.decode())
    assert {f"{base}/site/app.js", f"{base}/site/style.css", f"{base}/varz"} <= set(named)
    assert [path for path in named if ask(path, base=base).status != 200] == []


def test_every_endpoint_is_linked() -> None:
    text = ask("/").body.decode()
    assert [path for path in ENDPOINTS if ENDPOINTS[path].title and f'"{path}"' not in text] == []


@pytest.mark.parametrize("path", ["/", *bundle.FILES])
def test_the_policy_allows_nothing_from_elsewhere(path: str) -> None:
    headers = ask(path).headers
    policy = dict(rule.split(" ", 1) for rule in headers["Content-Security-Policy"].split("; "))
    assert policy["default-src"] == "'none'"
    assert set(policy.values()) == {"'none'", "'self'"}
    assert {"base-uri", "form-action", "frame-ancestors", "script-src", "style-src"} <= set(policy)
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Cache-Control"] == "no-cache"


def test_imports_are_files_of_the_bundle() -> None:
    for path, file in bundle.FILES.items():
        for name in re.findall(r'from "\./([^"]+)"', file.body.decode()):
            assert bundle.PREFIX + name in bundle.FILES, path


def test_the_bundle_is_small_and_names_no_other_host() -> None:
    bodies = [ask("/").body, *(file.body for file in bundle.FILES.values())]
    assert sum(map(len, bodies)) < SIZE_MAX
    hosts = {host for body in bodies for host in re.findall(rb"https?://([^/\"]+)", body)}
    assert hosts == {b"www.w3.org"}  # the name of SVG, never loaded


def test_the_page_has_no_markup_from_texts() -> None:
    """Whatever clients send becomes text nodes; what would parse it is not used at all."""
    for path, file in bundle.FILES.items():
        assert not re.search(
            rb"innerHTML|outerHTML|insertAdjacent|document\.write|eval\(", file.body
        ), path


def test_a_name_is_text() -> None:
    body = ask("/", name='<script>alert("1")</script>$base').body
    assert b"<script>alert" not in body
    assert b"<h1>&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt;$base</h1>" in body


def test_a_base_path_is_text() -> None:
    body = ask("/%22%3E%3Cb%3E", base='/"><b>').body
    assert b'data-base="/&quot;&gt;&lt;b&gt;"' in body
    assert b'"><b>' not in body


@pytest.mark.parametrize(
    "path", ["/site", "/site/", "/site/index.html", "/site/../site", "/site/x.js"]
)
def test_other_files_are_not_served(path: str) -> None:
    assert ask(path).status in (307, 404)
