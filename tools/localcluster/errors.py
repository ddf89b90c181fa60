"""Every foreseen fault, as one line that a person can act on. No behaviour here.

ClusterError
├── BuildError        a program is missing and could not be built
├── StartError        a component did not come up, or not in time
├── NotRunningError   there is no ready cluster in that directory
└── ApiError          the API server refused a request (carries the HTTP status)
"""


class ClusterError(Exception):
    """The root: its text is meant to be shown as it is."""


class BuildError(ClusterError):
    """A program is missing and could not be built."""


class StartError(ClusterError):
    """A component did not come up, or not in time."""


class NotRunningError(ClusterError):
    """There is no ready cluster in that directory."""


class ApiError(ClusterError):
    """The API server refused a request."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status
