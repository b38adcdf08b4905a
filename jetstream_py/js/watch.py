"""What is there, a mark, and then what changes."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import Generic, Self, TypeVar

from jetstream_py.js.reader import Reader
from jetstream_py.js.types import Message

T = TypeVar("T")


class Watcher(Generic[T]):
    """An asynchronous iterator, used with `async with`.

    It yields what messages mean, and None once: all that was there when the watch began has been told. With
    `updates_only` there is no None, because nothing was to be told.
    """

    def __init__(
        self, reader: Reader, meaning: Callable[[Message], T | None], updates_only: bool = False
    ) -> None:
        """A message whose meaning is None is passed over."""
        self._reader = reader
        self._meaning = meaning
        self._told = updates_only

    async def __aenter__(self) -> Self:
        await self._reader.__aenter__()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> T | None:
        while not self._reader.closed:
            if not self._told and not self._reader.left:
                self._told = True
                return None
            message = await self._reader.step()
            found = None if message is None else self._meaning(message)
            if found is not None:
                return found
        raise StopAsyncIteration

    async def close(self) -> None:
        await self._reader.close()
