# ruff: noqa: E501 - a task in one line reads better than one cut to fit
"""Cases of background tasks, other rights and connections, warnings, and results in their variety."""

from __future__ import annotations

import shutil

from tests.warm.cases.case import book, play

play(
    "async_in_variety",
    """
    - command: sleep 3
      async: 1
      poll: 1
      ignore_errors: true
    - command: 'false'
      async: 10
      poll: 1
      ignore_errors: true
    - ping:
      async: 10
      poll: 1
    - command: echo {{ item }}
      loop: [a, b]
      async: 10
      poll: 0
      register: jobs
    - async_status: {jid: '{{ item.ansible_job_id }}'}
      loop: '{{ jobs.results }}'
      loop_control: {label: '{{ item.item }}'}
      register: ended
      until: ended is finished
      retries: 30
      delay: 1
      no_log: true
    - debug: {msg: "{{ ended.results | map(attribute='stdout') | list }}"}
    - async_status: {jid: '1.2', mode: cleanup}
      ignore_errors: true
    - debug: {msg: x}
      async: 5
      ignore_errors: true
    """,
)
_BECOME = "- command: id -un\n  become: true\n  become_user: nobody\n  ignore_errors: true\n- ping:\n  become: true\n  become_method: su\n- debug: {msg: '{{ 1 + 1 }}'}\n  become: true\n- ping:\n  vars: {ansible_become: true, ansible_become_method: su}\n- command: id -un\n"
if shutil.which("su"):  # other users' rights need a tool for them, and no password of ours
    play("become_by_su", _BECOME, environment={"ANSIBLE_BECOME_METHOD": "su"})
