# ruff: noqa: E501 - a task in one line reads better than one cut to fit
"""Cases of callbacks, Ansible's own and users'."""

from __future__ import annotations

from tests.warm.cases.case import play

_CALLBACK = """
from ansible.plugins.callback import CallbackBase
COUNT = []
class CallbackModule(CallbackBase):
    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "notification"
    CALLBACK_NAME = "counting"
    CALLBACK_NEEDS_ENABLED = NEEDS
    seen = []
    def __init__(self):
        super().__init__()
        self.results = {}
    def v2_runner_on_start(self, host, task):
        COUNT.append(task.get_name())
    def v2_runner_on_ok(self, result):
        self.seen.append(result._task.action)
        self.results[result._task.get_name()] = sorted(result._result)
    def v2_runner_on_failed(self, result, ignore_errors=False):
        self.seen.append(f"failed {ignore_errors}")
    def v2_runner_item_on_ok(self, result):
        self.seen.append("item")
    def v2_playbook_on_stats(self, stats):
        self._display.display(f"counted {len(COUNT)} {self.seen} {sorted(self.results.items())} {stats.summarize('localhost')}")
"""
_TASKS = "- name: a\n  debug: {msg: a}\n- name: b\n  ping:\n- name: c\n  command: echo {{ item }}\n  loop: [1, 2]\n- name: d\n  fail: {msg: x}\n  ignore_errors: true\n"
play("stateful_callback", _TASKS, files={"callback_plugins/counting.py": _CALLBACK.replace("NEEDS", "False")})
play(
    "callbacks_enabled",
    _TASKS,
    files={"callbacks/counting.py": _CALLBACK.replace("NEEDS", "True")},
    environment={"ANSIBLE_CALLBACK_PLUGINS": "CONTENT/callbacks", "ANSIBLE_CALLBACKS_ENABLED": "counting"},
)
play(
    "callback_not_enabled",
    _TASKS,
    files={"callbacks/counting.py": _CALLBACK.replace("NEEDS", "True")},
    environment={"ANSIBLE_CALLBACK_PLUGINS": "CONTENT/callbacks"},
)
play(
    "callback_that_changes_results",
    "- ping:\n- debug: {msg: b}\n",
    files={
        "callback_plugins/changing.py": """
            from ansible.plugins.callback import CallbackBase
            class CallbackModule(CallbackBase):
                CALLBACK_VERSION = 2.0
                CALLBACK_NAME = "changing"
                def v2_runner_on_ok(self, result):
                    result._result["added"] = 1
                    print("printed", result._host.get_name())
            """
    },
)
play(
    "callback_that_fails",
    "- ping:\n- debug: {msg: b}\n",
    files={
        "callback_plugins/failing.py": """
            from ansible.plugins.callback import CallbackBase
            class CallbackModule(CallbackBase):
                CALLBACK_VERSION = 2.0
                CALLBACK_NAME = "failing"
                def v2_runner_on_ok(self, result):
                    raise ValueError("broken callback")
            """
    },
)
for name in ("minimal", "oneline"):
    play(f"stdout_callback_{name}", _TASKS, environment={"ANSIBLE_STDOUT_CALLBACK": name})
play(
    "stdout_callback_of_the_user",
    _TASKS,
    files={
        "callbacks/mine.py": """
            DOCUMENTATION = "name: mine\\ntype: stdout\\nextends_documentation_fragment: [default_callback]\\n"
            from ansible.plugins.callback.default import CallbackModule as Default
            class CallbackModule(Default):
                CALLBACK_VERSION = 2.0
                CALLBACK_TYPE = "stdout"
                CALLBACK_NAME = "mine"
                def v2_runner_on_ok(self, result):
                    self._display.display(f"MINE {result._task.get_name()}", color="green")
            """
    },
    environment={"ANSIBLE_CALLBACK_PLUGINS": "CONTENT/callbacks", "ANSIBLE_STDOUT_CALLBACK": "mine"},
)
play(
    "callback_options",
    "- debug: {msg: {a: [1, 2]}}\n- debug: {msg: x}\n  when: false\n- ping:\n",
    environment={
        "ANSIBLE_CALLBACK_RESULT_FORMAT": "yaml",
        "ANSIBLE_DISPLAY_SKIPPED_HOSTS": "false",
        "ANSIBLE_SHOW_TASK_PATH_ON_FAILURE": "1",
    },
)
