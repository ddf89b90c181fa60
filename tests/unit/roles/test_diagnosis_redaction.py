"""Redaction: hundreds of secrets of every known form, in every place where one turns up, and none comes through."""

import random
import string
import time
from base64 import b64encode, urlsafe_b64encode

import pytest
from aitask_rules.diagnosis import collect, redactor_for
from aitask_rules.diagnosis.patterns import is_random
from aitask_rules.diagnosis.redact import Redactor
from aitask_rules.diagnosis.text import visible
from hypothesis import given
from hypothesis import strategies as st

import tests.support.properties  # noqa: F401 -- the same examples in every run
from tests.unit.roles.breach_cases import make_facts

LETTERS, DIGITS = string.ascii_letters, string.digits
NAMES = {"web-7d9f8c6b5d-x2x9z": "pod", "web": "deployment", "app": "container", "shop": "namespace"}


PLAIN = "\n".join(collect(facts := make_facts({}), redactor_for(facts)))
"""Evidence without any secret: what stands there anyway."""


def text(alphabet: str, low: int, high: int) -> st.SearchStrategy[str]:
    return st.text(alphabet, min_size=low, max_size=high)


def long_random(low: int, high: int) -> st.SearchStrategy[str]:
    """As generators of keys make them: every sign as likely as any other."""
    sizes, seeds = st.integers(low, high), st.integers(0, 2**32)
    return st.builds(lambda seed, size: "".join(random.Random(seed).choices(LETTERS + DIGITS, k=size)), seeds, sizes)


def encoded(*parts: bytes) -> str:
    return ".".join(urlsafe_b64encode(part).decode().rstrip("=") for part in parts)


words = text(LETTERS + DIGITS + "!%+*-._~", 8, 24).filter(lambda word: word not in PLAIN)
octets = st.integers(0, 255)
SECRETS: dict[str, st.SearchStrategy[tuple[str, str]]] = {
    # (what stands there, what must be gone)
    "password": words.map(lambda w: (f"password={w}", w)),
    "yaml": words.map(lambda w: (f'db_password: "{w}"', w)),
    "json": words.map(lambda w: (f'{{"apiKey": "{w}", "port": 1}}', w)),
    "flag": words.map(lambda w: (f"--admin-token {w}", w)),
    "environment": words.map(lambda w: (f"SOME_SETTING={w}", w)),
    "bearer": long_random(12, 60).map(lambda w: (f"Authorization: Bearer {w}", w)),
    "basic": words.map(lambda w: ((coded := b64encode(f"user:{w}".encode()).decode()) and (f"Basic {coded}", coded))),
    "jwt": st.binary(min_size=12, max_size=60).map(
        lambda b: ((jwt := encoded(b'{"alg":"HS256"}', b'{"sub":"' + b + b'"}', b)) and (f"token {jwt} seen", jwt))
    ),
    "url": words.map(lambda w: (f"amqp://user:{w.replace('%', '')}@mq:5672/vhost", w.replace("%", ""))),
    "webhook": long_random(20, 30).map(lambda w: (f"POST https://hooks.example.com/services/{w}", w)),
    "aws": text(string.ascii_uppercase + DIGITS, 16, 16).map(lambda w: (f"key AKIA{w}", f"AKIA{w}")),
    "github": long_random(36, 36).map(lambda w: (f"remote: ghp_{w}", w)),
    "slack": long_random(24, 24).map(lambda w: (f"xoxb-{w} is invalid", w)),
    "hex": text("0123456789abcdef", 32, 64).filter(lambda w: len(set(w)) > 4).map(lambda w: (f"digest {w}", w)),
    "base64": st.binary(min_size=32, max_size=90).filter(lambda b: len(set(b)) > 8).map(
        lambda b: ((coded := b64encode(b).decode()) and (f"blob {coded} end", coded))
    ),
    "random": long_random(20, 50).map(lambda w: (f"got {w} from peer", w)),
    "pem": st.binary(min_size=60, max_size=300).map(
        lambda b: ((coded := b64encode(b).decode()) and (
            f"-----BEGIN RSA PRIVATE KEY-----\n{coded[:64]}\n{coded[64:]}\n-----END RSA PRIVATE KEY-----", coded[-12:]
        ))
    ),
    "mail": text(string.ascii_lowercase, 4, 12).map(lambda w: (f"for {w}@example.org failed", f"{w}@")),
    "ip": st.lists(octets, min_size=4, max_size=4).map(lambda o: (f"to {(ip := '.'.join(map(str, o)))}:1", f"{ip}:")),
    "ip6": text("0123456789abcdef", 4, 4).map(lambda w: (f"from 2001:db8::{w} port 1", f"2001:db8::{w}")),
    "host": text(string.ascii_lowercase, 5, 12).map(lambda w: (f"lookup {w}.corp.internal failed", f"{w}.corp")),
    "card": text(DIGITS, 16, 16).map(lambda w: (f"card {w[:4]} {w[4:8]} {w[8:12]} {w[12:]}", w[12:])),
}  # fmt: skip


