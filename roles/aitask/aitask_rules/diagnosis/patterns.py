"""What must not leave the cluster, as it looks in text that nobody has marked: credentials, addresses, people.

One table of (kind, pattern), tried in this order; the group `it`, else the whole match, is what is replaced. What has a
form is found by its form, what has a name before it (`password=`) by that name, and the rest by looking random
(`is_random`), or by the command before it (`curl -u`). A short secret in the middle of a sentence, `the password is
rosebud`, has nothing of that, nor has one on the line after its name.
"""

import re
from collections.abc import Iterator
from functools import cache
from itertools import pairwise

_NAMES = (
    r"(?:pass(?:word|wd|phrase)|passwd|secret(?: key)?|token|api[-_. ]?key|access[-_. ]?key(?:[-_. ]?id)?|"
    r"private[-_. ]?key|encryption[-_. ]?key|signing[-_. ]?key|credentials?|connection[-_.]?string|authorization)"
    r"[A-Za-z0-9_.-]{0,40}"
)
"""Wherever they stand in a name: `dbPassword`, `token_v2`."""
_SHORT_NAMES = r"(?:pass|pwd|pw|auth|dsn|session(?:[-_.]?id)?|cookie|signature|sig|salt|otp|pin)"
"""Only as a part of their own: not in `signal: killed`."""
_NAMED = rf"(?:{_NAMES}|(?<![A-Za-z0-9]){_SHORT_NAMES}(?![A-Za-z0-9])[A-Za-z0-9_.-]{{0,40}})"
_BEFORE, _AFTER = r"(?<![A-Za-z0-9])", r"(?![A-Za-z0-9])"
_IS = r"\\*[\"']?(?: (?:is|was))?\s*(?:=>|:=|=|:|%3[dD])\s*"
"""Between a name, which may be quoted within quotes (`{\"password\":`), and its value."""
_WORD = r"[^\s,;&\"'\\]+"
_VALUE = (
    r"(?P<it>(?P<escape>\\++)[\"'](?:(?!(?<!\\)(?P=escape)[\"'])[^\n])*+(?:(?P=escape)[\"'])?"  # quoted within quotes
    r"|\"(?:[^\"\\\n]|\\.)*+\"?|'(?:[^'\\\n]|\\.)*+'?|\[[^\]\n]++\]?|[^\s,;&\"']+)"
)
_SUFFIXES = (
    r"(?:com|net|org|io|dev|app|cloud|info|biz|edu|gov|mil|int|internal|local|localdomain|localhost|lan|corp|home|intra|"
    r"private|svc|arpa|test|example|invalid|onion|xyz|online|site|tech|ai|de|uk|fr|nl|be|at|ch|eu|us|ca|au|jp|cn|in|br|"
    r"it|es|se|no|dk|fi|ie|cz|kr|nz|za|me|tv|gg)"
)