play(
    "become_without_a_tool",
    _BECOME.replace("su\n", "none.such.method\n").replace("method: su", "method: none.such"),
    environment={"ANSIBLE_BECOME_METHOD": "none.such.method"},
)
play(
    "become_not_allowed",
    "- command: echo\n  become: true\n  ignore_errors: true\n",
    environment={"ANSIBLE_BECOME_EXE": "/nonexistent/sudo"},
)
play(
    "connections",
    """
    - ping:
      vars: {ansible_connection: none.such}
      ignore_errors: true
    - ping:
      vars: {ansible_connection: ssh, ansible_host: 127.0.0.1, ansible_port: 1}
      ignore_unreachable: true
    - debug: {msg: here}
      vars: {ansible_connection: ssh, ansible_host: 127.0.0.1, ansible_port: 1}
    - ping:
      vars: {ansible_shell_executable: /bin/bash}
    - ping:
      vars: {ansible_shell_type: none.such}
      ignore_errors: true
    - ping:
      vars: {ansible_remote_tmp: '{{ playbook_dir }}/remote'}
    - ping:
      vars: {ansible_python_interpreter: auto}
    - stat: {path: /}
      vars: {ansible_python_interpreter: /usr/bin/python3}
      register: s
    - debug: {msg: '{{ s.stat.exists }}'}
    - ping:
      connection: local
    """,
)
play(
    "verbosity_three",
    "- ping:\n- debug: {msg: a, verbosity: 3}\n- debug: {msg: b, verbosity: 4}\n- command: echo x\n",
    verbosity=1,
    environment={"ANSIBLE_VERBOSITY": "1"},
)
_OLD = """
#!/usr/bin/python
from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.common.warnings import deprecate, warn
m = AnsibleModule({"old": {"type": "str", "removed_in_version": "9", "removed_from_collection": "a.b", "aliases": ["older"], "deprecated_aliases": [{"name": "older", "version": "9", "collection_name": "a.b"}]}, "secret": {"type": "str"}, "password_x": {"type": "str"}})
warn("a warning of a function"); deprecate("a deprecation of a function", date="2030-01-01", collection_name="a.b")
m.warn("twice"); m.warn("twice")
m.exit_json(warnings=["of the result"], deprecations=[{"msg": "of the result", "version": "9"}], msg="done")
"""
play(
    "warnings_of_modules",
    "- old:\n- old: {old: x}\n- old: {older: x}\n- old:\n  loop: [1, 2]\n- old: {old: y}\n  register: o\n- debug: {var: o.warnings}\n- ping:\n",
    files={"library/old.py": _OLD.lstrip()},
)
play(
    "warnings_switched_off",
    "- old: {old: x}\n- command: rm -f /nonexistent/x\n",
    files={"library/old.py": _OLD.lstrip()},
    environment={"ANSIBLE_DEPRECATION_WARNINGS": "0", "ANSIBLE_COMMAND_WARNINGS": "0", "ANSIBLE_ACTION_WARNINGS": "0"},
)
play(
    "warnings_of_ansible",
    """
    - debug: {msg: '{{ x }}'}
      when: '{{ true }}'
      ignore_errors: true
    - set_fact: {environment: 1}
    - set_fact: {hosts: x, name: y}
    - debug: {msg: '{{ name }}'}
    - include_vars: {file: v.yml}
    - debug: {msg: '{{ ansible_hostname | default("no facts") }}'}
    - debug:
        msg: '{{ "a" | password_hash("sha512", "saltsalt") | length > 0 }}'
      ignore_errors: true
    - debug: {msg: '{{ none_such() }}'}
      ignore_errors: true
    - debug: {msg: '{{ {} | random }}'}
      ignore_errors: true
    - debug: {msg: '{{ "{{ 1 }}" }}'}
    - debug: {msg: '{{ lookup("items", [1, 2]) }}', var: x}
      ignore_errors: true
    """,
    files={"v.yml": "tags: 1\nblock: 2\n"},
)
play(
    "result_formats",
    "- raw: printf 'a\\tb\\r\\n'\n- command: printf '{\"json\": 1}'\n- shell: printf '%s' \"$0\"\n- command: {argv: [echo, 'a b', $HOME]}\n- command: cat\n  args: {stdin: fed, chdir: /, strip_empty_ends: false}\n- shell: 'exit 200'\n  ignore_errors: true\n- command: head -c 100 /dev/zero\n  register: z\n- debug: {msg: '{{ z.stdout | length }}'}\n- script: none.sh\n  ignore_errors: true\n- assemble: {src: parts, dest: '{{ playbook_dir }}/whole', remote_src: true}\n",
    files={"parts/a": "1\n", "parts/b": "2\n"},
)
play(
    "registered",
    "- ping:\n  register: p\n- debug: {msg: '{{ p }} {{ p is succeeded }} {{ p is changed }} {{ p is skipped }}'}\n- debug:\n  when: false\n  register: p\n- debug: {msg: '{{ p is skipped }}'}\n- fail: {msg: x}\n  register: p\n  ignore_errors: true\n- debug: {msg: '{{ p is failed }} {{ p.msg }}'}\n- ping: {data: '{{ item }}'}\n  loop: [a, crash]\n  register: p\n  ignore_errors: true\n- debug: {msg: \"{{ p.results | map(attribute='failed') | list }}\"}\n- command: echo {{ item }}\n  loop: [1, 2]\n  register: q\n  failed_when: q.stdout == '2'\n  ignore_errors: true\n- stat: {path: /}\n  register: '{{ \"named\" }}'\n- debug: {msg: '{{ named is defined }}'}\n",
)
play(
    "projections",
    "- ping:\n  register: {one: _task.result.ping}\n  ignore_errors: true\n- debug: {msg: '{{ one | default(\"unset\") }}'}\n",
)
play(
    "conditions",
    "- debug: {msg: a}\n  when: x is defined and x\n  vars: {x: true}\n- debug: {msg: b}\n  when: [a | default(true), not b | default(false)]\n- debug: {msg: c}\n  when: \"'str'\"\n  ignore_errors: true\n- ping:\n  changed_when: [true, false]\n- ping:\n  failed_when: [true, true]\n  ignore_errors: true\n- ping:\n  changed_when: nope\n  ignore_errors: true\n- ping:\n  failed_when: nope\n  ignore_errors: true\n- debug: {msg: d}\n  when: 1\n  ignore_errors: true\n",
    environment={"ANSIBLE_ALLOW_BROKEN_CONDITIONALS": "1"},
)
play(
    "until_in_variety",
    "- command: sh -c 'echo x >> {{ playbook_dir }}/n; wc -l < {{ playbook_dir }}/n'\n  register: r\n  until: r.stdout | int >= 2\n  retries: 3\n  delay: 1\n- stat: {path: '{{ playbook_dir }}/none'}\n  register: s\n  until: s.stat.exists\n  retries: 2\n  delay: 0\n  ignore_errors: true\n- fail: {msg: x}\n  retries: 1\n  delay: 0\n  ignore_errors: true\n- ping:\n  until: nope\n  retries: 1\n  delay: 0\n  ignore_errors: true\n",
)
play(
    "modules_of_the_platform",
    "- file: {path: '{{ playbook_dir }}/l', src: /etc, state: link}\n- find: {paths: '{{ playbook_dir }}', patterns: '*.yml'}\n  register: f\n- debug: {msg: '{{ f.matched }}'}\n- replace: {path: '{{ playbook_dir }}/playbook.yml', regexp: nothing, replace: x}\n- get_url: {url: 'file:///etc/hostname', dest: '{{ playbook_dir }}/h'}\n- tempfile:\n  register: t\n- stat: {path: '{{ t.path }}'}\n  register: s\n- debug: {msg: '{{ s.stat.exists }} {{ s.stat.mode }}'}\n- file: {path: '{{ t.path }}', state: absent}\n- unarchive: {src: none.tgz, dest: /tmp}\n  ignore_errors: true\n- getent: {database: passwd, key: root}\n- wait_for: {path: /etc/hostname, timeout: 2}\n- package_facts:\n  ignore_errors: true\n  no_log: true\n- service: {name: none-such, state: started}\n  ignore_errors: true\n- pip: {name: ''}\n  ignore_errors: true\n- import_role: {name: none}\n  when: false\n".replace(
        "- import_role: {name: none}\n  when: false\n", ""
    ),
)
play(
    "environment_in_variety",
    '- shell: echo $A $B\n- block:\n    - shell: echo $A $B\n      environment: {A: task}\n  environment: {A: block, B: block}\n- debug: {msg: \'{{ ansible_env.A | default("unset") }} {{ lookup("env", "A") }}\'}\n- shell: echo $A\n  environment: [{A: one}, {A: two}]\n- shell: echo $A\n  environment: \'{{ {"A": x} }}\'\n  vars: {x: templated}\n- ping:\n  environment: {A: \'{{ nope }}\'}\n  ignore_errors: true\n- shell: echo $PATH | cut -c1-4\n  environment: {PATH: \'/x:{{ lookup("env", "PATH") }}\'}\n',
    head="environment: {A: play}",
)
book(
    "module_defaults_in_variety",
    "- hosts: localhost\n  gather_facts: false\n  module_defaults:\n    group/kubernetes.core.k8s: {host: 'https://127.0.0.1:1', api_key: x}\n    ping: {data: play}\n  tasks:\n    - ping:\n    - block: [{ping: {}}, {ansible.builtin.ping: {}}, {ansible.legacy.ping: {}}]\n      module_defaults: {ping: {data: block}}\n    - kubernetes.core.k8s_info: {kind: Namespace}\n      ignore_errors: true\n    - ping:\n      module_defaults: [{ping: {data: '{{ x }}'}}, {debug: {msg: no}}]\n      vars: {x: templated}\n    - debug:\n    - ping:\n      args: {data: args}\n",
)
play(
    "templates",
    "- template: {src: a.j2, dest: '{{ playbook_dir }}/o', trim_blocks: false, lstrip_blocks: true, newline_sequence: \"\\r\\n\"}\n  diff: true\n- template: {src: m.j2, dest: '{{ playbook_dir }}/o2', variable_start_string: '[[', variable_end_string: ']]'}\n  diff: true\n- template: {src: bad.j2, dest: '{{ playbook_dir }}/o3'}\n  ignore_errors: true\n- template: {src: none.j2, dest: '{{ playbook_dir }}/o3'}\n  ignore_errors: true\n- debug: {msg: '{% for i in range(3) %}{{ i }}{% if not loop.last %},{% endif %}{% endfor %}'}\n- debug: {msg: '{% set x = [1] %}{% do x.append(2) %}{{ x }}'}\n  ignore_errors: true\n- debug: {msg: '{% macro m(a) %}<{{ a }}>{% endmacro %}{{ m(1) }}'}\n- debug: {msg: '{{ now(utc=true).year > 2000 }} {{ undef(hint=\"h\") }}'}\n  ignore_errors: true\n- debug: {msg: \"{{ '%05.1f' | format(3.14159) }} {{ [1,2,3] | batch(2) | list }} {{ 'a' ~ 1 }} {{ 1 if x is defined }}\"}\n",
    files={
        "a.j2": "{% for i in [1] %}\n  {% if i %}\n  x{{ i }}\n  {% endif %}\n{% endfor %}\n",
        "m.j2": "{% import 'macros.j2' as m %}[[ m.f(1) ]] {{ kept }}\n",
        "macros.j2": "{% macro f(x) %}f[[ x ]]{% endmacro %}\n",
        "bad.j2": "{% if %}\n",
    },
)
play(
    "filters_and_tests",
    '- debug: {msg: \'{{ [{"a": 1, "b": 2}, {"a": 3}] | json_query("[].a") }}\'}\n  ignore_errors: true\n- debug: {msg: \'{{ {"a": 1} | dict2items }} {{ [{"key": 1, "value": 2}] | items2dict }} {{ [1, 2] | zip([3, 4]) | list }} {{ "a.b" | regex_replace("\\\\.", "-") }}\'}\n- debug: {msg: \'{{ "10.0.0.1" | ansible.utils.ipaddr }}\'}\n  ignore_errors: true\n- debug: {msg: \'{{ [3, 1, 2] | shuffle(seed=5) }} {{ "x" | hash("md5") }} {{ 1024 | human_readable }} {{ "1GB" | human_to_bytes }}\'}\n- debug: {msg: \'{{ "2024-01-01" | to_datetime("%Y-%m-%d") }} {{ "%Y" | strftime(0) }} {{ "a" in ["a"] }} {{ [1] is subset([1, 2]) }}\'}\n- debug: {msg: \'{{ {"a": {"b": 1}} | combine({"a": {"c": 2}}, recursive=true) }} {{ "/a/b.c" | splitext }} {{ "x" | ternary(1, 2) }}\'}\n- debug: {msg: \'{{ none | default("d", true) }} {{ nope | mandatory("needed") }}\'}\n  ignore_errors: true\n- debug: {msg: \'{{ [1, 2] | sum / 0 }}\'}\n  ignore_errors: true\n- debug: {msg: \'{{ "x: [" | from_yaml }}\'}\n  ignore_errors: true\n- debug: {msg: \'{{ "{" | from_json }}\'}\n  ignore_errors: true\n',
)
play(
    "lookups_in_variety",
    '- debug: {msg: \'{{ lookup("password", playbook_dir + "/p chars=digits length=4") | length }} {{ lookup("password", playbook_dir + "/p") == lookup("file", playbook_dir + "/p") }}\'}\n- debug: {msg: \'{{ lookup("csvfile", "a file=c.csv delimiter=,") }} {{ lookup("ini", "k section=s file=i.ini") }} {{ lookup("dict", {"a": 1}) }}\'}\n- debug: {msg: \'{{ lookup("varnames", "^ansible_play_n") }} {{ lookup("vars", "x", default="d") }} {{ query("sequence", "count=2") }}\'}\n- debug: {msg: \'{{ item }}\'}\n  with_subelements: [[{a: 1, l: [x, y]}], l]\n- debug: {msg: \'{{ item }}\'}\n  with_together: [[1, 2], [3, 4]]\n- debug: {msg: \'{{ item }}\'}\n  with_indexed_items: [a, b]\n- debug: {msg: \'{{ item }}\'}\n  with_lines: [echo one, echo two]\n- debug: {msg: \'{{ lookup("pipe", "exit 3") }}\'}\n  ignore_errors: true\n- debug: {msg: \'{{ lookup("url", "http://127.0.0.1:1/") }}\'}\n  ignore_errors: true\n- debug: {msg: \'{{ lookup("none.such") }}\'}\n  ignore_errors: true\n- debug: {msg: \'{{ item.key }}\'}\n  with_dict: \'{{ nope | default({}) }}\'\n- debug: {msg: \'{{ lookup("first_found", {"files": ["x"], "skip": true}) }}\'}\n',
    files={"c.csv": "a,1\n", "i.ini": "[s]\nk=v\n"},
)