@pytest.mark.parametrize("form", SECRETS)
def test_no_secret_of_a_known_form_comes_through(form: str) -> None:
    """Fifty of each, which is more than a thousand."""

    @given(SECRETS[form])
    def check(pair: tuple[str, str]) -> None:
        told, secret = pair
        redactor = Redactor("key", NAMES)
        for line in (told, f"{told} and then some", f"ERROR 5: {told}", f"a\n{told}\nb"):
            found = redactor.redact(line)
            assert secret not in found
            assert redactor.restore(found).count(secret) == 0, "a secret comes back in an answer"
            assert found == Redactor("key", NAMES).redact(line), "another run would ask again"

    check()


@given(st.lists(st.one_of(*SECRETS.values()), min_size=4, max_size=4))
def test_no_secret_comes_through_in_events_messages_and_logs(pairs: list[tuple[str, str]]) -> None:
    """Two hundred, as they lie in what the role reads."""
    (event, a), (message, b), (condition, c), (log, d) = pairs
    ended = {"name": "app", "ready": False, "restartCount": 1, "lastState": {"terminated": {"message": message}}}
    facts = make_facts({
        "events": [{"reason": "Failed", "message": f"Error: {event}"}],
        "pods": [{"ready": False, "containers": [ended]}],
        "deployment": {"status": {"conditions": [{"type": "X", "status": "False", "message": condition}]}},
        "logs": f"first line\n{log}\nlast line",
    })  # fmt: skip
    told = "\n".join(collect(facts, redactor_for(facts)))
    assert [secret for secret in (a, b, c, d) if secret in told] == []


@pytest.mark.parametrize(
    ("told", "gone"),
    [
        ("AA==\n-----END EC PRIVATE KEY-----\nstarted", "AA=="),
        ("got eyJhbGci.eyJzdWI.c2ln from peer", "eyJ"),
        ("use ghp_plainwords or sk-plainwords", "plainwords"),
        ('object "team-a"/"orders" not registered', "orders"),
        ("Pulled docker.io/library/nginx:1.27 from localhost:5000/own/thing", "nginx"),
        ("Pulled docker.io/library/nginx:1.27 from localhost:5000/own/thing", "thing"),
        ("Deleted pod billing-6c5b4d8f77-k2z9x of another", "billing"),
        ("Deleted pod: shop/billing", "billing"),
    ],
)
def test_what_is_too_short_to_look_random_is_known_by_its_form(told: str, gone: str) -> None:
    assert gone not in Redactor("key", NAMES).redact(told)


@pytest.mark.parametrize(
    "told",
    [
        r'msg="{\"password\":\"hunter2\"}"',
        r'msg="{\\\"password\\\":\\\"hunter2\\\"}"',
        r"{\"password\":\"hun\\\"hunter2\", \"user\": 1}",
        "<password>hunter2</password>",
        '<db:password type="text">hunter2</db:password>',
        '<add key="password" value="hunter2"/>',
        '{"name":"DB_PASSWORD","value":"hunter2"}',
        '"password" : ["hunter2"]',
        '"passwords": ["a", "hunter2"]',
        'password="a hunter2',
        "GET /?password%3Dhunter2",
        "password is: hunter2",
        "password = correct horse hunter2",
        "api key: hunter2",
        "Authorization: ApiKey hunter2",
        "curl -H 'Authorization: ApiKey hunter2' example",
        r"{\"authorization\": \"ApiKey hunter2\"}",
        'Authorization: Digest username="joe", nonce="hunter2"',
        "Cookie: theme=dark; login=hunter2",
        "curl -u admin:hunter2 example",
        "curl --user=admin:hunter2",
        "sshpass -p hunter2 ssh there",
        "mysql -h db -phunter2",
        "connecting as scott/hunter2@//db",
    ],
)
def test_a_credential_in_the_form_of_every_day_does_not_come_through(told: str) -> None:
    for line in (told, f"ERROR 5: {told} and then"):
        assert "hunter2" not in Redactor("key", NAMES).redact(line)


