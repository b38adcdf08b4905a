"""The tools must not lie: how a server's stream is cut into frames."""

from __future__ import annotations

import socket
import threading

import pytest

from tests.support.raw import RawClient, Silence
from tests.support.wire import frames, messages

STREAM = b"INFO {} \r\n+OK\r\nMSG a 1 4\r\n\r\n\r\n\r\nHMSG a 1 r 12 14\r\nNATS/1.0\r\n\r\nhi\r\nPONG\r\n"


def test_frames_keep_payloads_whole() -> None:
    assert list(frames(STREAM)) == [
        b"INFO {} \r\n",
        b"+OK\r\n",
        b"MSG a 1 4\r\n\r\n\r\n\r\n",
        b"HMSG a 1 r 12 14\r\nNATS/1.0\r\n\r\nhi\r\n",
        b"PONG\r\n",
    ]
    assert len(messages(STREAM)) == 2


@pytest.mark.parametrize("cut", range(1, len(STREAM)))
def test_frames_lose_nothing_of_a_cut_stream(cut: int) -> None:
    assert b"".join(frames(STREAM[:cut])) == STREAM[:cut]


def test_exchange_is_not_fooled_by_a_pong_in_a_payload() -> None:
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        connection, _ = listener.accept()
        with connection:
            connection.recv(100)
            connection.sendall(b"MSG a 1 6\r\nPONG\r\n\r\nPONG\r\n")
            connection.recv(100)

    thread = threading.Thread(target=serve)
    thread.start()
    with listener, RawClient(listener.getsockname()[1]) as client:
        assert client.exchange() == b"MSG a 1 6\r\nPONG\r\n\r\n"
        assert not client.eof
        with pytest.raises(Silence, match="deadline"):
            client.read_frame(timeout=0.01)
    thread.join()
