from __future__ import annotations

import logging
import os
import random
import signal
import sys
from pathlib import Path

import pytest

from ansible_operator.runner.worker.isolation import preserved


def test_everything_is_as_before(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("STAYS", "1")
    environment, directory, path = dict(os.environ), Path.cwd(), list(sys.path)
    mask = os.umask(0o022)
    handler = signal.getsignal(signal.SIGALRM)
    root = logging.getLogger()
    level, handlers = root.level, list(root.handlers)
    with preserved():
        os.environ["STAYS"] = "2"
        os.environ["NEW"] = "1"
        del os.environ["PATH"]
        os.chdir(tmp_path)
        os.umask(0)
        sys.path.insert(0, "/x")
        signal.signal(signal.SIGALRM, lambda *_: None)
        signal.alarm(100)
        root.setLevel(logging.DEBUG)
        root.addHandler(logging.NullHandler())
        logging.getLogger("brand.new").setLevel(logging.ERROR)
        random.seed(1)
    assert (dict(os.environ), Path.cwd(), sys.path) == (environment, directory, path)
    assert os.umask(mask) == 0o022
    assert signal.getsignal(signal.SIGALRM) is handler
    assert signal.alarm(0) == 0
    assert (root.level, root.handlers) == (level, handlers)
    assert logging.getLogger("brand.new").level == logging.NOTSET
    assert random.random() != random.Random(1).random()


def test_after_an_error_too(tmp_path: Path) -> None:
    directory = Path.cwd()
    with pytest.raises(ValueError, match="x"), preserved():
        os.chdir(tmp_path)
        raise ValueError("x")
    assert Path.cwd() == directory
