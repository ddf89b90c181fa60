"""Every error that the runtime raises on purpose.

::

    OperatorError
    ├── ConfigError            what the user wrote cannot be used; holds every fault, not only the first
    ├── StartError             the world does not let us start: port in use, no cluster, no permission
    ├── RunError               a run could not be started (never: a play that failed, that is an outcome)
    └── ApiError               the API server said no
        ├── Unauthorized       401
        ├── Forbidden          403
        ├── NotFound           404
        ├── Conflict           409
        ├── Gone               410
        ├── Invalid            422
        ├── TooManyRequests    429
        └── Unavailable        5xx, or no answer at all (status 0)

Foreign errors are translated where they are met and kept as the cause.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


class OperatorError(Exception):
    """Base of all errors below."""


class StartError(OperatorError):
    """The operator cannot start. The text is one line for a person, with the cure."""


class RunError(OperatorError):
    """A run could not be started."""


@dataclass(frozen=True, order=True)
class Fault:
    """One thing that is wrong in a file: where, what, and what to do about it.

    Line 0 stands for the file as a whole.
    """

    line: int
    field: str
    problem: str
    cure: str

    def __str__(self) -> str:
        where = f"line {self.line}: " if self.line else ""
        return f"{where}{self.field}: {self.problem}; {self.cure}"


class ConfigError(OperatorError):
    """A file of the user cannot be used.

    ``source`` names the file, ``faults`` lists everything that is wrong with it.
    """

    def __init__(self, source: str, faults: Sequence[Fault]) -> None:
        self.source = source
        self.faults = tuple(sorted(faults))
        count = "1 fault" if len(self.faults) == 1 else f"{len(self.faults)} faults"
        super().__init__("\n".join([f"{source}: {count}", *(f"  {fault}" for fault in self.faults)]))


class ApiError(OperatorError):
    """The API server refused a request.

    ``status`` is the HTTP code (0: no answer), ``reason`` the machine word of the ``Status`` object,
    ``retry_after`` the seconds the server asked us to wait, if it did.
    """

    def __init__(self, status: int, reason: str, message: str, retry_after: float | None = None) -> None:
        super().__init__(f"{status} {reason}: {message}" if status else message)
        self.status = status
        self.reason = reason
        self.message = message
        self.retry_after = retry_after

    @staticmethod
    def of(status: int, reason: str, message: str, retry_after: float | None = None) -> ApiError:
        """The error class that ``status`` calls for."""
        if status == 0 or status >= 500:
            return Unavailable(status, reason, message, retry_after)
        return _BY_STATUS.get(status, ApiError)(status, reason, message, retry_after)


class Unauthorized(ApiError):
    """401: the credentials are missing or no longer valid."""


class Forbidden(ApiError):
    """403: RBAC, admission or a terminating namespace."""


class NotFound(ApiError):
    """404: no such object, or no such kind."""


class Conflict(ApiError):
    """409: the object has changed since it was read."""


class Gone(ApiError):
    """410: the resource version is no longer in the server's history; list again."""


class Invalid(ApiError):
    """422: the object breaks its schema."""


class TooManyRequests(ApiError):
    """429: wait ``retry_after`` seconds."""


class Unavailable(ApiError):
    """5xx, or the connection failed."""


_BY_STATUS: dict[int, type[ApiError]] = {
    401: Unauthorized,
    403: Forbidden,
    404: NotFound,
    409: Conflict,
    410: Gone,
    422: Invalid,
    429: TooManyRequests,
}
