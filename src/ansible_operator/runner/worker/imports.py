"""Which modules Python has imported since an earlier moment, and whether one has gone since.

To go through all of ``sys.modules`` writes to the reference count of each name and module, and so copies the memory
in which they lie for each run anew: an eighth of all that a run copies. What is new stands at its end.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from itertools import islice
from types import ModuleType
from typing import NamedTuple

_FAR = 64
"""How far from the end the newest known module is looked for."""


class Moment(NamedTuple):
    """What was imported then: the first ``size`` of ``modules``."""

    modules: dict[str, ModuleType]
    size: int


class Imports:
    """``known``: all that was imported when it was last looked at, in the order of their discovery."""

    def __init__(self) -> None:
        self._known: dict[str, ModuleType] = {}

    def moment(self) -> Moment:
        """Now."""
        self._look()
        return Moment(self._known, len(self._known))

    def since(self, then: Moment) -> list[str]:
        """The names that were not there, in no order."""
        self._look()
        if self._known is then.modules:
            return list(islice(reversed(self._known), len(self._known) - then.size))
        return list(sys.modules.keys() - set(islice(then.modules, then.size)))

    def remove(self, names: Iterable[str]) -> None:
        """Take modules out, so that they are imported anew."""
        for name in names:
            sys.modules.pop(name, None)
            self._known.pop(name, None)

    def put_back(self, then: Moment) -> None:
        """All that were there are there again, if one is not, or was not at any look since."""
        self._look()
        if self._known is not then.modules:
            sys.modules.update(islice(then.modules.items(), then.size))
            self._look()

    def _look(self) -> None:
        """Where a known module has gone, ``_known`` is made anew, and is no longer that of any earlier moment."""
        new = self._new()
        if new is None:
            self._known = dict(sys.modules)
        else:
            self._known.update((name, sys.modules[name]) for name in reversed(new))

    def _new(self) -> list[str] | None:
        """Names that are not known, the latest first; None where a known one has gone.

        A module that is loaded once more moves to the end, so the newest known one need not be the first to be met.
        """
        count, newest, met = len(sys.modules) - len(self._known), next(reversed(self._known), None), False
        new: list[str] = []
        for name in list(islice(reversed(sys.modules), max(0, count) + _FAR)):  # at once: others may import meanwhile
            if name not in self._known:
                new.append(name)
            met = met or name == newest
            if len(new) > count:
                return None
            if met and len(new) == count:
                return new
        return None


IMPORTS = Imports()
"""Those of this process."""
