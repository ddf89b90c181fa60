# ruff: noqa: E501 - a task in one line reads better than one cut to fit
"""Cases of keywords: templated, inherited, left out, of a wrong type, at every level; and of what tasks import."""

from __future__ import annotations

from tests.warm.cases.case import play, role

play(
    "attributes_templated",
    """
    - ping:
      no_log: '{{ yes_ }}'
      ignore_errors: '{{ not yes_ }}'
      ignore_unreachable: '{{ yes_ }}'
      run_once: '{{ "yes" }}'
      become: '{{ false }}'
      check_mode: '{{ "no" }}'
      diff: '{{ yes_ }}'
      retries: '{{ "2" }}'
      delay: '{{ 0 }}'
      until: true
    - name: 'named {{ yes_ }} {{ gone }}'
      debug: {msg: '{{ word }}'}
      connection: '{{ "local" }}'
      remote_user: '{{ word }}'
      port: '{{ 22 }}'
      tags: ['{{ word }}', b]
      environment: [{A: '{{ word }}'}, '{{ {"B": 1} }}']
    - shell: echo $A $B $C
      environment: '{{ {"A": word, "C": none} }}'
    - debug: {msg: '{{ ansible_check_mode }} {{ ansible_diff_mode }}'}
      become_user: '{{ word }}'
      become_method: '{{ "su" + "do" }}'
      become_flags: '{{ "" }}'
      timeout: '{{ 0 }}'
    - debug: {msg: '#jinja2: is no header here'}
      remote_user: '#{{ word }}'
      become_user: '{ word }'
    """,
    head="vars: {yes_: true, word: 'a b'}",
)
play(
    "attributes_left_out",
    """
    - block:
        - debug: {msg: '{{ ansible_check_mode }}'}
          ignore_errors: '{{ omit }}'
          no_log: '{{ gone | default(omit) }}'
          become: '{{ omit }}'
          check_mode: '{{ omit }}'
          diff: '{{ omit }}'
          environment: '{{ omit }}'
          remote_user: '{{ omit }}'
          become_user: '{{ omit }}'
          connection: '{{ omit }}'
          delegate_to: '{{ omit }}'
          name: '{{ omit }}'
        - fail: {msg: stays ignored}
          ignore_errors: '{{ omit }}'
        - shell: echo $A
          environment: [{B: c}, '{{ omit }}', {A: '{{ omit }}'}]
      ignore_errors: true
      check_mode: true
      environment: {A: block}
      remote_user: of the block
    - ping:
      retries: '{{ omit }}'
      delay: '{{ omit }}'
      timeout: '{{ omit }}'
      register: found
      until: found is success
    """,
    head="environment: {A: play}\nremote_user: of the play",
)
role(
    "attributes_inherited",
    {
        "defaults/main.yml": "word: default\n",
        "meta/main.yml": "collections: [kubernetes.core]\n",
        "tasks/main.yml": """
        - block:
            - block:
                - shell: echo $A $B $D
                  environment: {B: task}
                - debug: {msg: '{{ word }} {{ inner }} {{ outer }}'}
                  tags: task
                - import_tasks: more.yml
                - include_tasks: {file: more.yml, apply: {tags: applied, environment: {D: applied}, ignore_errors: '{{ true }}'}}
              vars: {inner: '{{ word }}'}
              environment: {A: inner}
              tags: inner
              ignore_errors: true
          vars: {outer: 1}
          environment: {A: outer, B: outer}
          tags: [outer, inner]
          when: word is defined
          collections: [ansible.builtin]
          module_defaults: {debug: {msg: of the block}}
        - debug:
        """,
        "tasks/more.yml": """
        - debug:
        - fail: {msg: '{{ outer }} {{ inner }}'}
        - shell: echo $A $B $D
          when: [true, inner == 'default']
        """,
    },
)
play(
    "attributes_of_a_wrong_type",
    """
    - {debug: {msg: no}, retries: many, until: true, ignore_errors: true}
    - {debug: {msg: no}, become: maybe, ignore_errors: true}
    - {debug: {msg: no}, timeout: '1.5', ignore_errors: true}
    - {debug: {msg: no}, delay: x, ignore_errors: true}
    - {debug: {msg: no}, port: '{{ [] }}', ignore_errors: true}
    - {debug: {msg: no}, environment: 5, ignore_errors: true}
    - {debug: {msg: yes}, check_mode: 'on', diff: 0, no_log: 'n'}
    - {debug: {msg: yes}, register: 'a{{ 1 }}', ignore_errors: true}
    """,
)
play("attributes_unknown", "- {debug: {msg: no}, nonsense: 1}\n")
play("attributes_string_is_a_list", "- {debug: {msg: no}, remote_user: [a, b]}\n")
play(
    "attributes_string_is_a_number", "- {debug: {msg: yes}, remote_user: 5, name: 7}\n- {ping: {}, become_user: 1.5}\n"
)
play("attributes_register_no_name", "- {debug: {msg: no}, register: '1a'}\n")
play("attributes_collections_templated", "- {debug: {msg: yes}, collections: ['{{ 1 }}']}\n")
play("attributes_verbose", "- {debug: {msg: a}}\n- {ping: {data: b}}\n- {shell: echo c}\n", verbosity=2)
play("attributes_debug", "- {debug: {msg: a}}\n- {ping: {data: b}}\n", environment={"ANSIBLE_DEBUG": "0"})
play(
    "plugin_that_appears",
    """
    - copy: {content: "def main(): pass\\n", dest: '{{ playbook_dir }}/library/late.py'}
    - ping:
    - copy: {content: "#!/bin/sh\\necho '{\\"changed\\": false, \\"x\\": 1}'\\n", dest: '{{ playbook_dir }}/library/later', mode: '0755'}
    - later:
      ignore_errors: true
    - file: {path: '{{ playbook_dir }}/library/late.py', state: absent}
    - file: {path: '{{ playbook_dir }}/library/later', state: absent}
    """,
    files={"library/there.py": ""},
)
play(
    "filter_that_takes_modules_away",
    """
    - debug: {msg: '{{ "colorsys" | gone }}'}
    - debug: {msg: '{{ "colorsys" | gone }}'}
    - set_fact: {x: '{{ "sndhdr" | gone }}'}
    - debug: {msg: '{{ x }} {{ "colorsys" | gone }}'}
    """,
    files={
        "filter_plugins/takes.py": """
        import importlib
        import sys


        def gone(name):
            before = name in sys.modules
            importlib.import_module(name)
            sys.modules.pop("json.scanner", None)
            return [before, sys.modules.pop(name).__name__]


        class FilterModule:
            def filters(self):
                return {"gone": gone}
        """
    },
)
play(
    "facts_like_connections",
    """
    - set_fact: {ansible_ssh_thing: 2, plain: 3, ansible_other: 4, cacheable: true}
    - debug: {msg: '{{ plain }} {{ ansible_facts | string }}'}
    - set_fact: {plain: 5, cacheable: true}
    - debug: {msg: '{{ plain }} {{ ansible_facts.plain }}'}
    """,
)
