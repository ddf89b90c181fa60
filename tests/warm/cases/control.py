# ruff: noqa: E501 - a task in one line reads better than one cut to fit
"""Cases of control flow: conditions, blocks, loops, retries, results."""

from __future__ import annotations

from tests.warm.cases.case import play

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
play(
    "timeout", "- command: sleep 5\n  timeout: 1\n  ignore_errors: true\n- ping:\n  timeout: 5\n- debug:\n  timeout: 3"
)
play("skipped", "- debug:\n  when: false\n- ping:\n  when: [true, false]\n- debug:\n  when: nope\n")
play("when_error", "- debug:\n  when: 'x y'\n  ignore_errors: true\n- debug: {msg: '{{ a.b.c }}'}\n  vars: {a: {}}\n")
play("debugger_never", "- debug:\n  debugger: never\n")
play("throttle", "- debug:\n  throttle: 1\n- debug: {msg: '{{ item }}'}\n  loop: [1]\n  throttle: 1\n")
play(
    "registered_loops",
    "- command: echo {{ item }}\n  loop: [a, b]\n  register: r\n  changed_when: item == 'b'\n- debug: {msg: \"{{ r.results | map(attribute='stdout') | list }} {{ r is changed }}\"}\n- debug: {msg: '{{ item.0 }}{{ item.1 }}'}\n  with_nested: [[a, b], [c]]\n- debug: {msg: '{{ item }}'}\n  with_fileglob: '*.nothing'\n- debug: {msg: '{{ item }}'}\n  with_random_choice: [only]\n",
)
play(
    "nested_blocks",
    "- block:\n    - block:\n        - fail: {msg: inner}\n      always:\n        - debug: {msg: inner always}\n  rescue:\n    - debug: {msg: outer}\n    - meta: clear_host_errors\n- block: [{debug: {msg: '{{ x }}'}}]\n  vars: {x: 1}\n  when: true\n  tags: [t]\n",
)
