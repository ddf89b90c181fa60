"""Pure data and pure functions: what the runtime talks about. No I/O, no clock of its own, no asyncio."""
