"""What the scenarios of batches share."""

from __future__ import annotations

from tests.jetstream.support import JetStream, Json, Message, frame_of

LARGE = b"x" * 300
ABANDONED = "$JS.EVENT.ADVISORY.STREAM.BATCH_ABANDONED.>"


def part(batch: str, seq: object, commit: str | None = None, **others: str) -> dict[str, str]:
    """The headers of a message of an atomic batch; `_` stands for `-` in the names of others."""
    headers = {"Nats-Batch-Id": batch, "Nats-Batch-Sequence": str(seq)}
    if commit is not None:
        headers["Nats-Batch-Commit"] = commit
    return headers | {name.replace("_", "-"): value for name, value in others.items()}


def send(js: JetStream, *messages: tuple[str, dict[str, str]], batch: str = "b") -> Json:
    """A whole batch; the answer to its last message."""
    last = len(messages)
    for seq, (subject, others) in enumerate(messages, 1):
        headers = part(batch, seq, "1" if seq == last else None, **others)
        answer = js.request(subject, b"x", headers)
    return answer.json


def advisories(js: JetStream) -> list[tuple[str, str]]:
    """The batches that were abandoned by now, with the reasons."""
    js.fence()
    told = [(it.json["batch"], it.json["reason"]) for it in js.kept if "ABANDONED" in it.subject]
    js.kept = [message for message in js.kept if "ABANDONED" not in message.subject]
    js.note(told)
    return told


class Fast:
    """The publisher of one fast batch, who listens to `_F.>`."""

    def __init__(
        self,
        js: JetStream,
        batch: str = "b",
        flow: object = 3,
        gap: str = "ok",
        prefix: str = "_F.p",
    ) -> None:
        self.js = js
        self.batch = batch
        self.flow = flow
        self.gap = gap
        self.prefix = prefix

    def say(
        self,
        seq: object,
        op: object,
        headers: dict[str, str] | None = None,
        data: bytes = b"x",
        subject: str = "s.a",
    ) -> list[Message]:
        """One message, and what there is to be heard of it."""
        self.tell(seq, op, headers, data, subject)
        return hear(self.js, subject)

    def tell(
        self,
        seq: object,
        op: object,
        headers: dict[str, str] | None = None,
        data: bytes = b"x",
        subject: str = "s.a",
    ) -> None:
        reply = f"{self.prefix}.{self.batch}.{self.flow}.{self.gap}.{seq}.{op}.$FI"
        self.js.note(f"{subject} {reply} {headers}")
        self.js.client.send(frame_of(subject, data, headers, reply.encode()))


def hear(js: JetStream, subject: str = "s.a") -> list[Message]:
    """Everything that has come for `_F.>` by now, in order.

    What a stream has to say comes beside the connection, in the order of its messages. So another message
    behind them tells when all is said: a batch of its own, of which nothing is stored.
    """
    js.requests += 1
    reply = f"_F.{js.requests}.fence.1.ok.1.2.$FI"
    headers = {"Nats-Expected-Stream": "?"}
    js.client.send(frame_of(subject, b"", headers, reply.encode()))
    while js._receive(reply).data.startswith(b'{"type":'):
        pass
    heard, js.kept = js.kept, []
    for message in heard:
        js.note(f"{message.subject} {message.data.decode()}")
    return heard
