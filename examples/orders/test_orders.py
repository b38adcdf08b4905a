"""The service, with a server of its own for each test."""

from __future__ import annotations

from collections.abc import AsyncIterator

import nats
import pytest
import pytest_asyncio
from nats.aio.client import Client
from orders import ACK_WAIT, RESERVED, RETRY_AFTER, TRIES, Orders, Refused

from jetstream_py import ManualClock, Server
from jetstream_py.embed import Faults

anywhere = pytest.mark.anywhere


class Carrier:
    """Remembers what it was given, and says no as often as it is told."""

    def __init__(self, refuses: int = 0) -> None:
        self.refuses = refuses
        self.got: list[tuple[str, bytes]] = []

    async def __call__(self, number: str, item: bytes) -> None:
        if self.refuses:
            self.refuses -= 1
            raise Refused
        self.got.append((number, item))


@pytest_asyncio.fixture
async def nc(nats_url: str) -> AsyncIterator[Client]:
    connection = await nats.connect(nats_url, name="orders", reconnect_time_wait=0.01)
    yield connection
    await connection.close()


@pytest_asyncio.fixture
async def orders(nc: Client) -> Orders:
    return await Orders(nc).setup()


# -- with any server -------------------------------------------------------------------------------


@anywhere
async def test_an_order_is_shipped(orders: Orders) -> None:
    carrier = Carrier()
    assert await orders.place("1", b"piano")
    assert await orders.ship(carrier) == "1"
    assert carrier.got == [("1", b"piano")]
    assert await orders.waiting() == 0


@anywhere
async def test_orders_are_shipped_in_order(orders: Orders) -> None:
    carrier = Carrier()
    for number in ("1", "2", "3"):
        await orders.place(number, b"chair")
    assert [await orders.ship(carrier) for _ in range(3)] == ["1", "2", "3"]


@anywhere
async def test_an_order_that_is_placed_twice_counts_once(orders: Orders) -> None:
    assert await orders.place("1", b"piano")
    assert not await orders.place("1", b"piano")
    assert await orders.waiting() == 1


@anywhere
async def test_nothing_to_ship(orders: Orders) -> None:
    assert await orders.ship(Carrier(), wait=0.01) is None


@anywhere
async def test_a_refused_order_stays(orders: Orders) -> None:
    await orders.place("1", b"piano")
    assert await orders.ship(Carrier(refuses=1)) == "1"
    assert await orders.waiting() == 1


@anywhere
async def test_others_are_shipped_meanwhile(orders: Orders) -> None:
    carrier = Carrier(refuses=1)
    await orders.place("1", b"piano")
    await orders.place("2", b"chair")
    assert [await orders.ship(carrier), await orders.ship(carrier)] == ["1", "2"]
    assert carrier.got == [("2", b"chair")]


@anywhere
async def test_shipping_is_told(nc: Client, orders: Orders) -> None:
    told = await nc.subscribe("orders.shipped.*")
    await orders.place("1", b"piano")
    await orders.ship(Carrier())
    assert (await told.next_msg(timeout=1)).subject == "orders.shipped.1"


@anywhere
async def test_settings(nc: Client, orders: Orders) -> None:
    assert await orders.setting("carrier", "post") == "post"
    bucket = await nc.jetstream().key_value("settings")
    await bucket.put("carrier", b"pigeon")
    assert await orders.setting("carrier", "post") == "pigeon"


@anywhere
async def test_goods_are_reserved_once(orders: Orders) -> None:
    assert await orders.reserve("piano", "ada")
    assert not await orders.reserve("piano", "bob")
    assert await orders.reserve("chair", "bob")


@anywhere
async def test_setup_may_come_again(nc: Client, orders: Orders) -> None:
    await orders.place("1", b"piano")
    again = await Orders(nc).setup()
    assert await again.ship(Carrier()) == "1"


# -- with this one: time ---------------------------------------------------------------------------


async def test_a_refused_order_is_tried_again_a_minute_later(
    nats_clock: ManualClock, orders: Orders
) -> None:
    carrier = Carrier(refuses=1)
    await orders.place("1", b"piano")
    await orders.ship(carrier)
    await nats_clock.advance(RETRY_AFTER - 1)
    assert await orders.ship(carrier, wait=0.01) is None
    await nats_clock.advance(1)
    assert await orders.ship(carrier) == "1"
    assert carrier.got == [("1", b"piano")]


async def test_an_order_is_given_up(
    nats_server: Server, nats_clock: ManualClock, orders: Orders
) -> None:
    carrier = Carrier(refuses=TRIES)
    await orders.place("1", b"piano")
    for _ in range(TRIES):
        assert await orders.ship(carrier) == "1"
        await nats_clock.advance(RETRY_AFTER)
    assert await orders.waiting() == 0
    nats_server.assert_published("orders.failed.1", b"piano", count=1)
    nats_server.assert_not_published("orders.shipped.*")


async def test_the_order_of_a_worker_that_dies_goes_to_another(
    nats_clock: ManualClock, orders: Orders
) -> None:
    async def dies(number: str, item: bytes) -> None:
        raise RuntimeError("out of petrol")

    await orders.place("1", b"piano")
    with pytest.raises(RuntimeError, match="petrol"):
        await orders.ship(dies)
    await nats_clock.advance(ACK_WAIT)
    assert await orders.ship(Carrier()) == "1"


async def test_reservations_end(nats_clock: ManualClock, orders: Orders) -> None:
    await orders.reserve("piano", "ada")
    await nats_clock.advance(RESERVED + 1)
    assert await orders.reserve("piano", "bob")


# -- with this one: faults -------------------------------------------------------------------------


async def test_a_lost_answer_does_not_make_a_second_order(
    nats_faults: Faults, orders: Orders
) -> None:
    nats_faults.drop("pub_acks", stream="ORDERS", count=1)
    with pytest.raises(nats.errors.TimeoutError):
        await orders.place("1", b"piano", timeout=0.05)
    assert not await orders.place("1", b"piano")
    assert await orders.waiting() == 1


async def test_a_lost_delivery_comes_again(
    nats_clock: ManualClock, nats_faults: Faults, orders: Orders
) -> None:
    nats_faults.drop("deliveries", consumer="shipping", count=1)
    await orders.place("1", b"piano")
    assert await orders.ship(Carrier(), wait=0.05) is None
    await nats_clock.advance(ACK_WAIT)
    assert await orders.ship(Carrier()) == "1"


@pytest.mark.nats_server(store="tmp")
async def test_orders_outlast_the_server(nats_server: Server, orders: Orders) -> None:
    await orders.place("1", b"piano")
    await nats_server.kill()
    await nats_server.restart()
    nc = await nats.connect(nats_server.url)
    again = await Orders(nc).setup()
    assert await again.ship(Carrier()) == "1"
    await nc.close()


async def test_what_was_acked(nats_server: Server, orders: Orders) -> None:
    await orders.place("1", b"piano")
    await orders.ship(Carrier())
    nats_server.assert_acked("ORDERS", "shipping", count=1)
    nats_server.assert_published("orders.new.1", b"piano", headers={"Nats-Msg-Id": "1"})
