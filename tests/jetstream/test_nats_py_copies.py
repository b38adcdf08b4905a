"""The stock Python client makes mirrors and sources, and reads what info says of them."""

from __future__ import annotations

from nats.js import JetStreamContext
from nats.js.api import ExternalStream, StreamSource, SubjectTransform

from tests.jetstream.copies import origin, synced
from tests.jetstream.nats_py import plain, run
from tests.jetstream.support import JetStream, scenario


@scenario("MIR-001", "MIR-005")
def test_a_mirror(js: JetStream) -> None:
    origin(js)

    async def story(context: JetStreamContext) -> None:
        made = await context.add_stream(name="M", mirror=StreamSource("O", opt_start_seq=2))
        js.note(plain(made))
        assert made.mirror is not None
        assert (made.mirror.lag, made.mirror.active) == (0, -1)
        synced(js, "M", last_seq=4)
        found = await context.stream_info("M")
        assert found.mirror is not None
        assert found.mirror.active is not None
        assert found.mirror.active >= 0
        found.mirror.active = None
        js.note(plain(found.mirror))
        js.note(plain(await context.get_msg("M", 2)))

    run(js, story)


@scenario("MIR-006", "MIR-007")
def test_sources(js: JetStream) -> None:
    origin(js)

    async def story(context: JetStreamContext) -> None:
        transforms = [SubjectTransform("o.1", "x.1")]
        external = ExternalStream(api="$JS.elsewhere.API", deliver="there")
        made = await context.add_stream(
            name="S",
            sources=[
                StreamSource("O", subject_transforms=transforms),
                StreamSource("P", external=external),
            ],
        )
        assert {source.name for source in made.sources or ()} == {"O", "P"}
        js.until(lambda: js.ask("STREAM.INFO.S")["state"]["messages"] == 2)
        message = await context.get_msg("S", 1)
        assert message.subject == "x.1"
        header = (message.headers or {})["Nats-Stream-Source"]
        assert header.rpartition(" ")[0] == "O 2 o.1 x.1 o.1"

    run(js, story)
