"""What the image is, and what it is not, seen from a container of the restricted profile with any user of group 0."""

from __future__ import annotations

import json
import re

import pytest

from tests.e2e.conftest import OPERATOR, Built

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

MEGABYTE = 1_000_000


def test_it_is_small_and_tells_its_layers(built: Built) -> None:
    assert built.image.size < 350 * MEGABYTE
    told = re.findall(r"^ +(\d+\.\d) +\d+\.\d  (.+)$", built.log, re.MULTILINE)
    assert sum(size > "0" for size, _ in told) >= len(built.image.layers)
    assert f"digest  {built.image.digest}" in built.log
    assert "pip-audit: " in built.log


def test_it_has_the_configuration_of_the_go_operators_image(built: Built, runtime: str) -> None:
    config = built.store.inspect(runtime)
    assert config["User"] == "1001"
    assert config["WorkingDir"] == "/opt/ansible"
    assert config["Entrypoint"] == [
        "/tini",
        "--",
        "/usr/local/bin/ansible-operator",
        "run",
        "--watches-file=./watches.yaml",
    ]
    variables = dict(one.split("=", 1) for one in config["Env"])
    assert {name: variables[name] for name in ("HOME", "USER_NAME", "USER_UID")} == {
        "HOME": "/opt/ansible",
        "USER_NAME": "ansible",
        "USER_UID": "1001",
    }


def test_every_time_is_the_same(built: Built) -> None:
    assert built.image.config["created"] == "2026-01-01T00:00:00Z"
    newer = "find / -xdev -newermt '2026-01-01 00:00:01Z' ! -type d ! -path '/etc/*' ! -path '/run/*' ! -path '/tmp/*'"
    assert built.store.shell(OPERATOR, newer, user="0:0") == ""


def test_any_user_of_group_0_may_use_it_and_write_only_the_work_volume(built: Built) -> None:
    script = """
        id; grep -E '^(Cap|NoNewPrivs)' /proc/self/status
        for place in / /opt/ansible /opt/ansible/.ansible /etc /usr /opt/venv /var/tmp /run /tmp; do
            if touch "$place/x" 2>/dev/null; then echo "writable $place"; fi
        done
        ansible-operator --help
        ansible-operator version
        ANSIBLE_LOCAL_TEMP=/tmp ansible --version
    """
    said = built.store.shell(OPERATOR, script)
    assert said.startswith("uid=12345 gid=0(root) groups=0(root)\n")
    assert set(re.findall(r"^Cap\w+:\s+(\w+)$", said, re.MULTILINE)) == {"0000000000000000"}
    assert re.search(r"^NoNewPrivs:\s+1$", said, re.MULTILINE)
    assert re.findall(r"^writable (\S+)$", said, re.MULTILINE) == ["/tmp"]
    assert "usage: ansible-operator" in said
    assert "config file = /etc/ansible/ansible.cfg" in said


def test_a_writable_home_belongs_to_its_group(built: Built, runtime: str) -> None:
    """An image of a project is built on it by user 1001; a pod without a read-only root has any user."""
    script = "cd; umask 0; touch a .ansible/a .ansible/tmp/a .ansible/collections/ansible_collections/a; stat -c %g a"
    for user in ("1001:0", "12345:0"):
        inside = ("--rm", f"--user={user}", "--network=none", "--entrypoint=sh", runtime, "-ec", script)
        assert built.store.call("podman", "run", *inside).stdout == "0\n"


def test_nothing_in_it_installs_or_compiles(built: Built) -> None:
    script = """
        for name in gcc cc c++ make ld as pip pip3 ensurepip curl wget git; do command -v "$name" || true; done
        find / -xdev '(' -name pip -o -name 'pip-*' -o -name setuptools -o -name ensurepip ')'
        for python in /opt/venv/bin/python /usr/bin/python3; do
            "$python" -c 'from importlib.util import find_spec; print(find_spec("pip"), find_spec("ensurepip"))'
        done
        ls /var/lib/apt/lists
    """
    said = built.store.shell(OPERATOR, script, user="0:0").splitlines()
    assert said == ["None None", "None None"]


def test_bytecode_is_there_and_does_not_go_stale(built: Built) -> None:
    """Times of files are set when the image is written: what went by them would be compiled in each process."""
    script = "python -v -c 'import ansible.cli.playbook, ansible_operator.app, json' 2>&1 | grep 'code object from'"
    found = built.store.shell(OPERATOR, script).splitlines()
    assert len(found) > 100
    assert [line for line in found if not re.search(r"[.]pyc'?$", line)] == []


def test_what_openshift_content_imports_is_there(built: Built) -> None:
    modules = "openshift.dynamic openshift.helper.userpassauth kubernetes.dynamic requests_oauthlib yaml"
    script = f'for name in {modules}; do python -c "import $name"; done; echo all'
    assert built.store.shell(OPERATOR, script) == "all\n"


def test_only_the_needed_collections_are_there(built: Built) -> None:
    said = built.store.shell(OPERATOR, "cd /opt/ansible/.ansible/collections/ansible_collections; ls -d */*")
    assert said == "kubernetes/core\n"


def test_process_1_takes_in_the_orphans(built: Built) -> None:
    script = """
        sh -c 'sleep 0.1 & echo $! >/tmp/orphan'
        orphan=$(cat /tmp/orphan)
        for _ in $(seq 600); do [ -e "/proc/$orphan" ] || exit 0; sleep 0.1; done
        cat "/proc/$orphan/stat"
        exit 1
    """
    assert built.store.shell(OPERATOR, f"readlink /proc/1/exe; {script}", user="0:0") == "/tini\n"


def test_the_bill_of_materials_is_in_it(built: Built) -> None:
    script = "cat /usr/share/sbom/ansible-operator.cdx.json"
    listed = {one["name"]: one for one in json.loads(built.store.shell(OPERATOR, script))["components"]}
    assert {"ansible-core", "ansible-operator", "kubernetes", "openshift", "kubernetes.core", "libc6"} <= set(listed)
    assert "pip" not in listed
