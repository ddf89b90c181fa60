"""Whether Python files leave their process as it can be put back by hand, as far as their text shows; in doubt not.

A user's filter may end its process, start a thread, lock a file or change a module for everybody. Where there is such a
file, tasks take Ansible's ordinary way, with a process for each. What is not looked for here, ``isolation`` puts back.
"""

from __future__ import annotations

import os
import re

from ansible_operator.runner.worker.verdicts import Verdicts

_MODULES = (
    *("_thread", "asyncio", "atexit", "builtins", "cffi", "concurrent", "ctypes", "faulthandler", "fcntl", "gc"),
    *("locale", "mmap", "multiprocessing", "pty", "resource", "socket", "socketserver", "termios", "threading", "tty"),
)
_OF_OS = (
    *("abort", "close", "closerange", "dup", "dup2", "execl", "execle", "execlp", "execv", "execve", "execvp"),
    *("fork", "forkpty", "kill", "killpg", "lockf", "nice", "open", "pipe", "pipe2", "putenv", "register_at_fork"),
    *("setgid", "setpgid", "setpgrp", "setpriority", "setsid", "setuid", "unsetenv"),
)
_OF_SYS = ("exit", "setprofile", "setrecursionlimit", "setswitchinterval", "settrace", "addaudithook")
_ENDS = ("SystemExit", "KeyboardInterrupt", "GeneratorExit", "BaseException")
_NAMES = ("__builtins__", "__import__", "_exit", "delattr", "getcontext", "setattr", "setcontext", "setitimer", "tzset")

_WILD = re.compile(
    rf"""
      ^[ \t]* (?: import [ ] (?:[\w.]+ (?:[ ] as [ ] \w+)? ,[ ]*)* | from [ ]) (?:{"|".join(_MODULES)})\b
    | ^[ \t]* from [ ] (?:os|sys|time|signal) [ ] import \b (?! [ ] (?:path|environ|sep|linesep|version_info|time)\b)
    | ^[ \t]* import [ ] (?:os|sys) [ ] as \b
    | \b os\. (?:{"|".join(_OF_OS)}) \b
    | \b sys\. (?:{"|".join(_OF_SYS)}) \b
    | \b (?:raise [ ]+ MemoryError|{"|".join(_ENDS)}) \b
    | (?<![\w.]) (?:exec|eval|exit|quit|globals) \(
    | \b (?:{"|".join(_NAMES)}) \b
    """,
    re.VERBOSE | re.MULTILINE,
)
_MUTATORS = ("add", "append", "clear", "extend", "insert", "pop", "popitem", "remove", "setdefault", "update")
_PUT_BACK = ("sys.path", "sys.meta_path", "sys.modules", "os.environ")
_IMPORTED = re.compile(r"^[ \t]*import[ ]([\w., \t]+)", re.MULTILINE)


def are_tame(directory: str) -> bool:
    """Judge the Python files of a directory. One that cannot be read has none."""
    try:
        with os.scandir(directory) as entries:
            return all(is_tame(entry.path) for entry in entries if entry.name.endswith(".py"))
    except OSError:
        return True


def is_tame(path: str) -> bool:
    """Judge a file."""
    return _verdicts.of(path)


def _judge(text: str) -> bool:
    return not (_WILD.search(text) or _sets_attributes(text))


def _sets_attributes(text: str) -> bool:
    """Whether something is assigned to what was imported; search path and environment are put back by hand."""
    names = {
        words.split()[-1].partition(".")[0]
        for line in _IMPORTED.findall(text)
        for words in line.split(",")
        if words.split()
    }
    if not names:
        return False
    name = rf"(?<![\w.])(?:{'|'.join(map(re.escape, names))})(?:\.\w+)+"
    target = rf"{name}(?:[ \t]*(?:[-+|&*/]|//|\*\*)?=(?!=)|\.(?:{'|'.join(_MUTATORS)})\()"
    return any(not found.group().startswith(_PUT_BACK) for found in re.finditer(target, text))


_verdicts = Verdicts(lambda file: _judge(file.read_text()))
