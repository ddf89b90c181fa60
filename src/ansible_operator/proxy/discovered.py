"""Discovery answered from memory: what one run was told is told to all, until the API server serves something else.

Its version as well, for which every client of a play asks once; one that asks again waits for another.
"""

from __future__ import annotations

import re

from aiohttp import web

from ansible_operator.kube.discovery import Discovery, Document
from ansible_operator.model.errors import ApiError
from ansible_operator.proxy.grants import Session
from ansible_operator.proxy.requestinfo import Target

_VERSION = "/version"
_PATH = re.compile(rf"{_VERSION}|/api(/v1)?|/apis(/[a-z0-9.-]+(/v[a-z0-9]+)?)?")
_MAX_ACCEPT = 512


class Discovered:
    """Answers requests for lists of groups, versions and kinds, in any representation, and for the server's version."""

    def __init__(self, discovery: Discovery) -> None:
        self._discovery = discovery

    async def find(self, request: web.BaseRequest, target: Target, session: Session) -> Document | None:
        """The answer to a GET, or None where the API server has to be asked: it may refuse, and says how itself.

        A run that asks twice has missed something in the first answer, perhaps a kind that is new; unless changes are
        told to us, the API server is asked then.
        """
        accept = ",".join(request.headers.getall("Accept", ()))
        if (
            not _PATH.fullmatch(target.raw.partition("?")[0])
            or not target.query.keys() <= {"timeout"}
            or len(accept) > _MAX_ACCEPT
            or any(name.lower().startswith("impersonate-") for name in request.headers)
        ):
            return None
        asked = f"{target.path} {accept}"
        told_of_changes = target.path != _VERSION and self._discovery.served.watched()
        fresh = asked in session.discovered and not told_of_changes
        session.discovered.add(asked)
        try:
            return await self._discovery.document(target.path, accept or "*/*", fresh=fresh)
        except ApiError:
            return None
