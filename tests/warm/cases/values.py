# ruff: noqa: E501 - a task in one line reads better than one cut to fit
"""Cases of variables, lookups, filters, templates, facts and vaults."""

from __future__ import annotations

from tests.warm.cases.case import book, play

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
    "module_defaults",
    "- ping:\n- ping: {data: own}\n- debug:",
    head="module_defaults: {ping: {data: default}, debug: {msg: from defaults}}",
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
book(
    "facts",
    "- hosts: localhost\n  gather_facts: true\n  gather_subset: [min]\n  tasks:\n    - debug: {msg: '{{ ansible_facts.system }} {{ ansible_system }}'}\n",
)
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
play(
    "big",
    "- set_fact: {big: '{{ range(20000) | list }}'}\n- debug: {msg: '{{ big | length }}'}\n- command: seq 1 20000\n  register: s\n",
)
book(
    "vars_prompt_default",
    "- hosts: localhost\n  gather_facts: false\n  vars: {a: '{{ b }}', b: '{{ c }}', c: deep}\n  environment: '{{ {\"E\": a} }}'\n  tasks: [{shell: echo $E}, {ping: {}}]\n",
)
