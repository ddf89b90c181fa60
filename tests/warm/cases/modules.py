# ruff: noqa: E501 - a task in one line reads better than one cut to fit
"""Cases of modules and plugins, Ansible's own and those beside a role."""

from __future__ import annotations

from tests.warm.cases.case import play

play(
    "async",
    """
    - command: echo bg
      async: 20
      poll: 1
    - command: echo bg
      async: 20
      poll: 0
      register: job
    - async_status: {jid: '{{ job.ansible_job_id }}'}
      register: s
      until: s.finished
      retries: 20
      delay: 1
      no_log: true
    - debug: {msg: '{{ s.stdout }}'}
    """,
)
play(
    "become",
    "- command: id -u\n  become: true\n  become_user: nobody\n  become_method: no_such_method\n  ignore_errors: true\n- debug:",
)
CUSTOM = """
#!/usr/bin/python
import os, sys
from ansible.module_utils.basic import AnsibleModule
def main():
    m = AnsibleModule({"how": {"type": "str", "default": "ok"}, "old": {"type": "str", "removed_in_version": "9", "removed_from_collection": "a.b"}}, supports_check_mode=True)
    how = m.params["how"]
    if how == "exit":
        os._exit(7)
    if how == "raise":
        raise ValueError("broken")
    if how == "sys":
        sys.exit("bye")
    if how == "silent":
        return
    if how == "noise":
        print("noise before")
        os.system("echo noise from a child")
    if how == "kill":
        os.kill(os.getpid(), 9)
    if how == "pollute":
        os.environ["POLLUTED"] = "1"; os.chdir("/"); os.umask(0); sys.path.insert(0, "/x")
    m.warn("a warning")
    m.deprecate("a deprecation", version="9", collection_name="a.b")
    m.exit_json(changed=True, how=how, polluted=os.environ.get("POLLUTED"), umask=os.umask(0))
main()
"""
play(
    "custom_module",
    "".join(
        f"- mine: {{how: {how}}}\n  ignore_errors: true\n"
        for how in ["ok", "exit", "raise", "sys", "silent", "noise", "kill", "pollute", "ok"]
    )
    + "- mine: {nope: 1}\n  ignore_errors: true\n- mine: {old: x}\n- shell: umask; pwd | xargs basename\n",
    files={"library/mine.py": CUSTOM.lstrip()},
)
play(
    "old_modules",
    "- shellish: {a: 1}\n  ignore_errors: true\n- wantjson: {a: 1}\n",
    files={
        "library/shellish.sh": '#!/bin/sh\necho \'{"changed": false, "kind": "shell"}\'\n',
        "library/wantjson.py": "#!/usr/bin/python\n# WANT_JSON\nimport json, sys\nprint(json.dumps({'got': json.load(open(sys.argv[1])).get('a')}))\n",
    },
)
play(
    "custom_plugins",
    """
    - act: {x: 1}
    - debug: {msg: '{{ 3 | triple }} {{ 4 is fourish }} {{ lookup("mine", "a") }}'}
    - debug: {msg: '{{ 1 | counted }}'}
    - debug: {msg: '{{ 1 | counted }}'}
    - debug: {msg: '{{ 1 | counted }} {{ 1 | counted }}'}
    """,
    files={
        "action_plugins/act.py": """
            from ansible.plugins.action import ActionBase
            class ActionModule(ActionBase):
                def run(self, tmp=None, task_vars=None):
                    return dict(super().run(tmp, task_vars), got=self._task.args, changed=True)
            """,
        "library/act.py": "#!/usr/bin/python\n",
        "filter_plugins/f.py": """
            seen = []
            def counted(x):
                seen.append(x)
                return len(seen)
            class FilterModule:
                def filters(self):
                    return {"triple": lambda x: x * 3, "counted": counted}
            """,
        "test_plugins/t.py": "class TestModule:\n    def tests(self):\n        return {'fourish': lambda x: x == 4}\n",
        "lookup_plugins/mine.py": """
            from ansible.plugins.lookup import LookupBase
            class LookupModule(LookupBase):
                def run(self, terms, variables=None, **kwargs):
                    return [t + "!" for t in terms]
            """,
    },
)
play("background", "- shell: nohup sleep 1 >/dev/null 2>&1 &\n- debug:")
play(
    "validate",
    "- validate_argument_spec: {argument_spec: {a: {type: int, required: true}}, provided_arguments: {a: 1}}\n- validate_argument_spec: {argument_spec: {a: {type: int, required: true}}, provided_arguments: {}}\n",
)
play("bad_interpreter", "- ping:\n  vars: {ansible_python_interpreter: /nonexistent/python}\n")
play("requeue", "- operator_sdk.util.requeue_after: {time: 1m}\n- operator_sdk.util.requeue_after: {time: nonsense}\n")
play(
    "module_args",
    "- ping: {data: [1, {a: b}], nope: 1}\n  ignore_errors: true\n- ping: data=x\n- ping: {data: crash}\n  ignore_errors: true\n- stat: {}\n  ignore_errors: true\n- stat: {path: /nonexistent, follow: maybe}\n",
)
play("pause", "- pause: {seconds: 1}\n- debug:")
play(
    "raw_script",
    "- raw: echo raw\n- script: s.sh\n- fetch: {src: /etc/hostname, dest: '{{ playbook_dir }}/f/', flat: true}\n",
    files={"s.sh": "#!/bin/sh\necho script\n"},
)
play(
    "signals",
    "- shell: \"grep -E 'SigIgn|SigBlk' /proc/self/status\"\n- shell: ulimit -n; umask; ls /proc/$$/fd | wc -l\n",
)
play(
    "uri_and_wait",
    "- wait_for: {timeout: 1}\n- uri: {url: 'http://127.0.0.1:1/'}\n  ignore_errors: true\n- tempfile: {state: directory}\n  register: t\n- file: {path: '{{ t.path }}', state: absent}",
)
play(
    "warnings",
    "- debug: {msg: '{{ item }}'}\n  loop: [1]\n  vars: {item: 5}\n- command: rm -f /nonexistent/x\n- debug: {msg: '{{ lookup(\"env\", \"NOPE\", default=\"d\") }}'}\n- set_fact: {ansible_x: 1}\n- debug: {msg: '{{ [1,2] is iterable and ansible_x }}'}\n",
)
play(
    "module_library",
    "- ping:\n  module_defaults: {ping: {data: d}}\n- stat: {path: /etc/hostname, get_mime: false, get_attributes: false}\n  register: s\n- debug: {msg: '{{ s.stat.isreg }}'}\n- slurp: {src: /nonexistent}\n  ignore_errors: true\n- ansible.builtin.ping: {data: 'ü'}\n- ansible.legacy.ping:\n- action: ping data=x\n- local_action: ping\n",
)
