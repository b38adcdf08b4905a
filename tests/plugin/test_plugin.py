"""The plugin in small projects: every kind of test, every fixture, what a failure shows."""

from __future__ import annotations

import pytest

from jetstream_py import pytest_plugin
from tests.plugin.projects import ASYNCIO, alone, run_project


def test_every_kind_of_test(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    pytester.makepyfile(
        """
        import asyncio
        import nats
        import pytest
        from nats.js.api import ConsumerConfig

        seen = []

        def test_plain(nats_server, nats_url, jetstream, kv, objects):
            assert nats_url == nats_server.url
            seen.append(nats_url)
            kv.put("colour", b"green")
            assert kv.get("colour").value == b"green"
            objects.put("photo", b"x" * 300_000)
            assert b"".join(objects.get("photo")) == b"x" * 300_000
            jetstream.create_stream({"name": "S", "subjects": ["s"]})
            assert jetstream.publish("s", b"1").seq == 1

            async def client():
                nc = await nats.connect(nats_url)
                await nc.publish("core", b"2")
                await nc.close()

            asyncio.run(client())
            nats_server.assert_published("core", b"2", count=1)

        @pytest.mark.asyncio
        async def test_asyncio(nats_server, nats_url, kv):
            assert nats_url not in seen
            await kv.put("colour", b"blue")
            nc = await nats.connect(nats_url)
            await nc.publish("core", b"2")
            assert (await nats_server.wait_published("core"))[0].data == b"2"
            assert (await (await nc.jetstream().key_value("kv")).get("colour")).value == b"blue"
            await nc.close()

        @pytest.fixture
        def anyio_backend():
            return "asyncio"

        @pytest.mark.anyio
        async def test_anyio(nats_url, nats_clock, nats_faults, jetstream):
            nc = await nats.connect(nats_url)
            js = nc.jetstream()
            await jetstream.create_stream({"name": "S", "subjects": ["s"]})
            await js.publish("s", b"1")
            sub = await js.pull_subscribe("s", "w", config=ConsumerConfig(ack_wait=30))
            lost = nats_faults.drop("deliveries", stream="S", count=1)
            with pytest.raises(nats.errors.TimeoutError):
                await sub.fetch(1, timeout=0.05)
            assert lost.hits == 1
            await nats_clock.advance(30)
            [msg] = await sub.fetch(1)
            assert msg.metadata.num_delivered == 2
            await nc.close()

        @pytest.mark.nats_server(store="tmp", max_payload=1000)
        class TestOptions:
            @pytest.mark.nats_server(max_payload=2000)
            def test_of_marks(self, nats_server):
                assert nats_server.jetstream.max_payload == 2000
                nats_server.kv("b").put("k", b"v")
                nats_server.kill()
                nats_server.restart()
                assert nats_server.kv("b").get("k").value == b"v"

        def test_session(nats_server_session):
            nats_server_session.kv("b").put("k", b"v")

        def test_session_again(nats_server_session, nats_url_session):
            assert nats_server_session.url == nats_url_session
            assert nats_server_session.kv("b").get("k").value == b"v"
        """
    )
    run_project(
        pytester, monkeypatch, "--strict-markers", *ASYNCIO, "-p", "anyio.pytest_plugin"
    ).assert_outcomes(passed=6)


def test_a_failure_shows_what_is_in_the_server(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytester.makepyfile(
        """
        def test_wrong(jetstream, nats_server):
            jetstream.create_stream({"name": "ORDERS", "subjects": ["orders.>"]})
            jetstream.publish("orders.1", b"piano")
            jetstream.api(
                "CONSUMER.CREATE.ORDERS.shipping",
                {"stream_name": "ORDERS", "config": {"durable_name": "shipping", "ack_policy": "explicit"}},
            )
            assert False

        def test_killed(nats_server):
            nats_server.kill()
            assert False

        def test_right(nats_server):
            pass
        """
    )
    result = run_project(pytester, monkeypatch)
    result.assert_outcomes(passed=1, failed=2)
    result.stdout.fnmatch_lines(
        [
            "*- NATS server on port * -*",
            "stream ORDERS (orders.>): 1 messages, 1 to 1",
            "  consumer shipping: 1 to come, delivered to 0, acked to 0, 0 unacked, 0 redelivered",
            "*- NATS server that does not run -*",
            "not available: the server does not run",
        ]
    )


def test_options_of_the_project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    pytester.makefile(
        ".ini",
        pytest="[pytest]\njetstream_store = tmp\njetstream_config = server.conf\n",
    )
    pytester.makefile(".conf", server="max_payload: 1000\n")
    pytester.makepyfile(
        """
        import os

        def test_it(nats_server, jetstream, pytestconfig):
            assert jetstream.max_payload == 1000
            wanted = pytestconfig.getoption("--jetstream-store") or "tmp"
            assert nats_server.on_disk == (wanted != "memory")
            jetstream.create_stream({"name": "S", "subjects": ["s"]})
        """
    )
    run_project(pytester, monkeypatch).assert_outcomes(passed=1)
    run_project(pytester, monkeypatch, "--jetstream-store", "memory").assert_outcomes(passed=1)
    run_project(pytester, monkeypatch, "--jetstream-store", "given").assert_outcomes(passed=1)
    assert (pytester.path / "given" / "jetstream" / "data.mdb").exists()
    result = run_project(pytester, monkeypatch, "--jetstream-config", "nonsense: 1")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(['E *ConfigError: config:1:0: unknown field "nonsense"'])


def test_it_costs_nothing_until_it_is_used(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytester.makepyfile(
        """
        import sys

        def test_it():
            ours = {name for name in sys.modules if name.startswith("jetstream_py.")}
            assert ours == {"jetstream_py.version", "jetstream_py.pytest_plugin"}
            assert "msgspec" not in sys.modules
        """
    )
    alone(monkeypatch)
    plugins = ["-p", pytest_plugin.__name__, "-p", "no:cacheprovider"]
    result = pytester.runpytest_subprocess(*plugins)
    result.assert_outcomes(passed=1)
