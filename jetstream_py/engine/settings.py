"""What the server's configuration says about JetStream, as far as streams and the API look at it."""

from __future__ import annotations

from dataclasses import dataclass

from jetstream_py.limits import API_QUEUE, BUFFERED_BYTES, BUFFERED_MSGS, MAX_PAYLOAD


@dataclass(frozen=True, slots=True)
class Settings:
    domain: str = ""  # told in answers; `$JS.<domain>.API` is another name of the API
    preview_api: bool = False  # see `api.preview`
    strict: bool = True  # requests with fields that nobody knows are refused
    ack_v2: bool = False  # replies name domain and account, see `Consumers.reply_path`
    max_payload: int = MAX_PAYLOAD  # the server's, see `Consumer.burst`
    sync_interval: float = 0.0  # seconds, see `interval`; 0 is always
    # what may wait, of each stream and of the API, see `inflow` and `request_queue`
    max_buffered_msgs: int = BUFFERED_MSGS
    max_buffered_size: int = BUFFERED_BYTES
    request_queue_limit: int = API_QUEUE
    info_queue_limit: int = API_QUEUE
    # limits of the server, 0 for none
    duplicate_window: int = 0  # nanoseconds
    max_ack_pending: int = 0
    max_request_batch: int = 0
    max_ha_assets: int = 0
    # of batches, 0 for those in `limits`
    batch_per_stream: int = 0
    batch_total: int = 0
    batch_msgs: int = 0
    batch_timeout: float = 0.0  # seconds
