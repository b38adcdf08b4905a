"""Consumers that come without a backup: made anew behind the last message they are done with.

What is kept is the configuration and the ack floor. Whatever is above it is delivered again, acked or
not, and counts of deliveries begin at one: a consumer's list of single acks is not told to clients.
"""

from __future__ import annotations

from jetstream_py.migrate.connection import Connection, Json
from jetstream_py.migrate.stage import own_metadata


async def durable(link: Connection, stream: str) -> tuple[list[Json], int]:
    """Infos of the durable consumers, and how many others there are."""
    infos = await link.pages(f"CONSUMER.LIST.{stream}", "consumers")
    lasting = [info for info in infos if info["config"].get("durable_name")]
    return lasting, len(infos) - len(lasting)


async def create(
    link: Connection, stream: str, infos: list[Json], last_seq: int, replicas: int, work_queue: bool
) -> list[str]:
    """Make those that are not there yet; the names of all that are there now."""
    there = set(await link.pages(f"CONSUMER.NAMES.{stream}", "consumers"))
    names = []
    for info in infos:
        names.append(info["name"])
        if info["name"] not in there:
            config = moved(info, last_seq, replicas, work_queue)
            body = {"stream_name": stream, "config": config}
            await link.api(f"CONSUMER.CREATE.{stream}.{info['name']}", body)
    return names


def moved(info: Json, last_seq: int, replicas: int, work_queue: bool) -> Json:
    """The configuration that makes a consumer go on where it was."""
    config = {**info["config"], "name": info["name"], "metadata": own_metadata(info["config"])}
    if replicas and config.get("num_replicas", 0) > replicas:
        config["num_replicas"] = replicas
    done = position(info)
    if work_queue or not done:
        # What a work queue's consumer is done with is gone, and it may not begin anywhere else.
        return config
    config.pop("opt_start_time", None)
    config["deliver_policy"] = "by_start_sequence"
    config["opt_start_seq"] = min(done, last_seq) + 1
    return config


def position(info: Json) -> int:
    """The last sequence that needs no delivery any more."""
    delivered, floor = info["delivered"], info["ack_floor"]
    if info["config"].get("ack_policy") == "none" or not delivered["consumer_seq"]:
        return int(delivered["stream_seq"])  # before the first delivery: where it would begin
    return int(floor["stream_seq"])
