# ruff: noqa: E501 - a task in one line reads better than one cut to fit
"""Cases of tasks that leave their process another: what the next task sees must be what it sees with processes apart.

``spoil`` and ``look`` are there twice: as modules, and as filters and lookups, which run in the process of the task.
"""

from __future__ import annotations

from tests.warm.cases.case import play

_SPOIL = """
import atexit, builtins, decimal, gc, json, locale, logging, os, random, resource, signal, socket, string, sys, tempfile, threading, time, warnings

def spoil(how):
    if how == "environment":
        os.environ["SPOILED"] = "1"; os.environ["HOME"] = "/spoiled"; os.environ.pop("LANG", None); os.putenv("PUT", "1")
    if how == "directory":
        os.chdir("/usr")
    if how == "lost_directory":
        path = tempfile.mkdtemp(); os.chdir(path); os.rmdir(path)
    if how == "umask":
        os.umask(0o777)
    if how == "signals":
        for number in (signal.SIGALRM, signal.SIGTERM, signal.SIGINT, signal.SIGUSR1, signal.SIGUSR2, signal.SIGPIPE, signal.SIGCHLD, signal.SIGHUP, signal.SIGQUIT, signal.SIGWINCH):
            signal.signal(number, signal.SIG_IGN)
    if how == "mask":
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1, signal.SIGTERM, signal.SIGCHLD])
    if how == "alarm":
        signal.signal(signal.SIGALRM, lambda *_: os.write(2, b"alarm")); signal.setitimer(signal.ITIMER_REAL, 0.2, 0.2)
    if how == "virtual_alarm":
        signal.signal(signal.SIGVTALRM, lambda *_: os._exit(9)); signal.setitimer(signal.ITIMER_VIRTUAL, 0.05, 0.05)
    if how == "imports":
        sys.path.insert(0, "/spoiled"); sys.modules["spoiled_module"] = json; sys.meta_path.insert(0, type("F", (), {"find_spec": staticmethod(lambda *a, **k: None)})())
    if how == "modules":
        for name in ("string", "colorsys", "decimal"):
            sys.modules.pop(name, None)
    if how == "attributes":
        json.spoiled = 1; string.digits = "spoiled"; builtins.spoiled = 1
    if how == "logging":
        logging.basicConfig(level=logging.DEBUG); logging.getLogger("spoiled").setLevel(1); logging.disable(logging.CRITICAL); logging.addLevelName(10, "SPOILED")
    if how == "files":
        for _ in range(20): builtins.kept = getattr(builtins, "kept", []) + [os.open("/dev/null", os.O_RDONLY)]
    if how == "standard_files":
        sys.stdout.write("spoiled"); sys.stdout = sys.stderr = None; os.close(0)
    if how == "threads":
        threading.Thread(target=time.sleep, args=(60,), daemon=True, name="spoiled").start()
    if how == "random":
        random.seed(1)
    if how == "limits":
        resource.setrlimit(resource.RLIMIT_NOFILE, (64, resource.getrlimit(resource.RLIMIT_NOFILE)[1])); resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if how == "locale":
        locale.setlocale(locale.LC_ALL, "C"); os.environ["TZ"] = "Asia/Tokyo"; time.tzset()
    if how == "tempdir":
        tempfile.tempdir = "/spoiled"; tempfile.template = "spoiled"
    if how == "warnings":
        warnings.simplefilter("error"); warnings.warn_explicit = None
    if how == "runtime":
        sys.setrecursionlimit(150); sys.setswitchinterval(1); gc.disable(); socket.setdefaulttimeout(0.001); decimal.getcontext().prec = 2; sys.excepthook = None; sys.settrace(None)
    if how == "hooks":
        atexit.register(os._exit, 99); sys.argv[:] = ["spoiled"]; sys.dont_write_bytecode = True; time.sleep = None
    if how == "priority":
        os.nice(5)
    return how
"""
_LOOK = """
import builtins, decimal, gc, json, locale, logging, os, random, resource, signal, socket, string, sys, tempfile, threading, time

def look():
    numbers = [signal.SIGALRM, signal.SIGTERM, signal.SIGINT, signal.SIGUSR1, signal.SIGUSR2, signal.SIGPIPE, signal.SIGCHLD, signal.SIGHUP, signal.SIGQUIT, signal.SIGWINCH, signal.SIGVTALRM]
    try:
        directory = os.getcwd()
    except OSError as error:
        directory = str(error)
    mask = os.umask(0); os.umask(mask)
    seed = random.Random(1).random()
    return {
        "environment": [os.environ.get(name) for name in ("SPOILED", "HOME", "LANG", "PUT", "TZ")],
        "child": os.popen("echo $SPOILED $PUT; ulimit -n; umask").read().split(),
        "directory": os.path.basename(directory), "umask": mask,
        "signals": [signal.getsignal(n) == signal.SIG_IGN for n in numbers], "mask": sorted(signal.pthread_sigmask(signal.SIG_BLOCK, [])),
        "timers": [signal.getitimer(t)[1] for t in (signal.ITIMER_REAL, signal.ITIMER_VIRTUAL)],
        "imports": ["/spoiled" in sys.path, "spoiled_module" in sys.modules, len([f for f in sys.meta_path if getattr(f, "__name__", type(f).__name__) == "F"])],
        "attributes": [hasattr(json, "spoiled"), string.digits, hasattr(builtins, "spoiled")],
        "logging": [logging.getLogger().level, len(logging.getLogger().handlers), logging.getLogger("spoiled").level, logging.root.manager.disable, logging.getLevelName(10)],
        "kept": len(getattr(builtins, "kept", [])), "null": len([n for n in os.listdir("/proc/self/fd") if os.path.realpath("/proc/self/fd/" + n) == "/dev/null" and int(n) > 2 and int(n) < 10000]) > 10,
        "threads": [t.name for t in threading.enumerate() if t.name == "spoiled"],
        "random": random.random() == seed, "limits": resource.getrlimit(resource.RLIMIT_NOFILE)[0], "core": resource.getrlimit(resource.RLIMIT_CORE)[0] == 0,
        "locale": locale.setlocale(locale.LC_ALL), "time": time.tzname[0], "tempdir": [tempfile.gettempdir() == "/spoiled", tempfile.template],
        "runtime": [sys.getrecursionlimit() > 900, sys.getswitchinterval(), gc.isenabled(), socket.getdefaulttimeout(), decimal.getcontext().prec, sys.excepthook is None],
        "hooks": [sys.argv[:1] == ["spoiled"], sys.dont_write_bytecode, time.sleep is None], "nice": os.nice(0),
    }
"""
_HOWS = [
    "environment",
    "directory",
    "umask",
    "signals",
    "mask",
    "alarm",
    "virtual_alarm",
    "imports",
    "modules",
    "attributes",
    "logging",
    "files",
    "threads",
    "random",
    "limits",
    "locale",
    "tempdir",
    "warnings",
    "runtime",
    "hooks",
    "priority",
    "lost_directory",
]
_MODULES = {
    "library/spoil.py": "#!/usr/bin/python\nfrom ansible.module_utils.basic import AnsibleModule\n"
    + _SPOIL
    + "m = AnsibleModule({'how': {'type': 'str'}})\nif m.params['how'] in ('standard_files', 'hooks'):\n    m.exit_json(changed=False)\nm.exit_json(how=spoil(m.params['how']))\n",
    "library/look.py": "#!/usr/bin/python\nfrom ansible.module_utils.basic import AnsibleModule\n"
    + _LOOK
    + "m = AnsibleModule({})\nm.exit_json(seen=look())\n",
}
_PLUGINS = {
    "filter_plugins/spoils.py": _SPOIL
    + "class FilterModule:\n    def filters(self):\n        return {'spoil': spoil}\n",
    "lookup_plugins/looks.py": _LOOK
    + "from ansible.plugins.lookup import LookupBase\nclass LookupModule(LookupBase):\n    def run(self, terms, variables=None, **kwargs):\n        return [look()]\n",
}
_TAMELY = """
import logging, os, random, signal, sys, tempfile, warnings
def spoil(how):
    if how == "environment":
        os.environ["SPOILED"] = "1"; os.environ["HOME"] = "/spoiled"; os.environ.pop("LANG", None)
    if how == "directory":
        os.chdir("/usr")
    if how == "lost_directory":
        path = tempfile.mkdtemp(); os.chdir(path); os.rmdir(path)
    if how == "umask":
        os.umask(0o777)
    if how == "signals":
        for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP, 32, 33}:
            signal.signal(number, signal.SIG_IGN)
    if how == "mask":
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1, signal.SIGTERM])
    if how == "alarm":
        signal.signal(signal.SIGALRM, lambda *_: os.write(2, b"alarm")); signal.alarm(1)
    if how == "imports":
        sys.path.insert(0, "/spoiled"); sys.meta_path.insert(0, type("F", (), {"find_spec": staticmethod(lambda *a, **k: None)})())
    if how == "modules":
        for name in ("string", "colorsys", "decimal"):
            sys.modules.pop(name, None)
    if how == "logging":
        logging.basicConfig(level=logging.DEBUG); logging.getLogger("spoiled").setLevel(1); logging.disable(logging.CRITICAL)
    if how == "random":
        random.seed(1)
    if how == "warnings":
        warnings.simplefilter("error")
    return how
def look(_):
    try:
        directory = os.path.basename(os.getcwd())
    except OSError as error:
        directory = str(error)
    mask = os.umask(0); os.umask(mask)
    return {
        "environment": [os.environ.get(name) for name in ("SPOILED", "HOME", "LANG")], "directory": directory, "umask": mask,
        "child": os.popen("echo $SPOILED; umask").read().split(),
        "signals": [n for n in range(1, 32) if signal.getsignal(n) == signal.SIG_IGN], "mask": sorted(signal.pthread_sigmask(signal.SIG_BLOCK, [])), "timer": signal.getitimer(signal.ITIMER_REAL)[0],
        "imports": ["/spoiled" in sys.path, len([f for f in sys.meta_path if type(f).__name__ == "F"]), "string" in sys.modules],
        "logging": [logging.getLogger().level, len(logging.getLogger().handlers), logging.getLogger("spoiled").level, logging.root.manager.disable],
        "warnings": warnings.filters[0][0], "random": random.random() == random.Random(1).random(), "tempdir": "ansible-operator" in tempfile.gettempdir(),
    }
class FilterModule:
    def filters(self):
        return {'spoil': spoil, 'look': look}
"""
_RESTORED = [
    "environment",
    "directory",
    "umask",
    "signals",
    "mask",
    "alarm",
    "imports",
    "modules",
    "logging",
    "random",
    "warnings",
    "lost_directory",
]
play(
    "modules_that_spoil_their_process",
    "".join(f"- spoil: {{how: {how}}}\n" for how in _HOWS)
    + "- look:\n- ping:\n- stat: {path: .}\n  register: s\n- debug: {msg: '{{ s.stat.path }} {{ lookup(\"looks\", 1) }}'}\n",
    files=_MODULES | _PLUGINS,
)
play(
    "filters_that_spoil_their_process",
    "".join(
        f"- debug: {{msg: '{{{{ \"{how}\" | spoil }}}}'}}\n- debug: {{msg: '{{{{ lookup(\"looks\", 1) }}}}'}}\n"
        for how in _HOWS
        if how not in _RESTORED
    )
    + "- ping:\n- command: pwd\n",
    files=_PLUGINS,
)
play(
    "filters_that_spoil_what_can_be_put_back",
    "".join(
        f"- debug: {{msg: '{{{{ \"{how}\" | spoil }}}}'}}\n- debug: {{msg: '{{{{ 1 | look }}}}'}}\n"
        for how in _RESTORED
    )
    + "- command: sleep 1\n- ping:\n",
    files={"filter_plugins/spoils.py": _TAMELY},
)
_ENDS = """
import ctypes, os, signal, sys, time
def end(how):
    if how == "exit":
        os._exit(7)
    if how == "system_exit":
        sys.exit(3)
    if how == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    if how == "terminate":
        os.kill(os.getpid(), signal.SIGTERM)
    if how == "crash":
        ctypes.string_at(0)
    if how == "abort":
        os.abort()
    if how == "hang":
        time.sleep(600)
    if how == "interrupt":
        raise KeyboardInterrupt()
    if how == "memory":
        raise MemoryError()
    if how == "recursion":
        return end_again(how)
    if how == "fork":
        if os.fork() == 0:
            os._exit(0)
        os.wait()
    return how
def end_again(how):
    return end_again(how) + 1
"""
_ENDING = {
    "library/ends.py": "#!/usr/bin/python\nfrom ansible.module_utils.basic import AnsibleModule\n"
    + _ENDS
    + "m = AnsibleModule({'how': {'type': 'str'}})\nm.exit_json(how=end(m.params['how']))\n",
    "filter_plugins/ends.py": _ENDS + "class FilterModule:\n    def filters(self):\n        return {'end': end}\n",
}
play(
    "modules_that_end_hard",
    "".join(
        f"- ends: {{how: {how}}}\n  ignore_errors: true\n"
        for how in [
            "exit",
            "system_exit",
            "kill",
            "terminate",
            "crash",
            "abort",
            "interrupt",
            "memory",
            "recursion",
            "fork",
        ]
    )
    + "- ends: {how: hang}\n  timeout: 1\n  ignore_errors: true\n- ping:\n",
    files=_ENDING,
)
for _how in ["exit", "system_exit", "kill", "crash", "interrupt", "memory", "recursion"]:
    play(
        f"filter_that_ends_by_{_how}",
        f"- debug: {{msg: '{{{{ \"{_how}\" | end }}}}'}}\n  ignore_errors: true\n- debug: {{msg: after}}\n",
        files=_ENDING,
    )
