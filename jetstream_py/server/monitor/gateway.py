"""The seam to whatever else is served on the monitoring port: requests below a prefix go there whole."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    from aiohttp import web

PREFIX: Final = "/v1/"


class HttpGateway(Protocol):
    """What the composition root gives to the monitoring port, if the configuration asks for it."""

    async def handle(self, request: web.BaseRequest, target: str) -> web.StreamResponse:
        """Answer a request; `target` is its path and query, without the base path."""
        ...

    def end_watches(self) -> None:
        """End what would go on for ever. Who still may comes again."""
        ...


MakeGateway = Callable[[], HttpGateway]  # called when aiohttp is there
