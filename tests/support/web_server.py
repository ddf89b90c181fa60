"""A web application on loopback while a test goes on."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from threading import Thread

from aiohttp import web

from tests.support.waiting import PATIENCE


@contextmanager
def serving_application(application: web.Application, context: ssl.SSLContext | None = None) -> Iterator[int]:
    """Its port; in a thread of its own. Handlers that still run at the end are cancelled."""
    ready: Future[int] = Future()
    loop = asyncio.new_event_loop()
    stop = asyncio.Event()

    async def serve() -> None:
        runner = web.AppRunner(application, shutdown_timeout=0.1)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context)
        await site.start()
        ready.set_result(runner.addresses[0][1])
        await stop.wait()
        await runner.cleanup()
        handlers = asyncio.all_tasks() - {asyncio.current_task()}
        for handler in handlers:
            handler.cancel()  # one whose client has gone is not cancelled by the clean-up
        await asyncio.gather(*handlers, return_exceptions=True)
        await asyncio.sleep(0)  # connections are closed a turn later

    thread = Thread(target=loop.run_until_complete, args=(serve(),), daemon=True)
    thread.start()
    try:
        yield ready.result(PATIENCE)
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join()
        loop.close()
