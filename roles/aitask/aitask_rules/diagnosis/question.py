"""One question: the evidence, what is sent, and the key under which the answer is kept."""

import json
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256

from ..config import Provider
from ..model import Diagnose
from .evidence import collect, redactor_for
from .prompt import VERSION, bodies
from .redact import Redactor
from .settings import Facts

_BYTES_OF_A_TOKEN = 4


@dataclass(frozen=True)
class Question:
    """`body` is sent, `otherwise` once in its place where the server knows no `response_format`. Both are JSON."""

    key: str
    """64 hexadecimal digits: status.diagnosis.evidenceHash. The same means that nothing new could be answered."""
    evidence: tuple[str, ...]
    body: str
    otherwise: str
    seconds: float
    turn: str
    """Whose turn it is: one question at a time to one server."""
    breaker: str
    """Whose failures count together: model and credential too, for one may be refused where another is not."""
    reserve: int
    """Tokens that it is taken to cost where nobody says: a quarter of its bytes, and the longest answer."""
    redactor: Redactor

    @cached_property
    def ids(self) -> frozenset[str]:
        return frozenset(line.partition(" ")[0] for line in self.evidence)

    def as_plan(self) -> dict[str, object]:
        """What the task that sends it needs."""
        return {
            "body": self.body, "otherwise": self.otherwise, "seconds": self.seconds, "turn": self.turn,
            "breaker": self.breaker,
        }  # fmt: skip


def ask(diagnose: Diagnose, facts: Facts, provider: Provider) -> Question:
    """The same facts give the same question."""
    redactor = redactor_for(facts)
    evidence = collect(facts, redactor)
    body, otherwise = bodies(provider.model, diagnose.max_tokens, diagnose.allowed, evidence)
    known = json.dumps([VERSION, provider.url, provider.model, diagnose.allowed, diagnose.max_tokens, evidence])
    return Question(
        key=sha256(known.encode()).hexdigest(),
        evidence=evidence,
        body=body,
        otherwise=otherwise,
        seconds=diagnose.timeout,
        turn=provider.url,
        breaker=" ".join([provider.url, provider.model, provider.secret, provider.key]),
        reserve=-(-len(body.encode()) // _BYTES_OF_A_TOKEN) + diagnose.max_tokens,
        redactor=redactor,
    )
