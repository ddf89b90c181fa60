from __future__ import annotations

from pathlib import Path

import pytest

from ansible_operator.runner.worker.stateless import is_stateless


@pytest.mark.parametrize(
    "source",
    [
        "import re\nX = re.compile('a')\ndef f(x):\n    return X.match(x)\n",
        "NAMES = ['a']\ndef f(x):\n    out = []\n    out.append(x)\n    return out + NAMES\n",
        "class FilterModule:\n    def filters(self):\n        return {'f': lambda x: x}\n",
        "from dataclasses import dataclass\n@dataclass(frozen=True)\nclass A:\n    x: int\n",
    ],
)
def test_keeps_nothing(tmp_path: Path, source: str) -> None:
    file = tmp_path / "f.py"
    file.write_text(source)
    assert is_stateless(str(file))


@pytest.mark.parametrize(
    "source",
    [
        "seen = []\ndef f(x):\n    seen.append(x)\n",
        "seen = {}\ndef f(x):\n    seen[x] = 1\n",
        "n = 0\ndef f(x):\n    global n\n    n += 1\n",
        "import functools\n@functools.lru_cache\ndef f(x):\n    return x\n",
        "from functools import cache\n@cache\ndef f(x):\n    return x\n",
        "def f(x, seen=[]):\n    return seen\n",
        "def f(x):\n    f.calls = 1\n",
        "class A:\n    seen = []\n    def f(self, x):\n        self.seen.append(x)\n",
        "import itertools\nc = itertools.count()\ndef f(x):\n    return next(c)\n",
        "import sys\ndef f(x):\n    sys.modules['x'] = x\n",
        "def f(:\n",
    ],
)
def test_may_keep_something(tmp_path: Path, source: str) -> None:
    file = tmp_path / "f.py"
    file.write_text(source)
    assert not is_stateless(str(file))
