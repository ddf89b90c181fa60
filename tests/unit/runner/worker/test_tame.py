from __future__ import annotations

from pathlib import Path

import pytest

from ansible_operator.runner.worker.tame import are_tame, is_tame


@pytest.mark.parametrize(
    "source",
    [
        "def f(resource, locale):\n    kill = resource.abort\n    return kill(locale)\n",
        "import os\ndef f(x):\n    return os.path.join(x, os.environ.get('HOME', ''))\n",
        "import os, sys\nsys.path.insert(0, os.path.dirname(__file__))\nsys.path[:] = sys.path\n",
        "from os import path\nimport json\ndef f(x):\n    return path.exists(x) == json.dumps(x)\n",
        "import re\nif re.escape == 1: pass\nclass A:\n    def f(self):\n        self.x = 1\n",
        "import signal, logging\nsignal.alarm(1)\nlogging.disable(1)\n",
        "from threadings import x\nimport my_threading\n",
    ],
)
def test_tame(tmp_path: Path, source: str) -> None:
    file = tmp_path / "f.py"
    file.write_text(source)
    assert is_tame(str(file))


@pytest.mark.parametrize(
    "source",
    [
        "import os\ndef f():\n    os._exit(1)\n",
        "from os import _exit as leave\n",
        "from os import (\n    kill,\n)\n",
        "import os as o\no.kill(1, 9)\n",
        "import os\nos.kill(os.getpid(), 9)\n",
        "import sys\ndef f():\n    sys.exit(1)\n",
        "def f():\n    raise SystemExit(3)\n",
        "def f():\n    exit()\n",
        "    import threading\n",
        "import json, threading\n",
        "import json as j, concurrent.futures\n",
        "from multiprocessing import Pool\n",
        "from concurrent.futures import ThreadPoolExecutor\n",
        "import ctypes.util\n",
        "import fcntl\n",
        "import json\njson.dumps = None\n",
        "import time\ntime.tzset()\n",
        "import decimal\ndecimal.getcontext().prec = 2\n",
        "import a.b\na.b.c += 1\n",
        "import kept\ndef f(x):\n    kept.SEEN.append(x)\n",
        "def f(x):\n    return eval(x)\n",
        "m = __import__('threading')\n",
        "import string\nsetattr(string, 'digits', '')\n",
    ],
)
def test_wild(tmp_path: Path, source: str) -> None:
    file = tmp_path / "f.py"
    file.write_text(source)
    assert not is_tame(str(file))


def test_a_file_that_is_changed_is_looked_at_again(tmp_path: Path) -> None:
    file = tmp_path / "f.py"
    file.write_text("x = 1\n")
    assert is_tame(str(file))
    file.unlink()
    file.write_text("import threading\n")
    assert not is_tame(str(file))


def test_one_is_enough(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1\n")
    (tmp_path / "notes.txt").write_text("import threading\n")
    assert are_tame(str(tmp_path))
    (tmp_path / "b.py").write_text("import threading\n")
    assert not are_tame(str(tmp_path))


def test_what_cannot_be_read_is_not_trusted(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_bytes(b"\xff\xfe")
    assert not are_tame(str(tmp_path))
    assert are_tame(str(tmp_path / "none"))