names = st.from_regex(r"[a-z]([-a-z0-9]{0,40}[a-z0-9])?", fullmatch=True)


@given(st.dictionaries(names, st.sampled_from(["pod", "node", "container"]), min_size=1, max_size=30), names)
def test_names_come_back_in_an_answer(known: dict[str, str], key: str) -> None:
    redactor = Redactor(key, known)
    hidden = {name: redactor.redact(name) for name in known}
    assert len(set(hidden.values())) == len(known), "two names with one pseudonym"
    assert all(redactor.restore(f"it is {seen}, surely") == f"it is {name}, surely" for name, seen in hidden.items())
    assert all(Redactor(key, dict(reversed(known.items()))).redact(name) == seen for name, seen in hidden.items())


@pytest.mark.parametrize(
    "words",
    [
        "OOMKilled with exit code 137", "signal: killed", "java.lang.OutOfMemoryError: Java heap space",
        "Readiness probe failed: HTTP probe failed with statuscode: 503", "context deadline exceeded",
        "0/3 nodes are available: 3 Insufficient cpu. preemption: not helpful", "MinimumReplicasUnavailable",
        "ProgressDeadlineExceeded", "FailedCreatePodSandBox", "CreateContainerConfigError", "misconfiguration",
        "pull access denied: unauthorized: authentication required", "connect: connection refused", "author: unknown",
        "GET /a/b HTTP/1.1 from c/d: 404", "docker run -u 1000 -p 8080:80", "the password was wrong",
        "exec: no such file or directory: unknown", "limits.memory=256Mi, used: limits.memory=900Mi",
    ],
)  # fmt: skip
def test_what_tells_the_cause_stays(words: str) -> None:
    assert Redactor("key", NAMES).redact(words) == words


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        ("pass\u200bword=rosebud", "password=secret-"),
        ("\uff50\uff41\uff53\uff53\uff57\uff4f\uff52\uff44=rosebud", "password=secret-"),
        ("pod web-7d9f8c6b5d-x2x9z_shop(id)", "pod pod-"),
        ("web.shop.svc.cluster.local", "host-"),
        ("pod of another: billing-6c5b4d8f77-k2z9x", "another: pod-"),
        ("deployment web, not webb or web-2", "not webb or web-2"),
        ("at 2026-01-31T10:00:00Z and 10:00:01.5", "at <time> and <time>"),
    ],
)
def test_how_it_reads(told: str, expected: str) -> None:
    found = Redactor("key", NAMES).redact(told)
    assert expected in found
    assert "rosebud" not in found


@given(st.text())
def test_nothing_invisible_is_left(told: str) -> None:
    seen = visible(told)
    assert not any(sign in seen for sign in "\u200b\u202e\x00\ue000\ufeff")
    assert isinstance(Redactor("key", NAMES).redact(told).encode(), bytes)


def test_a_long_line_takes_no_long_time() -> None:
    """As much as logs may have, of what could begin a match, over and over: a pattern that looks at all the rest from
    each place takes minutes."""
    for piece in (
        "a.",
        "password",
        "-----BEGIN ",
        "1:",
        "eyJ",
        "a@",
        "secret:",
        "0.",
        "--token",
        "x-",
        "A=",
        "a",
        "0 ",
        'password=\\"',
        'password="',
        "password = a ",
        "password: [",
        'password"value',
        "<password",
        "<password a>",
        "authorization: ",
        'cookie: a="',
        "-u a ",
        "mysql ",
        "a/b ",
        "a/",
    ):
        begin = time.process_time()
        Redactor("key", NAMES).redact(piece * (50_000 // len(piece)))
        assert time.process_time() - begin < 20, piece


def test_random_or_a_word() -> None:
    assert all(
        map(is_random, ("Zx8kQ2mP9rT4wL7v", "fzafKuyg2PDGlKUliFiz", "9f8e7d6c5b4a39281706", "qwrtzpsdfghjklmnbvcx"))
    )
    assert not any(
        map(is_random, ("NewReplicaSetAvailable", "container-runtime-2", "max-old-space-size=4096", "CrashLoopBackOff"))
    )
