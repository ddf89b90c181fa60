"""The rules of action `diagnose`: what a language model is asked, and what of its answer is believed. Pure, like those
around them.

    settings   what spec.diagnose says
    evidence   numbered sentences out of what the role read (`pods`), each redacted (`redact`, `patterns`)
    prompt     the request; `question` binds it to its cache key
    answer     the server's envelope, `decision` the model's object in it
    verdict    the action that is done: the model's, or the fallback with its reason
    usage      the daily budget

Data goes down this list only. A model advises; that its advice may be followed is decided by the same gates as for any
action.
"""

from ..model import Diagnose
from .evidence import collect, redactor_for
from .pods import log_source
from .question import Question, ask
from .settings import Facts, parse_diagnose
from .usage import Usage, read_usage
from .verdict import DIAGNOSED, Verdict, cached, judge, refuse, render_diagnosis, standing, with_choice

__all__ = [
    "DIAGNOSED",
    "Diagnose",
    "Facts",
    "Question",
    "Usage",
    "Verdict",
    "ask",
    "cached",
    "collect",
    "judge",
    "log_source",
    "parse_diagnose",
    "read_usage",
    "redactor_for",
    "refuse",
    "render_diagnosis",
    "standing",
    "with_choice",
]
