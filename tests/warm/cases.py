# ruff: noqa: E501 - a task in one line reads better than one cut to fit
"""Small playbooks and roles that each show one thing. The list grows with every difference that is ever found."""

from __future__ import annotations

from dataclasses import dataclass, field
from textwrap import dedent, indent
from typing import Any


@dataclass(frozen=True)
class Case:
    """``files`` by path beside ``playbook.yml``; a case with a ``role`` runs that role instead."""

    playbook: str = ""
    files: dict[str, str] = field(default_factory=dict)
    variables: dict[str, Any] = field(default_factory=dict)
    role: str = ""
    verbosity: int = 0
    arguments: str = ""


CASES: dict[str, Case] = {}


def play(name: str, tasks: str, head: str = "", files: dict[str, str] | None = None, **more: Any) -> None:
    """A case of one play on localhost without facts."""
    text = "- hosts: localhost\n  gather_facts: false\n" + indent(dedent(head).strip(), "  ") + "\n  tasks:\n"
    CASES[name] = Case(text + indent(dedent(tasks).strip(), "    ") + "\n", _files(files), **more)


def book(name: str, text: str, files: dict[str, str] | None = None, **more: Any) -> None:
    """A case of a whole playbook."""
    CASES[name] = Case(dedent(text).lstrip(), _files(files), **more)


def role(name: str, files: dict[str, str], **more: Any) -> None:
    """A case of a role of that name."""
    CASES[name] = Case(files={f"roles/{name}/{path}": dedent(text) for path, text in files.items()}, role=name, **more)


def _files(files: dict[str, str] | None) -> dict[str, str]:
    return {path: dedent(text) for path, text in (files or {}).items()}


