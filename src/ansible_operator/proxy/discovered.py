"""Discovery answered from memory: what one run was told is told to all, until the API server serves something else."""

from __future__ import annotations

import re

from aiohttp import web

from ansible_operator.kube.discovery import Discovery, Document
from ansible_operator.model.errors import ApiError
from ansible_operator.proxy.grants import Session
from ansible_operator.proxy.requestinfo import Target

_PATH = re.compile(r"/api(/v1)?|/apis(/[a-z0-9.-]+(/v[a-z0-9]+)?)?")
_MAX_ACCEPT = 512


class Discovered:
    """Answers requests for the lists of groups, versions and kinds, in whatever representation they are asked for."""

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
        fresh = asked in session.discovered and not self._discovery.served.watched()
        session.discovered.add(asked)
        try:
            return await self._discovery.document(target.path, accept or "*/*", fresh=fresh)
        except ApiError:
            return None
