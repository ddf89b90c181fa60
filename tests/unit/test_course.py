"""Whether other tests have run before: sessions of their own, in which the last test asks."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CONFTEST = f"""
import sys
sys.path.insert(0, {str(ROOT)!r})
from tests.support.course import Course
def pytest_configure(config):
    config.pluginmanager.register(Course(), "course")
    config.addinivalue_line("markers", "other: part of another run")
"""
FILES = {
    "conftest.py": CONFTEST,
    "test_a.py": "import pytest\ndef test_one(): pass\ndef test_two(): pass\n"
    "@pytest.mark.other\ndef test_other(): pass",
    "test_b.py": "import os, pytest\ndef test_three(): assert 'FAILS' not in os.environ\n"
    "def test_four(): pytest.skip('not on this machine')",
    "test_judge.py": """
from pathlib import Path
def test_judge(request):
    files = [path for path in Path(__file__).parent.glob("test_*.py") if path.name != "test_judge.py"]
    course = request.config.pluginmanager.get_plugin("course")
    print("lacks:", course.lacks(request.session, files, lambda item: not item.get_closest_marker("other")))
""",
}


@pytest.mark.parametrize(
    ("arguments", "lacks"),
    [
        (".", ""),
        (". -m not\tother", ""),
        ("test_judge.py", "test_a.py is no part of this run, and 1 more"),
        (". --ignore=test_b.py", "test_b.py is no part of this run"),
        ("test_a.py::test_one test_b.py test_judge.py", "test_a.py::test_one was asked for, and not all"),
        (". -k judge", "test_a.py::test_one has not run before, and 3 more"),
        (". --deselect=test_a.py::test_two", "test_a.py::test_two has not run before"),
        ("test_judge.py test_a.py test_b.py", "test_a.py::test_one has not run before, and 3 more"),
        (". FAILS", "test_b.py::test_three has failed"),
    ],
)
def test_what_has_not_run_before_is_named(tmp_path: Path, arguments: str, lacks: str) -> None:
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    words = [word.replace("\t", " ") for word in arguments.split(" ")]
    # No plugins of others: they are of no use here, and take most of the time.
    environment = {"PATH": "", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", **({"FAILS": "1"} if "FAILS" in words else {})}
    chosen = [word for word in words if word != "FAILS"]
    command = [sys.executable, "-m", "pytest", "-s", "-q", "-p", "no:cacheprovider", "--rootdir=.", *chosen]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    told = [text for line in done.stdout.splitlines() for _, mark, text in [line.partition("lacks:")] if mark]
    assert told == [f" {lacks}"], done.stdout + done.stderr