play("run_that_hangs", "- debug: {msg: before}\n- ends: {how: hang}\n", files=_ENDING, timeout=12.0)
play(
    "lookups_that_keep_state",
    '- debug: {msg: \'{{ lookup("keeps", 1) }} {{ lookup("keeps", 1) }}\'}\n- debug: {msg: \'{{ lookup("keeps", 1) }} {{ 1 | kept }} {{ 1 | kept }}\'}\n- debug: {msg: \'{{ 1 | kept }} {{ 1 is keeping }}\'}\n- debug: {msg: \'{{ 1 is keeping }} {{ lookup("cached", "a") }}\'}\n- set_fact: {x: 1}\n- debug: {msg: \'{{ lookup("cached", "a") }}\'}\n- debug: {msg: \'{{ item }} {{ lookup("keeps", 1) }}\'}\n  loop: \'{{ [lookup("keeps", 1), 2] }}\'\n- debug: {msg: never}\n  when: lookup(\'keeps\', 1) > 5\n',
    files={
        "lookup_plugins/keeps.py": "from ansible.plugins.lookup import LookupBase\nclass LookupModule(LookupBase):\n    calls = 0\n    def run(self, terms, variables=None, **kwargs):\n        LookupModule.calls += 1\n        return [LookupModule.calls]\n",
        "lookup_plugins/cached.py": "import functools, os\nfrom ansible.plugins.lookup import LookupBase\nimport kept_beside\nclass LookupModule(LookupBase):\n    def run(self, terms, variables=None, **kwargs):\n        kept_beside.SEEN.append(1)\n        return [len(kept_beside.SEEN)]\n",
        "filter_plugins/keeps.py": "COUNT = {'n': 0}\ndef kept(x):\n    COUNT['n'] += 1\n    return COUNT['n']\nclass FilterModule:\n    def filters(self):\n        return {'kept': kept}\n",
        "test_plugins/keeps.py": "class TestModule:\n    seen = []\n    def tests(self):\n        return {'keeping': lambda x: self.seen.append(x) or len(self.seen) == 1}\n",
        "kept_beside.py": "SEEN = []\n",
    },
    environment={"PYTHONPATH": "CONTENT"},
)
play(
    "environment_of_modules_in_process",
    "- ping:\n  environment: {LC_ALL: C, TMPDIR: /nonexistent, HOME: /nowhere, PATH: /bin}\n- stat: {path: '~'}\n  environment: {HOME: /usr}\n  register: s\n- debug: {msg: '{{ s.stat.path }}'}\n- stat: {path: '~'}\n  register: s\n- debug: {msg: '{{ s.stat.path == lookup(\"env\", \"HOME\") }}'}\n- stat: {path: '$HERE'}\n  environment: {HERE: /etc}\n  register: s\n- debug: {msg: '{{ s.stat.path }}'}\n- slurp: {src: rel.txt}\n  register: s\n- debug: {msg: '{{ s.content }}'}\n- ping:\n  environment: {BAD: [1, 2], N: 5, B: true, NONE: null}\n",
    files={"rel.txt": "relative\n"},
)
play(
    "timeouts_of_modules_in_process",
    '- ping:\n  timeout: 2\n- stat: {path: /}\n  timeout: 2\n  register: s\n- command: sleep 3\n- debug: {msg: the alarm is off}\n- ping: {data: \'{{ lookup("pipe", "sleep 5") }}\'}\n  timeout: 1\n  ignore_errors: true\n- command: sleep 2\n',
)
play(
    "depth_of_recursion",
    "- debug: {msg: '{{ 1 | depth }}'}\n- debug: {msg: '{{ item | depth }}'}\n  loop: [1]\n- set_fact: {x: '{{ 1 | depth }}'}\n",
    files={
        "filter_plugins/depth.py": "def depth(x):\n    try:\n        return 1 + depth(x)\n    except RecursionError:\n        return 1\nclass FilterModule:\n    def filters(self):\n        return {'depth': depth}\n"
    },
)
