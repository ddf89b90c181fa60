"""A task on a query of a real Prometheus: what the stand-in of the other tests was taken from.

Not part of `make test`: it needs the program, from the PATH, from $PROMETHEUS, or from Debian's package, which is
fetched once and only unpacked (no rights are needed for that).
"""

import json
import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import quote
from urllib.request import urlopen

import pytest
import yaml
from aitask_rules.prometheus import query_sample
from aitask_rules.providers import query_url
from aitask_rules.spec import parse_spec
from aitask_rules.values import format_value

from tests.roles.aitask_lab import Lab
from tests.support.providers import serving
from tests.support.waiting import until

pytestmark = [pytest.mark.prometheus, pytest.mark.slow]

CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "aitask-operator" / "prometheus"


def program() -> str:
    """Where it is. Fails, and says how to get it, where it is not to be had."""
    known = os.environ.get("PROMETHEUS") or shutil.which("prometheus")
    unpacked = CACHE / "usr" / "bin" / "prometheus"
    if not known and not unpacked.exists():
        with tempfile.TemporaryDirectory() as directory:
            done = subprocess.run(
                ["apt-get", "download", "prometheus"], cwd=directory, capture_output=True, text=True, check=False
            )
            assert done.returncode == 0, f"no prometheus; put it on the PATH or name it in $PROMETHEUS: {done.stderr}"
            package = next(Path(directory).glob("prometheus_*.deb"))
            subprocess.run(["dpkg-deb", "-x", str(package), str(CACHE)], check=True)
    return known or str(unpacked)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def ask(url: str, query: str) -> Any:
    try:
        with urlopen(f"{url}/api/v1/query?query={quote(query)}", timeout=5) as answer:
            return json.load(answer)["data"]["result"]
    except (URLError, ConnectionError):
        return []


@pytest.fixture
def prometheus(tmp_path: Path) -> Iterator[str]:
    """Its URL, once it has scraped itself and a target with the gauge `queue_length 93`."""
    with serving() as target:
        target.exposition = "# TYPE queue_length gauge\nqueue_length 93\n"
        jobs = [
            {"job_name": "queue", "static_configs": [{"targets": [f"127.0.0.1:{target.port}"]}]},
            {"job_name": "self", "static_configs": [{"targets": [f"127.0.0.1:{(port := free_port())}"]}]},
        ]
        file = tmp_path / "prometheus.yml"
        file.write_text(yaml.safe_dump({"global": {"scrape_interval": "1s"}, "scrape_configs": jobs}))
        url, log = f"http://127.0.0.1:{port}", tmp_path / "prometheus.log"
        flags = [f"--config.file={file}", f"--storage.tsdb.path={tmp_path / 'tsdb'}", f"--web.listen-address={url[7:]}"]
        with log.open("wb") as output, subprocess.Popen([program(), *flags], stdout=output, stderr=output) as process:
            try:
                until(lambda: len(ask(url, "up == 1")) == 2 and ask(url, "queue_length"), "both are scraped", 60)
                yield url
            finally:
                process.terminate()


def said(url: str, query: str) -> tuple[str, str | None, str]:
    """What the rules make of Prometheus' own answer: reason, value and message."""
    provider = {"url": url, "allowedNamespaces": ["ns"]}
    config = json.dumps({"providers": {"prometheus": {"default": provider}}})
    metric = {"type": "Prometheus", "prometheus": {"query": query}}
    spec = parse_spec({"targetDeployment": "web", "threshold": 80, "action": "scale-up", "metric": metric})
    try:
        with urlopen(query_url(url, query), timeout=5) as answer:
            status, body = answer.status, answer.read()
    except HTTPError as refusal:
        status, body = refusal.code, refusal.read()
    configuration = {"resources": [{"data": {"config.yaml": config}}]}
    reads = {"configuration": configuration, "answer": {"status": status, "body": body.decode()}}
    sample = query_sample(spec, "ns", reads)
    return sample.reason, None if sample.value is None else format_value(sample.value), sample.message


def test_a_task_on_queries_of_a_real_prometheus(
    lab: Lab, prometheus: str, write_configuration: Callable[[Any], None]
) -> None:
    queries = {
        "queue_length_of_nobody": ("NoData", None),
        "up": ("AmbiguousResult", None),
        "scalar(queue_length_of_nobody)": ("NotANumber", None),
        "1 / 0": ("NotANumber", None),
        '"text"': ("NotANumber", None),
        "queue_length[1m]": ("AmbiguousResult", None),
        "sum(": ("NoData", None),
        "up + on() up": ("NoData", None),
        "queue_length * 0": ("Sampled", "0"),
        "-queue_length / 3": ("Sampled", "-31"),
        "scalar(queue_length)": ("Sampled", "93"),
    }
    assert {query: said(prometheus, query)[:2] for query in queries} == queries
    assert "parse error" in said(prometheus, "sum(")[2]
    assert "duplicate series" in said(prometheus, "up + on() up")[2]

    provider = {"url": prometheus, "allowedNamespaces": [lab.namespace]}
    write_configuration({"providers": {"prometheus": {"default": provider}}})
    lab.task(metric={"type": "Prometheus", "prometheus": {"query": "queue_length"}})
    lab.run()
    assert lab.condition("MetricsAvailable") == ("True", "Sampled")
    assert lab.get("deployment", "web")["spec"]["replicas"] == 4
