"""Streams to read and write, and a way to break connections."""

from __future__ import annotations

import selectors
import socket
import threading
from collections.abc import Callable, Iterable
from types import TracebackType
from typing import Self

from pyspark_jetstream import api, fetch, reader, reading, table
from pyspark_jetstream.connection import connect
from pyspark_jetstream.fetch import Range
from pyspark_jetstream.options import Options, parse
from pyspark_jetstream.publish import Publisher
from tests.jetstream.support import JetStream


def options(js: JetStream, **given: str) -> Options:
    """As a user of Spark would give them; `tls_ca` stands for `tls.ca`."""
    named = {name.replace("_", "."): value for name, value in given.items()}
    return parse({"servers": js.server.url, "stream": "S", **named})


def fill(js: JetStream, count: int, start: int = 0, subjects: int = 10) -> None:
    """`s.<i mod subjects>`, payload `<i>`."""
    numbers = range(start, start + count)
    with connect(options(js)) as link:
        publisher = Publisher(link, "S")
        publisher.publish(
            [b"s.%d" % (i % subjects) for i in numbers],
            [b""] * count,
            [b"%d" % i for i in numbers],
        )
        publisher.flush()


def planned(js: JetStream, **given: str) -> list[Range]:
    """The ranges that a table is read in."""
    found = options(js, **given)
    return [part.span for part in reader.MessageReader(found, table.MESSAGES).partitions()]  # type: ignore[attr-defined]


def read(js: JetStream, **given: str) -> list[tuple[int, str, bytes]]:
    """Sequence, subject and payload of a whole table, range by range."""
    found = options(js, **given)
    return [
        (seq, subject.decode(), data)
        for span in planned(js, **given)
        for rows in reading.read(found, span)
        for seq, subject, data in zip(rows.seqs, rows.subjects, rows.datas, strict=True)
    ]


def span(js: JetStream, start: int, end: int, way: str = fetch.DIRECT, **more: object) -> Range:
    with connect(options(js)) as link:
        info = api.stream_info(link, "S")
    return Range("S", info.created, start, end, way, **more)  # type: ignore[arg-type]


class Gate:
    """A way to a server that closes once when `cut` says so of what was sent through it so far."""

    def __init__(self, port: int, cut: Callable[[bytes], bool]) -> None:
        self._target = port
        self._cut = cut
        self.cuts = 0
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._thread = threading.Thread(target=self._accept, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join()

    @property
    def url(self) -> str:
        return f"nats://127.0.0.1:{self.port}"

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            server = socket.create_connection(("127.0.0.1", self._target))
            threading.Thread(target=self._pass_on, args=(client, server), daemon=True).start()

    def _pass_on(self, client: socket.socket, server: socket.socket) -> None:
        sent = b""
        with selectors.DefaultSelector() as selector, client, server:
            selector.register(client, selectors.EVENT_READ, server)
            selector.register(server, selectors.EVENT_READ, client)
            while True:
                for key, _ in selector.select():
                    source = key.fileobj
                    assert isinstance(source, socket.socket)
                    try:
                        if not (data := source.recv(1 << 16)):
                            return
                        key.data.sendall(data)
                    except OSError:
                        return
                    if source is client and not self.cuts:
                        sent += data
                        if self._cut(sent):
                            self.cuts += 1
                            return


def sequences(rows: Iterable[tuple[int, str, bytes]]) -> list[int]:
    return [seq for seq, _, _ in rows]