play("debug", "- debug: {msg: 'hello {{ 1 + 1 }}'}\n- debug: {var: undefined_one}")
play(
    "set_fact",
    "- set_fact: {a: [1, 2], b: {c: d}}\n- set_fact: {a: '{{ a + [3] }}', cacheable: true}\n- debug: {var: a}",
)
play("assert", "- assert: {that: [1 == 1], quiet: true}\n- assert: {that: 1 == 2, fail_msg: no}\n- debug:")
play("fail", "- debug:\n- fail: {msg: reason}\n- debug:")
play("fail_ignored", "- fail: {msg: reason}\n  ignore_errors: true\n- debug:")
play(
    "block_rescue_always",
    """
    - block:
        - debug: {msg: one}
        - fail: {msg: two}
        - debug: {msg: never}
      rescue:
        - debug: {msg: '{{ ansible_failed_task.name }} {{ ansible_failed_result.msg }}'}
      always:
        - debug: {msg: always}
    - block:
        - fail: {msg: a}
      rescue:
        - fail: {msg: b}
      always:
        - debug: {msg: c}
    - debug: {msg: not here}
    """,
)
play(
    "loops",
    """
    - debug: {msg: '{{ item }}'}
      loop: [1, two, {three: 3}]
    - debug: {msg: '{{ x.a }} {{ i }} {{ ansible_loop.first }}'}
      loop: [{a: 1}, {a: 2}]
      loop_control: {loop_var: x, index_var: i, label: '{{ x.a }}', extended: true}
      when: x.a != 1
      register: out
    - debug: {var: out}
    - set_fact: {sum: '{{ sum | default(0) | int + item }}'}
      with_items: [1, 2, 3]
    - debug: {var: sum}
    - debug: {msg: x}
      loop: []
    - fail: {msg: '{{ item }}'}
      loop: [1, 2]
      ignore_errors: true
    - debug: {msg: '{{ item }}'}
      with_dict: {a: 1, b: 2}
    - debug: {msg: '{{ item }}'}
      with_sequence: start=1 end=3
    - debug: {msg: '{{ item }}'}
      loop: '{{ not_there }}'
    """,
)
play(
    "until",
    """
    - set_fact: {n: '{{ n | default(0) | int + 1 }}'}
      until: n | int >= 3
      retries: 4
      delay: 0
      register: r
    - debug: {msg: '{{ r.attempts }}'}
    - command: 'false'
      register: c
      until: c.rc == 0
      retries: 2
      delay: 0
      ignore_errors: true
    - ping:
      register: p
      until: false
      retries: 1
      delay: 0
    """,
)
play(
    "loop_until",
    "- ping: {data: '{{ item }}'}\n  loop: [a, b]\n  register: r\n  until: r.ping == 'b'\n  retries: 1\n  delay: 0",
)
play("break_when", "- debug: {msg: '{{ item }}'}\n  loop: [1, 2, 3]\n  loop_control: {break_when: item == 2}")
play(
    "include_import",
    """
    - include_tasks: inc.yml
      vars: {who: one}
    - include_tasks: {file: inc.yml, apply: {tags: [x]}}
      loop: [a, b]
      loop_control: {loop_var: who}
    - import_tasks: inc.yml
      vars: {who: two}
      when: false
    - include_tasks: '{{ "inc" }}.yml'
      vars: {who: three}
    - include_tasks: gone.yml
    """,
    files={"inc.yml": "- debug: {msg: 'inc {{ who }}'}\n- set_fact: {seen: '{{ who }}'}\n"},
)
book(
    "roles",
    """
    - hosts: localhost
      gather_facts: false
      pre_tasks: [{debug: {msg: pre}}]
      roles:
        - one
        - {role: two, vars: {p: 2}}
      tasks:
        - import_role: {name: one, tasks_from: other}
        - include_role: {name: two}
          vars: {p: 3}
        - include_role: {name: two, public: true, apply: {when: false}}
        - include_role: {name: missing}
          ignore_errors: true
      post_tasks: [{debug: {msg: '{{ role_default | default("none") }}'}}]
    """,
    files={
        "roles/one/tasks/main.yml": "- debug: {msg: '{{ role_name }} {{ d }}'}\n- set_fact: {f: '{{ d }}'}\n  notify: h\n",
        "roles/one/tasks/other.yml": "- debug: {msg: other}\n",
        "roles/one/handlers/main.yml": "- name: h\n  debug: {msg: handled}\n",
        "roles/one/defaults/main.yml": "d: default\n",
        "roles/two/meta/main.yml": "dependencies: [one]\n",
        "roles/two/meta/argument_specs.yml": "argument_specs: {main: {options: {p: {type: int, required: true}}}}\n",
        "roles/two/tasks/main.yml": "- debug: {msg: 'two {{ p }} {{ v }}'}\n",
        "roles/two/vars/main.yml": "v: from vars\n",
        "roles/two/defaults/main.yml": "role_default: yes\n",
    },
)
book(
    "handlers",
    """
    - hosts: localhost
      gather_facts: false
      tasks:
        - debug: {msg: a}
          changed_when: true
          notify: [one, topic]
        - meta: flush_handlers
        - command: 'true'
          notify: two
        - debug: {msg: b}
          changed_when: true
          notify: one
      handlers:
        - name: one
          debug: {msg: handler one}
        - name: two
          include_tasks: h.yml
        - name: three
          listen: topic
          debug: {msg: '{{ ansible_play_name }}'}
          changed_when: true
          notify: one
    """,
    files={"h.yml": "- debug: {msg: included handler}\n"},
)
play(
    "delegation",
    """
    - debug: {msg: here}
      delegate_to: localhost
    - ping:
      delegate_to: localhost
    - set_fact: {x: 1}
      delegate_to: other
      delegate_facts: true
    - debug: {msg: '{{ hostvars.other.x }}'}
    - debug: {msg: once}
      run_once: true
    - add_host: {name: other2, groups: g, v: 5}
    - debug: {msg: '{{ hostvars.other2.v }} {{ groups.g }}'}
    - group_by: {key: 'k_{{ inventory_hostname }}'}
    - debug: {var: group_names}
    """,
)
play(
    "results",
    """
    - command: echo hi
      register: c
    - debug: {var: c.stdout_lines}
    - command: echo hi
      changed_when: false
    - command: 'false'
      failed_when: false
      register: f
    - debug: {var: f.rc}
    - debug: {msg: x}
      failed_when: true
      ignore_errors: true
    - shell: echo out; echo err >&2; exit 3
      ignore_errors: true
    - command: not-a-command
      ignore_errors: true
    - debug: {msg: '{{ 1 / 0 }}'}
    """,
)
book(
    "precedence",
    """
    - hosts: localhost
      gather_facts: false
      vars: {a: play, b: play, e: play}
      vars_files: [vars.yml]
      tasks:
        - debug: {msg: '{{ a }} {{ b }} {{ c }} {{ e }} {{ g }} {{ h | default("x") }}'}
        - debug: {msg: '{{ b }}'}
          vars: {b: task}
        - include_vars: more.yml
        - include_vars: {file: more.yml, name: ns}
        - include_vars: {dir: d}
        - debug: {msg: '{{ b }} {{ ns.b }} {{ from_dir }}'}
        - set_fact: {b: fact}
        - debug: {msg: '{{ b }} {{ vars.b }}'}
    """,
    files={
        "vars.yml": "c: file\n",
        "more.yml": "b: more\n",
        "d/x.yml": "from_dir: 1\n",
        "group_vars/all.yml": "g: group\n",
        "host_vars/localhost.yml": "h: host\n",
    },
    variables={"e": "extra", "spec": {"nested": [1, None, True]}},
)
play(
    "lookups_filters",
    """
    - debug: {msg: '{{ lookup("file", "f.txt") }}'}
    - debug: {msg: '{{ lookup("env", "HOME") }} {{ lookup("pipe", "echo $((1+1))") }}'}
    - debug: {msg: '{{ lookup("template", "t.j2") }}'}
    - debug: {msg: '{{ query("lines", "printf ''a\\nb''") }}'}
    - debug: {msg: '{{ lookup("first_found", ["no", "f.txt"]) | basename }}'}
    - debug: {msg: '{{ [3, 1] | sort | first }} {{ "x" | b64encode }} {{ {"a": 1} | combine({"b": 2}) | to_nice_yaml }}'}
    - debug: {msg: '{{ "a,b" | split(",") | map("upper") | join("-") }} {{ "abc" is match("a.") }} {{ 5 | random(seed=1) }}'}
    - debug: {msg: '{{ "1.2" is version("1.3", "<") }} {{ [1, 2] | product([3]) | list }} {{ "x" | hash("sha1") }}'}
    - debug: {msg: '{{ {"b": [1, {"c": none}]} | to_json }} {{ "a: 1" | from_yaml }} {{ [1, [2]] | flatten }}'}
    - debug: {msg: '{{ lookup("file", "gone.txt", errors="ignore") }}'}
    - debug: {msg: '{{ "x" | no_such_filter }}'}
      ignore_errors: true
    - debug: {msg: '{{ lookup("file", "gone.txt") }}'}
    """,
    files={"f.txt": "content\n", "t.j2": "{% for i in range(3) %}{{ i }}{% endfor %}\n"},
)
play(
    "template_copy",
    """
    - template: {src: t.j2, dest: '{{ playbook_dir }}/out.txt', mode: '0600'}
      diff: true
    - template: {src: t.j2, dest: '{{ playbook_dir }}/out.txt', mode: '0600'}
    - copy: {content: '{{ {"a": 1} | to_json }}', dest: '{{ playbook_dir }}/c.json'}
    - copy: {src: t.j2, dest: '{{ playbook_dir }}/c.json'}
      check_mode: true
      diff: true
    - slurp: {src: '{{ playbook_dir }}/out.txt'}
      register: s
    - debug: {msg: '{{ s.content | b64decode }}'}
    - stat: {path: '{{ playbook_dir }}/out.txt', get_checksum: false}
      register: st
    - debug: {msg: '{{ st.stat.mode }} {{ st.stat.size }}'}
    - file: {path: '{{ playbook_dir }}/dir', state: directory, mode: '0700'}
    - file: {path: '{{ playbook_dir }}/dir', state: absent}
    - lineinfile: {path: '{{ playbook_dir }}/out.txt', line: more}
    - template: {src: gone.j2, dest: /tmp/x}
    """,
    files={"t.j2": "value {{ 1 + 1 }}\n"},
)
play(
    "check_mode",
    "- command: echo\n  check_mode: true\n- ping:\n- debug: {msg: '{{ ansible_check_mode }}'}",
    arguments="--check --diff",
)
play(
    "no_log",
    """
    - debug: {msg: secret}
      no_log: true
    - fail: {msg: secret}
      no_log: true
      ignore_errors: true
    - debug: {msg: '{{ item }}'}
      loop: [secret]
      no_log: true
    - ping: {data: secret}
      no_log: true
    - ping: {data: crash}
      no_log: true
    """,
)
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
    "environment",
    """
    - shell: echo $FOO $BAR
      environment: {FOO: task}
    - ping:
      environment: {FOO: task}
    - debug: {msg: '{{ lookup("env", "FOO") }}'}
      environment: {FOO: task}
    - shell: echo ${FOO:-unset} $BAR
      environment: {FOO: ''}
    """,
    head="environment: {BAR: play}",
)
play(
    "become",
    "- command: id -u\n  become: true\n  become_user: nobody\n  become_method: no_such_method\n  ignore_errors: true\n- debug:",
)
play(
    "module_defaults",
    "- ping:\n- ping: {data: own}\n- debug:",
    head="module_defaults: {ping: {data: default}, debug: {msg: from defaults}}",
)
book(
    "meta",
    """
    - hosts: localhost
      gather_facts: false
      tasks:
        - meta: noop
        - meta: clear_facts
        - meta: refresh_inventory
        - debug: {msg: a}
        - meta: end_host
          when: false
        - meta: end_play
        - debug: {msg: never}
    - hosts: localhost
      gather_facts: false
      tasks:
        - debug: {msg: next}
        - meta: end_batch
        - debug: {msg: never}
    """,
)
book(
    "any_errors_fatal",
    """
    - hosts: localhost
      gather_facts: false
      any_errors_fatal: true
      tasks: [{fail: {msg: x}}, {debug: {}}]
    - hosts: localhost
      tasks: [{debug: {}}]
    """,
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
book(
    "many_hosts",
    """
    - hosts: localhost
      gather_facts: false
      tasks:
        - add_host: {name: 'h{{ item }}', groups: many, ansible_connection: local}
          loop: '{{ range(3) | list }}'
    - hosts: many
      gather_facts: false
      serial: 1
      tasks:
        - debug: {msg: '{{ inventory_hostname }}'}
        - fail: {msg: x}
          when: inventory_hostname == 'h1'
          ignore_errors: true
    """,
)
book("free", "- hosts: localhost\n  gather_facts: false\n  strategy: free\n  tasks: [{debug: {msg: a}}, {ping: {}}]\n")
play(
    "timeout", "- command: sleep 5\n  timeout: 1\n  ignore_errors: true\n- ping:\n  timeout: 5\n- debug:\n  timeout: 3"
)
VAULTED = """\
$ANSIBLE_VAULT;1.1;AES256
62313365396662343061393464336163383764373764613633653634306231386433626436623361
6134333665353966363534333632666535333761666131620a663537646436643839616531643561
63396265333739306337663162626434643735343235336332383364623266303935306236303838
3938386634303835300a636161613464316161636639383861356563623264363362333736326162
3132
"""
play("vault_no_secret", "- include_vars: secret.yml\n- debug:", files={"secret.yml": VAULTED})
play("unreachable", "- ping:\n  vars: {ansible_connection: ssh, ansible_host: 127.0.0.1, ansible_port: 1}\n- debug:")
book("load_error", "- hosts: localhost\n  tasks:\n    - debug: {msg: x}\n    - no_such_module: {}\n")
book("syntax_error", "- hosts: localhost\n  tasks: [\n")
book("bad_keyword", "- hosts: localhost\n  gather_facts: false\n  tasks:\n    - debug: {msg: x}\n      nonsense: 1\n")
book("no_hosts", "- hosts: nothing\n  tasks: [{debug: {}}]\n")
book("empty", "[]\n")
CASES["crlf"] = Case(
    "- hosts: localhost\r\n  gather_facts: false\r\n  tasks:\r\n    - debug:\r\n        msg: |\r\n          a\r\n          b\r\n    - command: printf 'a\\r\\nb'\r\n"
)
book(
    "facts",
    "- hosts: localhost\n  gather_facts: true\n  gather_subset: [min]\n  tasks:\n    - debug: {msg: '{{ ansible_facts.system }} {{ ansible_system }}'}\n",
)
book(
    "two_plays_imported",
    "- import_playbook: other.yml\n- hosts: localhost\n  gather_facts: false\n  tags: [t]\n  tasks: [{debug: {msg: '{{ v }}'}}]\n",
    files={"other.yml": "- hosts: localhost\n  gather_facts: false\n  tasks: [{set_fact: {v: 1}}]\n"},
)
play("verbose", "- debug: {msg: a}\n- ping:\n- command: echo x\n", verbosity=2)
play(
    "tags",
    "- debug: {msg: a}\n  tags: [x]\n- debug: {msg: b}\n  tags: [never]\n- debug: {msg: c}\n",
    arguments="--tags x",
)
play("skipped", "- debug:\n  when: false\n- ping:\n  when: [true, false]\n- debug:\n  when: nope\n")
play("when_error", "- debug:\n  when: 'x y'\n  ignore_errors: true\n- debug: {msg: '{{ a.b.c }}'}\n  vars: {a: {}}\n")
play("set_stats", "- set_stats: {data: {a: 1}}\n- set_stats: {data: {a: 2}, per_host: true, aggregate: true}\n")
play(
    "unicode",
    "- debug: {msg: 'ünïcödé ✓ 日本'}\n- command: printf '\\xff\\xfe'\n- shell: printf '\\033[31mred'\n- debug: {msg: \"{{ '\\x1b[K' }}\"}\n",
)
play(
    "magic",
    "- debug: {msg: '{{ ansible_play_hosts }} {{ ansible_version.full }} {{ playbook_dir | basename }} {{ inventory_dir | basename }}'}\n- debug: {msg: '{{ hostvars.localhost.ansible_connection }} {{ ansible_playbook_python }} {{ omit is defined }}'}\n- command: pwd",
)
play("omit", "- ping: {data: '{{ nope | default(omit) }}'}\n- debug: {msg: '{{ omit }}'}\n")
play(
    "state_between_tasks",
    "- set_fact: {l: [1]}\n- debug: {msg: '{{ l.append(2) }}{{ l }}'}\n- debug: {var: l}\n- debug: {msg: '{{ ansible_facts.update({\"x\": 1}) }}'}\n- debug: {msg: '{{ ansible_facts.x | default(\"gone\") }}'}",
)
play(
    "file_changes",
    "- include_vars: v.yml\n- copy: {content: 'v: 2', dest: '{{ playbook_dir }}/v.yml'}\n- include_vars: v.yml\n- debug: {var: v}\n",
    files={"v.yml": "v: 1\n"},
)
play("background", "- shell: nohup sleep 1 >/dev/null 2>&1 &\n- debug:")
play(
    "big",
    "- set_fact: {big: '{{ range(20000) | list }}'}\n- debug: {msg: '{{ big | length }}'}\n- command: seq 1 20000\n  register: s\n",
)
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
play("debugger_never", "- debug:\n  debugger: never\n")
play("throttle", "- debug:\n  throttle: 1\n- debug: {msg: '{{ item }}'}\n  loop: [1]\n  throttle: 1\n")
role(
    "plain_role",
    {
        "tasks/main.yml": "- debug: {msg: '{{ p_size }}'}\n- ping: {data: '{{ size }}'}\n- include_tasks: more.yml\n",
        "tasks/more.yml": "- debug: {msg: more}\n  notify: done\n  changed_when: true\n",
        "handlers/main.yml": "- name: done\n  debug: {msg: done}\n",
        "defaults/main.yml": "p_size: '{{ size | default(1) }}'\n",
        "meta/argument_specs.yml": "argument_specs: {main: {options: {p_size: {type: int}}}}\n",
    },
    variables={"size": 3, "ansible_operator_meta": {"name": "x", "namespace": "default"}},
)
role(
    "failing_role",
    {"tasks/main.yml": "- block: [{fail: {msg: x}}]\n  rescue: [{fail: {msg: '{{ ansible_failed_result.msg }} y'}}]\n"},
)

play("pause", "- pause: {seconds: 1}\n- debug:")
play(
    "raw_script",
    "- raw: echo raw\n- script: s.sh\n- fetch: {src: /etc/hostname, dest: '{{ playbook_dir }}/f/', flat: true}\n",
    files={"s.sh": "#!/bin/sh\necho script\n"},
)
play(
    "signals",
    "- shell: \"grep -E 'SigIgn|SigBlk' /proc/$$/status\"\n- shell: ulimit -n; umask; ls /proc/$$/fd | wc -l\n",
)
play(
    "uri_and_wait",
    "- wait_for: {timeout: 1}\n- uri: {url: 'http://127.0.0.1:1/'}\n  ignore_errors: true\n- tempfile: {state: directory}\n  register: t\n- file: {path: '{{ t.path }}', state: absent}",
)
play(
    "strategy_options",
    "- debug: {msg: a}\n- ping:\n",
    head="max_fail_percentage: 10\norder: sorted\nforce_handlers: true\nignore_unreachable: true",
)
play(
    "registered_loops",
    "- command: echo {{ item }}\n  loop: [a, b]\n  register: r\n  changed_when: item == 'b'\n- debug: {msg: \"{{ r.results | map(attribute='stdout') | list }} {{ r is changed }}\"}\n- debug: {msg: '{{ item.0 }}{{ item.1 }}'}\n  with_nested: [[a, b], [c]]\n- debug: {msg: '{{ item }}'}\n  with_fileglob: '*.nothing'\n- debug: {msg: '{{ item }}'}\n  with_random_choice: [only]\n",
)
play(
    "handlers_fail",
    "- command: 'true'\n  notify: h\n- fail: {msg: x}\n",
    head="handlers: [{name: h, fail: {msg: handler}}]\nforce_handlers: true",
)
play(
    "nested_blocks",
    "- block:\n    - block:\n        - fail: {msg: inner}\n      always:\n        - debug: {msg: inner always}\n  rescue:\n    - debug: {msg: outer}\n    - meta: clear_host_errors\n- block: [{debug: {msg: '{{ x }}'}}]\n  vars: {x: 1}\n  when: true\n  tags: [t]\n",
)
play(
    "warnings",
    "- debug: {msg: '{{ item }}'}\n  loop: [1]\n  vars: {item: 5}\n- command: rm -f /nonexistent/x\n- debug: {msg: '{{ lookup(\"env\", \"NOPE\", default=\"d\") }}'}\n- set_fact: {ansible_x: 1}\n- debug: {msg: '{{ [1,2] is iterable and ansible_x }}'}\n",
)
play(
    "module_library",
    "- ping:\n  module_defaults: {ping: {data: d}}\n- stat: {path: /etc/hostname, get_mime: false, get_attributes: false}\n  register: s\n- debug: {msg: '{{ s.stat.isreg }}'}\n- slurp: {src: /nonexistent}\n  ignore_errors: true\n- ansible.builtin.ping: {data: 'ü'}\n- ansible.legacy.ping:\n- action: ping data=x\n- local_action: ping\n",
)
book(
    "vars_prompt_default",
    "- hosts: localhost\n  gather_facts: false\n  vars: {a: '{{ b }}', b: '{{ c }}', c: deep}\n  environment: '{{ {\"E\": a} }}'\n  tasks: [{shell: echo $E}, {ping: {}}]\n",
)
book(
    "groups",
    "- hosts: all\n  gather_facts: false\n  tasks: [{debug: {msg: '{{ groups }} {{ ansible_play_batch }}'}}]\n- hosts: 127.0.0.1\n  gather_facts: false\n  connection: local\n  tasks: [{ping: {}}]\n",
)
role(
    "defaults_only",
    {
        "defaults/main.yml": "a: 1\n",
        "tasks/main.yml": "- assert: {that: a == 1}\n- template: {src: t.j2, dest: '{{ role_path }}/out'}\n- include_vars: v.yml\n- debug: {var: v}\n",
        "templates/t.j2": "{{ a }}\n",
        "vars/v.yml": "v: 2\n",
    },
)
role(
    "verbose_role",
    {"tasks/main.yml": "- debug: {msg: x}\n- ping:\n- command: echo y\n- set_fact: {z: 1}\n"},
    verbosity=2,
)
role("verbose_three", {"tasks/main.yml": "- debug: {msg: x}\n- set_fact: {z: 1}\n"}, verbosity=1)
