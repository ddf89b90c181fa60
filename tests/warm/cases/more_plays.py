# ruff: noqa: E501 - a task in one line reads better than one cut to fit
"""Cases of many hosts, delegation, batches, tags and check mode, and of roles in their variety."""

from __future__ import annotations

from tests.warm.cases.case import book, play, role

_HOSTS = """
- hosts: localhost
  gather_facts: false
  tasks:
    - add_host: {name: 'h{{ item }}', groups: [many, 'g{{ item % 3 }}'], ansible_connection: local, number: '{{ item }}'}
      loop: '{{ range(COUNT) | list }}'
      loop_control: {label: '{{ item }}'}
"""
book(
    "add_host_500",
    _HOSTS.replace("COUNT", "500")
    + """
- hosts: localhost
  gather_facts: false
  tasks:
    - debug: {msg: '{{ groups.many | length }} {{ hostvars.h499.number }} {{ groups.g1 | length }}'}
    - ping:
- hosts: h7,h499
  gather_facts: false
  tasks: [{debug: {msg: '{{ number }} {{ group_names }}'}}]
""",
    several_hosts=True,
)
book(
    "hosts_in_batches",
    _HOSTS.replace("COUNT", "5")
    + """
- hosts: many
  gather_facts: false
  serial: [1, 40%]
  tasks:
    - debug: {msg: '{{ ansible_play_batch }} {{ ansible_play_hosts_all | length }}'}
    - debug: {msg: once a batch}
      run_once: true
    - set_fact: {mine: '{{ number }}'}
    - debug: {msg: "{{ ansible_play_batch | map('extract', hostvars, 'mine') | list }}"}
""",
    several_hosts=True,
)
book(
    "hosts_that_fail",
    _HOSTS.replace("COUNT", "4")
    + """
- hosts: many
  gather_facts: false
  serial: 2
  max_fail_percentage: 49
  tasks:
    - fail: {msg: x}
      when: number | int == 2
    - debug: {msg: left}
- hosts: many
  gather_facts: false
  order: reverse_sorted
  tasks: [{debug: {msg: second play}}]
""",
    several_hosts=True,
)
book(
    "hosts_one_by_one",
    _HOSTS.replace("COUNT", "3")
    + "- hosts: many\n  gather_facts: false\n  serial: 1\n  any_errors_fatal: true\n  tasks: [{ping: {}}, {fail: {msg: x}, when: number | int == 1}, {debug: {msg: on}}]\n",
)
book(
    "delegation_to_others",
    _HOSTS.replace("COUNT", "3")
    + """
- hosts: localhost
  gather_facts: false
  tasks:
    - ping:
      delegate_to: h1
    - command: echo {{ inventory_hostname }} {{ item }}
      delegate_to: '{{ item }}'
      loop: [h0, h2]
      register: r
    - debug: {msg: "{{ r.results | map(attribute='stdout') | list }}"}
    - set_fact: {given: 1}
      delegate_to: h1
      delegate_facts: true
    - debug: {msg: '{{ hostvars.h1.given }} {{ given | default("not here") }}'}
    - debug: {msg: '{{ ansible_delegated_vars | default("none") }}'}
      delegate_to: h2
    - ping:
      delegate_to: nowhere.invalid
      ignore_errors: true
      ignore_unreachable: true
      vars: {ansible_connection: local}
- hosts: many
  gather_facts: false
  tasks:
    - set_fact: {one: '{{ number }}'}
      run_once: true
      delegate_to: localhost
    - debug: {msg: '{{ one | default("unset") }}'}
    - local_action: command echo {{ number }}
      run_once: true
""",
    several_hosts=True,
)
book(
    "handlers_in_variety",
    """
    - hosts: localhost
      gather_facts: false
      tasks:
        - command: echo {{ item }}
          loop: [a, b]
          notify: ['h {{ item }}', listened]
        - include_role: {name: r}
        - command: 'true'
          notify: r handler
        - command: 'true'
          notify: nothing of that name
          ignore_errors: true
      handlers:
        - {name: h a, debug: {msg: a}}
        - {name: h b, ping: {}, listen: listened}
    """,
    files={
        "roles/r/tasks/main.yml": "- command: 'true'\n  notify: [r handler, listened]\n",
        "roles/r/handlers/main.yml": "- name: r handler\n  ping: {data: '{{ role_name }}'}\n- name: other\n  listen: listened\n  debug: {msg: of the role}\n",
    },
)
book(
    "meta_tasks",
    """
    - hosts: localhost
      gather_facts: false
      tasks:
        - fail: {msg: x}
          ignore_errors: true
        - meta: clear_host_errors
        - meta: reset_connection
        - command: 'true'
          notify: h
        - meta: flush_handlers
        - meta: end_role
          when: false
        - include_role: {name: ends}
        - meta: end_host
        - debug: {msg: never}
      handlers: [{name: h, debug: {msg: flushed}}]
    """,
    files={"roles/ends/tasks/main.yml": "- debug: {msg: a}\n- meta: end_role\n- debug: {msg: never}\n"},
)
_CHANGES = """
- copy: {content: 'new {{ 1 + 1 }}\n', dest: '{{ playbook_dir }}/f.txt'}
- template: {src: t.j2, dest: '{{ playbook_dir }}/o.txt'}
- lineinfile: {path: '{{ playbook_dir }}/f.txt', line: added}
- blockinfile: {path: '{{ playbook_dir }}/f.txt', block: b}
- file: {path: '{{ playbook_dir }}/d', state: directory}
- command: touch {{ playbook_dir }}/g
  args: {creates: '{{ playbook_dir }}/g'}
- debug: {msg: '{{ ansible_check_mode }} {{ ansible_diff_mode }}'}
- ping:
  check_mode: false
- copy: {content: secret, dest: '{{ playbook_dir }}/h.txt'}
  no_log: true
- copy: {content: no diff, dest: '{{ playbook_dir }}/i.txt'}
  diff: false
"""
for _name, _arguments in {
    "changes": "",
    "changes_checked": "--check",
    "changes_shown": "--diff",
    "changes_checked_and_shown": "--check --diff",
}.items():
    play(
        _name,
        _CHANGES,
        files={"t.j2": "{% for i in [1, 2] %}\n{{ i }}\n{% endfor %}\n", "f.txt": "old\n"},
        arguments=_arguments,
    )