_FORMS = (
    ("secret", r"(?s)-----BEGIN [A-Z0-9 ]+-----.*?(?:-----END [A-Z0-9 ]+-----|\Z)"),
    ("secret", r"(?s)\A(?:(?!-----BEGIN).)*-----END [A-Z0-9 ]+-----"),
    ("url", r"[A-Za-z][A-Za-z0-9+.-]{1,20}://(?P<it>[^\s\"'<>]+)"),
    ("secret", (
        rf"(?i){_BEFORE}(?:(?:proxy-)?authorization|(?:set-)?cookie)\\*[\"']?\s*[:=]\s*\\*[\"']?"
        r"(?P<it>[^\s\"'\\](?:(?<==)\"[^\"\n]*+\"?|[^\"'\\\n])*+)"  # the scheme or the first pair is not all
    )),
    ("secret", rf"(?i){_BEFORE}Bearer\s+(?P<it>[A-Za-z0-9._~+/=-]{{6,}})"),
    ("secret", (
        rf"(?i){_BEFORE}(?:Basic|Digest|Negotiate|Token)\s+(?=\S*[0-9=/+]|\S{{20}})(?P<it>[A-Za-z0-9._~+/=-]{{6,}})"
    )),
    ("secret", rf"(?i)<[a-z0-9_:.-]{{0,40}}{_NAMED}(?:\s[^<>\n]{{0,200}})?>(?P<it>[^<\n]+)"),
    ("secret", rf"(?i){_NAMED}\\*[\"']?,?\s*\\*[\"']?value{_IS}{_VALUE}"),
    ("secret", rf"(?i)pass(?:word|wd|phrase)[\"']?(?:\s*[=:]\s+|\s+[=:]\s*)(?P<it>{_WORD}(?:[ ]{_WORD}(?![^\s]))++)"),
    ("secret", rf"(?i){_NAMED}{_IS}{_VALUE}"),
    ("secret", r"(?<!\S)(?:-u|-U|--user|--proxy-user)(?:\s+|=)?(?P<it>[^\s:]+:\S+)"),
    ("secret", r"(?:sshpass|mysql|mariadb|mongo|docker login)[^\n|;]{0,200}?\s-p\s?(?P<it>\S+)"),
    ("secret", r"(?<![A-Za-z0-9/._-])(?P<it>[A-Za-z][A-Za-z0-9_$#]{0,30}/[^\s/@\"']{1,64})@(?!sha256:)"),
    ("secret", rf"(?i)(?<!\S)--?[a-z0-9-]{{0,40}}{_NAMED}\s+{_VALUE}"),
    ("value", rf"{_BEFORE}[A-Z][A-Z0-9_]{{2,}}=(?P<it>\"(?:[^\"\\\n]|\\.)*\"|'[^'\n]*'|\S+)"),
    ("secret", rf"{_BEFORE}eyJ[A-Za-z0-9_-]{{5,}}(?:\.[A-Za-z0-9_-]*){{1,4}}"),
    ("secret", rf"{_BEFORE}(?:AKIA|ASIA|AROA|AIDA|AGPA|ANPA)[A-Z0-9]{{12,}}"),
    ("secret", (
        rf"{_BEFORE}(?:gh[opsru]_|github_pat_|glpat-|xox[a-z]-|sk-|rk_|pk_|sk_|AIza|ya29\.|npm_|pypi-|hf_|dckr_pat_|SG\."
        r"|hvs\.|dop_v1_|shpat_|PMAK-|lin_api_)[A-Za-z0-9._-]{8,}"
    )),
    ("name", r"(?i)secrets? \((?P<it>[^)\n]+)\)"),
    ("name", r"(?i)(?:quota: |(?:secret|configmap) (?=[a-z0-9.-]+/))(?P<it>[a-z0-9][-a-z0-9./]*)"),
    ("name", r"(?<![A-Za-z0-9/.-])\ue000[0-9]+\ue001/(?P<it>[a-z0-9][-a-z0-9.]*)"),  # namespace/name
    ("name", r"\"(?P<it>[^\s\"]+\"/\"[^\s\"]+)\""),
    ("name", (
        r"(?i)(?:secret|configmap|volume|claim|persistentvolumeclaim|serviceaccount|node|pod|container|image|user|"
        r"namespace|object|deployment|replicaset|service|ingress|job)s?(?: name| ref)? ?[=:]? ?\"(?P<it>[^\"\n]+)\""
    )),
    ("mail", rf"{_BEFORE}[A-Za-z0-9._%+'-]{{1,64}}@[A-Za-z0-9-]{{1,63}}(?:\.[A-Za-z0-9-]{{1,63}})*"),
    ("id", rf"{_BEFORE}[0-9a-fA-F]{{8}}(?:-[0-9a-fA-F]{{4}}){{3}}-[0-9a-fA-F]{{12}}{_AFTER}"),
    ("ip", r"(?<![0-9.])(?:[0-9]{1,3}\.){3}[0-9]{1,3}(?![0-9]|\.[0-9])"),
    ("ip", (
        r"(?<![0-9A-Za-z:.])(?:(?:[0-9a-fA-F]{1,4}:){4,7}[0-9a-fA-F]{0,4}|(?:[0-9a-fA-F]{1,4}:){0,6}"
        r"[0-9a-fA-F]{0,4}::(?:[0-9a-fA-F]{1,4}:){0,6}[0-9a-fA-F]{0,4}(?<=[0-9a-fA-F]))(?![0-9A-Za-z:])"
    )),
    ("image", (
        rf"(?<![A-Za-z0-9@/._-])(?:(?:[a-z0-9-]+\.)+{_SUFFIXES}(?::[0-9]+)?|localhost:[0-9]+)/[A-Za-z0-9][A-Za-z0-9._/@:+-]*[A-Za-z0-9]"
    )),
    ("host", (
        rf"(?<![A-Za-z0-9@/._-])(?:[a-z0-9](?:[a-z0-9_-]{{0,61}}[a-z0-9])?\.)+{_SUFFIXES}(?![A-Za-z0-9_-]|\.[a-z0-9])"
    )),
    ("pod", (
        rf"{_BEFORE}(?<!-)[a-z0-9][-a-z0-9]*-[bcdfghjklmnpqrstvwxz2456789]{{8,10}}-[bcdfghjklmnpqrstvwxz2456789]{{5}}{_AFTER}(?!-)"
    )),
    ("number", r"(?<![0-9A-Za-z.-])[0-9](?:[ -]?[0-9]){12,}(?![0-9A-Za-z])"),
)  # fmt: skip


@cache
def patterns() -> tuple[tuple[str, re.Pattern[str]], ...]:
    """Compiled when a question is asked: most passes ask none, and must not pay for it."""
    return tuple((kind, re.compile(form)) for kind, form in _FORMS)


_RUN = re.compile(r"[A-Za-z0-9+/=_~-]{12,}")
_HUMP = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_SEPARATED = re.compile(r"[A-Za-z0-9]+")
_CONSONANTS = re.compile(r"[^aeiouyAEIOUY]{5}")


def random_runs(text: str) -> Iterator[re.Match[str]]:
    """Runs of signs that look like keys rather than words."""
    return (found for found in _RUN.finditer(text) if is_random(found[0]))


def is_random(run: str) -> bool:
    """Whether less than 60 % of its letters and digits belong to what could be words, or letters and digits take turns
    as no name has them. CamelCase reasons (`ProgressDeadlineExceeded`) and names-with-dashes are words."""
    parts = _SEPARATED.findall(run)
    signs = sum(map(len, parts))
    if signs < 12:
        return False
    turns = sum(a.isdigit() != b.isdigit() for part in parts for a, b in pairwise(part))
    return turns >= 3 or sum(map(_worded, parts)) < 0.6 * signs


def _worded(part: str) -> int:
    """Letters in words. Where cases are mixed, three letters are a word too easily."""
    least = 4 if part[1:] != part[1:].lower() else 3
    return sum(len(hump) for hump in _HUMP.findall(part) if least <= len(hump) <= 18 and _is_word(hump))


def _is_word(hump: str) -> bool:
    return any(sign in "aeiouyAEIOUY" for sign in hump) and not _CONSONANTS.search(hump)
