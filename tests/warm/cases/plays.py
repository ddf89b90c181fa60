# ruff: noqa: E501 - a task in one line reads better than one cut to fit
"""Cases of whole plays, of roles, and of what does not load."""

from __future__ import annotations

from tests.warm.cases.case import Case, add, book, play, role

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
    "check_mode",
    "- command: echo\n  check_mode: true\n- ping:\n- debug: {msg: '{{ ansible_check_mode }}'}",
    arguments="--check --diff",
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
play("unreachable", "- ping:\n  vars: {ansible_connection: ssh, ansible_host: 127.0.0.1, ansible_port: 1}\n- debug:")
book("load_error", "- hosts: localhost\n  tasks:\n    - debug: {msg: x}\n    - no_such_module: {}\n")
book("syntax_error", "- hosts: localhost\n  tasks: [\n")
book("bad_keyword", "- hosts: localhost\n  gather_facts: false\n  tasks:\n    - debug: {msg: x}\n      nonsense: 1\n")
book("no_hosts", "- hosts: nothing\n  tasks: [{debug: {}}]\n")
book("empty", "[]\n")
add(
    "crlf",
    Case(
        "- hosts: localhost\r\n  gather_facts: false\r\n  tasks:\r\n    - debug:\r\n        msg: |\r\n          a\r\n          b\r\n    - command: printf 'a\\r\\nb'\r\n"
    ),
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
play(
    "strategy_options",
    "- debug: {msg: a}\n- ping:\n",
    head="max_fail_percentage: 10\norder: sorted\nforce_handlers: true\nignore_unreachable: true",
)
play(
    "handlers_fail",
    "- command: 'true'\n  notify: h\n- fail: {msg: x}\n",
    head="handlers: [{name: h, fail: {msg: handler}}]\nforce_handlers: true",
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