_TAGGED = "- debug: {msg: a}\n  tags: [x]\n- debug: {msg: b}\n  tags: [never, y]\n- debug: {msg: c}\n- debug: {msg: d}\n  tags: [always]\n- include_tasks: {file: i.yml, apply: {tags: x}}\n  tags: [x]\n- import_tasks: i.yml\n  tags: [y]\n"
for _name, _arguments in {
    "tags_skipped": "--skip-tags x",
    "tags_of_all": "--tags all,y",
    "start_at": "--start-at-task named",
    "extra_vars": "-e a=1 -e '{\"b\": [1]}' -e @CONTENT/e.yml",
    "limit": "--limit localhost",
    "limit_nobody": "--limit nobody",
    "syntax_check": "--syntax-check",
    "list_tasks": "--list-tasks",
    "forks": "--forks 1 --flush-cache",
    "step_help": "--no-such-option",
}.items():
    play(
        f"argument_{_name}",
        _TAGGED + "- name: named\n  debug: {msg: '{{ a | default(0) }} {{ b | default(0) }} {{ e | default(0) }}'}\n",
        files={"i.yml": "- debug: {msg: included}\n", "e.yml": "e: 5\n"},
        arguments=_arguments,
    )
role(
    "role_in_variety",
    {
        "tasks/main.yml": '- import_tasks: one.yml\n- include_tasks: \'{{ item }}.yml\'\n  loop: [one, two]\n- include_tasks: gone.yml\n  ignore_errors: true\n- include_role: {name: inner}\n  vars: {passed: 1}\n- debug: {msg: \'{{ inner_default | default("private") }} {{ role_names | default([]) }} {{ ansible_role_names }} {{ role_path | basename }}\'}\n- copy: {src: f.txt, dest: \'{{ role_path }}/g.txt\'}\n- debug: {msg: \'{{ lookup("file", "f.txt") }} {{ lookup("template", "t.j2") }} {{ query("fileglob", "*.txt") | length }}\'}\n',
        "tasks/one.yml": "- debug: {msg: one}\n",
        "tasks/two.yml": "- block: [{debug: {msg: two}}, {fail: {msg: x}}]\n  rescue: [{debug: {msg: '{{ ansible_failed_task.action }}'}}]\n  always: [{ping: {}}]\n",
        "files/f.txt": "file\n",
        "templates/t.j2": "{{ var_of_role }}{% include 'u.j2' %}\n",
        "templates/u.j2": "included",
        "vars/main.yml": "var_of_role: v\n",
        "meta/main.yml": "dependencies: []\nallow_duplicates: true\n",
        "../inner/tasks/main.yml": "- debug: {msg: 'inner {{ passed }} {{ inner_default }}'}\n",
        "../inner/defaults/main.yml": "inner_default: d\n",
    },
    variables={"spec": {"a": [1, {"b": None}]}, "state": "present"},
)
role(
    "role_with_bad_arguments",
    {
        "tasks/main.yml": "- debug:\n",
        "meta/argument_specs.yml": "argument_specs: {main: {options: {size: {type: int, required: true}, kind: {choices: [a, b]}}}}\n",
    },
    variables={"size": "many", "kind": "c"},
)
role("role_that_does_not_load", {"tasks/main.yml": "- debug: [\n"})
role("role_without_tasks", {"defaults/main.yml": "a: 1\n"})
role(
    "role_with_a_missing_dependency",
    {"meta/main.yml": "dependencies: [{role: absent}]\n", "tasks/main.yml": "- debug:\n"},
)
_CRLF = {
    "tasks/main.yml": "- debug:\r\n    msg: |\r\n      a\r\n      b\r\n- template: {src: t.j2, dest: '{{ role_path }}/o'}\r\n  diff: true\r\n",
    "templates/t.j2": "{{ 1 }}\r\nx\r\n",
    "defaults/main.yml": "a: 'x'\r\n",
}
role("role_with_crlf", _CRLF)
play(
    "yaml_in_variety",
    "- debug: {msg: !unsafe '{{ kept }}'}\n- debug: {msg: 0x10}\n- debug: {msg: 1_000}\n- debug: {msg: yes}\n- debug: {msg: 2024-01-01}\n- debug: {msg: &a [1], var: omit}\n- set_fact: {d: {k: 1, k: 2}}\n- debug: {msg: '{{ d }}'}\n- debug: {msg: ~}\n- debug: {msg: 1e3}\n- debug: {msg: 0o17}\n",
)
play(
    "extra_variables",
    "- debug: {msg: '{{ spec }} {{ unsafe }} {{ ansible_operator_meta.name }} {{ _x.metadata.labels }}'}\n- debug: {msg: '{{ item }}'}\n  loop: '{{ spec.list }}'\n- set_fact: {spec: 1}\n- debug: {var: spec}\n- debug: {msg: '{{ vars.spec }}'}\n",
    variables={
        "spec": {"list": [1, "{{ 1 + 1 }}", None, 1.5, True, "", "ü", {"a b": "c"}]},
        "unsafe": "{{ lookup('pipe', 'id') }}",
        "ansible_operator_meta": {"name": "n"},
        "_x": {"metadata": {"labels": {"a/b": "c"}}},
    },
)
