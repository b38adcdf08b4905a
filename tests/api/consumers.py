"""nats-server's answers to CONSUMER.CREATE, and ours in the same form."""

from __future__ import annotations

import json

from msgspec.structs import replace

from jetstream_py.api.consumer_config import ConsumerRules, check_config, check_new
from jetstream_py.api.consumer_types import ConsumerConfig, CreateConsumerRequest
from jetstream_py.api.consumer_update import check_update
from jetstream_py.api.decode import decode_body
from jetstream_py.api.errors import ApiError, error
from jetstream_py.api.requests import StreamConfigRequest
from jetstream_py.api.responses import encode
from jetstream_py.api.stream_config import check_create, with_versions
from jetstream_py.api.times import utc_text
from jetstream_py.api.types import StreamConfig
from tests.api.cases_create import SELF, Config
from tests.api.oracle import Oracle, as_bytes


class Consumers:
    """A stream on the oracle, and its configuration as we see it."""

    def __init__(self, oracle: Oracle, name: str, stream: StreamConfig) -> None:
        self.oracle = oracle
        self.name = name
        self.stream = stream
        self.made = 0

    def fresh_name(self) -> str:
        self.made += 1
        return f"C{self.made}"

    def body(self, name: str, config: Config) -> bytes:
        """A request; `pedantic` and `action` belong to it, not to the configuration."""
        config = dict(config)
        outer: Config = {key: config.pop(key) for key in ("pedantic", "action") if key in config}
        request = {"stream_name": self.name, "config": config, **outer}
        return json.dumps(request).replace(f'"{SELF}"', f'"{name}"').encode()

    def create(self, name: str, body: bytes) -> str:
        """The config, or the error, of the answer."""
        answer = self.oracle.request(f"CONSUMER.CREATE.{self.name}.{name}", body).decode()
        if '"error":{' in answer[:150]:
            return answer[answer.index('"error":') + 8 : -1]
        return answer[answer.index('"config":') + 9 : answer.index(',"delivered":')]

    def delete(self, name: str) -> None:
        self.oracle.request(f"CONSUMER.DELETE.{self.name}.{name}")


def new_stream(oracle: Oracle, name: str, config: Config) -> Consumers:
    body = {"name": name, **config}
    assert "err_code" not in oracle.config("CREATE", name, body)
    stream = check_create(decode_body(as_bytes(body), StreamConfigRequest))
    return Consumers(oracle, name, stream)


def created(name: str, body: bytes, rules: ConsumerRules) -> str:
    """What we make of a request for a consumer that is not there."""
    try:
        request = decode_body(body, CreateConsumerRequest)
        if request.config.num_replicas > 1:
            raise error(10074)
        config = check_config(replace(request.config, name=name), rules, request.pedantic)
        return shown(check_new(config, rules, ()))
    except ApiError as fault:
        return encode(fault.body).decode()


def shown(config: ConsumerConfig) -> str:
    return encode(replace(config, metadata=with_versions(config.metadata))).decode()


def updated(old: ConsumerConfig, name: str, body: bytes, rules: ConsumerRules) -> str:
    """What we make of a request for a consumer that lives by `old`, alone and with no listener."""
    try:
        request = decode_body(body, CreateConsumerRequest)
        if request.config.num_replicas > 1:
            raise error(10074)
        pause = old.pause_until and utc_text(old.pause_until)
        named = replace(request.config, name=name, pause_until=pause)
        config = check_config(named, rules, request.pedantic)
        if request.action == "create" and config != old:
            raise error(10148)
        return shown(check_update(old, config, bound=False))
    except ApiError as fault:
        return encode(fault.body).decode()
