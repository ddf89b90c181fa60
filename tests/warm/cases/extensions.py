# ruff: noqa: E501 - a task in one line reads better than one cut to fit
"""Cases of what users add to Ansible: inventory, vars, cache and strategy plugins, collections, ansible.cfg."""

from __future__ import annotations

from tests.warm.cases.case import book, play, role

play(
    "configuration_file",
    '- debug: {msg: \'{{ lookup("config", "DEFAULT_FORKS") }} {{ lookup("config", "DEFAULT_JINJA2_NATIVE", on_missing="skip") }}\'}\n- mine:\n- debug: {msg: \'{{ 1 | plus }}\'}\n- include_role: {name: far}\n- fail: {msg: x}\n  ignore_errors: true\n',
    files={
        "ansible.cfg": "[defaults]\nforks = 3\nstdout_callback = minimal\nroles_path = far_roles\nlibrary = far_library\nfilter_plugins = far_filters\nany_errors_fatal = false\n[diff]\nalways = true\n",
        "far_roles/far/tasks/main.yml": "- debug: {msg: '{{ role_path | basename }}'}\n",
        "far_library/mine.py": "#!/usr/bin/python\nfrom ansible.module_utils.basic import AnsibleModule\nAnsibleModule({}).exit_json(mine=True)\n",
        "far_filters/f.py": "class FilterModule:\n    def filters(self):\n        return {'plus': lambda x: x + 1}\n",
    },
    environment={"ANSIBLE_CONFIG": "CONTENT/ansible.cfg"},
)
play(
    "variables_of_ansible",
    "- command: echo {{ item }}\n  loop: [a]\n  notify: h\n- debug: {msg: '{{ undefined_one }}'}\n  ignore_errors: true\n- template: {src: t.j2, dest: '{{ playbook_dir }}/o'}\n",
    head="handlers: [{name: h, debug: {msg: h}}]",
    files={"t.j2": "{{ ansible_managed }}\n"},
    environment={
        "ANSIBLE_DIFF_ALWAYS": "1",
        "ANSIBLE_NOCOLOR": "1",
        "ANSIBLE_FORKS": "2",
        "ANSIBLE_DISPLAY_ARGS_TO_STDOUT": "1",
        "ANSIBLE_FORCE_HANDLERS": "1",
    },
)
_INVENTORY = {
    "inventory/hosts.yml": "all:\n  vars: {everywhere: 1}\n  children:\n    web:\n      hosts:\n        w1: {ansible_connection: local, port: 80}\n        w2: {ansible_connection: local, port: 81}\n",
    "inventory/host_vars/w1.yml": "own: yes\n",
    "inventory/group_vars/web.yml": "grouped: g\n",
    "inventory/zz.yml": "plugin: ansible.builtin.constructed\ngroups: {low: port == 80}\nkeyed_groups: [{key: port, prefix: port}]\ncompose: {twice: port * 2}\n",
}
book(
    "inventory_of_the_operator",
    """
    - hosts: web
      gather_facts: false
      tasks:
        - debug: {msg: '{{ inventory_hostname }} {{ port }} {{ own | default("no") }} {{ grouped }} {{ everywhere }} {{ twice }} {{ group_names }}'}
        - ping:
        - debug: {msg: '{{ groups }}'}
          run_once: true
    - hosts: localhost
      tasks: [{ping: {}}]
      gather_facts: false
    """,
    files=_INVENTORY,
    environment={"ANSIBLE_INVENTORY": "CONTENT/inventory"},
)
book(
    "implicit_localhost",
    """
    - hosts: localhost
      gather_facts: false
      tasks:
        - debug: {msg: '{{ ansible_connection | default("unset") }} {{ groups }} {{ ansible_python_interpreter | default("unset") == ansible_playbook_python }}'}
        - ping:
        - command: echo implicit
    """,
    files={"inventory/hosts": "elsewhere ansible_connection=local\n"},
    environment={"ANSIBLE_INVENTORY": "CONTENT/inventory"},
)
book(
    "inventory_plugin_of_the_user",
    "- hosts: made\n  gather_facts: false\n  tasks: [{debug: {msg: '{{ inventory_hostname }} {{ number }}'}}]\n",
    files={
        "inventory/x.made": "count: 2\n",
        "plugins/making.py": """
            from ansible.plugins.inventory import BaseInventoryPlugin
            CALLS = []
            class InventoryModule(BaseInventoryPlugin):
                NAME = "making"
                def verify_file(self, path):
                    return path.endswith(".made")
                def parse(self, inventory, loader, path, cache=True):
                    super().parse(inventory, loader, path, cache)
                    CALLS.append(path)
                    inventory.add_group("made")
                    for number in range(loader.load_from_file(path)["count"]):
                        inventory.add_host(f"m{number}", group="made")
                        inventory.set_variable(f"m{number}", "number", number + 10 * len(CALLS))
                        inventory.set_variable(f"m{number}", "ansible_connection", "local")
            """,
    },
    environment={
        "ANSIBLE_INVENTORY": "CONTENT/inventory",
        "ANSIBLE_INVENTORY_PLUGINS": "CONTENT/plugins",
        "ANSIBLE_INVENTORY_ENABLED": "making",
    },
)
_VARS = """
from ansible.plugins.vars import BaseVarsPlugin
CALLS = []
class VarsModule(BaseVarsPlugin):
    REQUIRES_ENABLED = False
    def get_vars(self, loader, path, entities, cache=True):
        CALLS.append(str(path))
        return {"from_plugin": f"{[str(e) for e in entities]}", "calls": len(CALLS)}
"""
play(
    "vars_plugin_of_the_user",
    "- debug: {msg: '{{ from_plugin }} {{ calls }}'}\n- debug: {msg: '{{ calls }}'}\n- meta: refresh_inventory\n- ping: {data: '{{ calls }}'}\n",
    files={"plugins/making.py": _VARS},
    environment={"ANSIBLE_VARS_PLUGINS": "CONTENT/plugins"},
)
play(
    "vars_plugin_beside_the_playbook", "- debug: {msg: '{{ from_plugin }}'}\n", files={"vars_plugins/making.py": _VARS}
)
_FACTS = "- hosts: localhost\n  gather_facts: true\n  gather_subset: ['!all', min]\n  tasks:\n    - set_fact: {kept: '{{ kept | default(0) | int + 1 }}', cacheable: true}\n    - debug: {var: kept}\n    - meta: clear_facts\n    - debug: {msg: '{{ kept | default(\"cleared\") }} {{ ansible_facts.system | default(\"cleared\") }}'}\n"
book("facts_without_a_cache", _FACTS, environment={"ANSIBLE_CACHE_PLUGIN": "memory"})
book(
    "facts_gathered_smartly",
    _FACTS + "- hosts: localhost\n  tasks: [{debug: {msg: '{{ ansible_facts | length > 0 }}'}}]\n",
    environment={"ANSIBLE_GATHERING": "smart"},
)
book(
    "facts_not_gathered",
    "- hosts: localhost\n  tasks: [{debug: {msg: '{{ ansible_facts }}'}}, {setup: {gather_subset: [min]}, register: s, no_log: true}, {debug: {msg: '{{ ansible_facts.system }}'}}]\n",
    environment={"ANSIBLE_GATHERING": "explicit"},
)
role(
    "role_without_facts",
    {"tasks/main.yml": "- debug: {msg: '{{ ansible_facts }}'}\n"},
    environment={"ANSIBLE_GATHERING": "explicit"},
)
role("role_with_facts", {"tasks/main.yml": "- debug: {msg: '{{ ansible_facts.system }}'}\n"})
book(
    "facts_of_the_machine",
    "- hosts: localhost\n  gather_facts: false\n  tasks:\n    - setup: {fact_path: '{{ playbook_dir }}/facts', gather_subset: ['!all', local]}\n      register: s\n      no_log: true\n    - debug: {msg: '{{ ansible_local }}'}\n",
    files={"facts/mine.fact": '{"a": 1}\n'},
)
_STRATEGY = "from ansible.plugins.strategy.linear import StrategyModule as Linear\nclass StrategyModule(Linear):\n    def run(self, iterator, play_context):\n        return super().run(iterator, play_context)\n"
book(
    "strategy_of_the_user",
    "- hosts: localhost\n  gather_facts: false\n  strategy: own\n  tasks: [{debug: {msg: a}}, {ping: {}}]\n",
    files={"strategy_plugins/own.py": _STRATEGY},
)
book(
    "strategy_by_variable",
    "- hosts: localhost\n  gather_facts: false\n  tasks: [{debug: {msg: a}}, {ping: {}}]\n",
    environment={"ANSIBLE_STRATEGY": "free"},
)
book(
    "strategy_mitogen_missing",
    "- hosts: localhost\n  gather_facts: false\n  strategy: mitogen_linear\n  tasks: [{debug: {msg: a}}]\n",
)
book(
    "strategy_mitogen_by_name",
    "- hosts: localhost\n  gather_facts: false\n  tasks: [{debug: {msg: a}}, {ping: {}}, {debug: {msg: '{{ x }}'}}]\n",
    files={"strategies/mitogen_linear.py": _STRATEGY},
    environment={"ANSIBLE_STRATEGY": "mitogen_linear", "ANSIBLE_STRATEGY_PLUGINS": "CONTENT/strategies"},
)
book(
    "strategy_host_pinned",
    "- hosts: localhost\n  gather_facts: false\n  strategy: host_pinned\n  tasks: [{debug: {msg: a}}, {ping: {}}]\n",
)
_COLLECTION = {
    "galaxy.yml": "namespace: mine\nname: own\nversion: 1.0.0\n",
    "meta/runtime.yml": "plugin_routing:\n  modules:\n    old: {redirect: mine.own.greet}\n    dead: {tombstone: {removal_version: 1.0.0, warning_text: it is gone}}\n    aging: {deprecation: {removal_version: 9.0.0, warning_text: it ages}}\naction_groups: {all: [greet]}\n",
    "plugins/modules/greet.py": "#!/usr/bin/python\nfrom ansible.module_utils.basic import AnsibleModule\nfrom ansible_collections.mine.own.plugins.module_utils.words import WORD\nm = AnsibleModule({'name': {'type': 'str', 'default': 'you'}})\nm.exit_json(greeting=WORD + ' ' + m.params['name'])\n",
    "plugins/modules/aging.py": "#!/usr/bin/python\nfrom ansible.module_utils.basic import AnsibleModule\nAnsibleModule({}).exit_json()\n",
    "plugins/module_utils/words.py": "WORD = 'hello'\n",
    "plugins/module_utils/__init__.py": "",
    "plugins/filter/f.py": "class FilterModule:\n    def filters(self):\n        return {'shout': lambda x: x.upper()}\n",
    "plugins/test/t.py": "class TestModule:\n    def tests(self):\n        return {'loud': lambda x: x.isupper()}\n",
    "plugins/lookup/look.py": "from ansible.plugins.lookup import LookupBase\nclass LookupModule(LookupBase):\n    def run(self, terms, variables=None, **kwargs):\n        return [t * 2 for t in terms]\n",
    "plugins/action/act.py": "from ansible.plugins.action import ActionBase\nclass ActionModule(ActionBase):\n    def run(self, tmp=None, task_vars=None):\n        return dict(super().run(tmp, task_vars), acted=True)\n",
    "plugins/modules/act.py": "",
    "roles/r/tasks/main.yml": "- greet: {name: role}\n- debug: {msg: '{{ ansible_collection_name }} {{ ansible_role_name }}'}\n",
    "roles/r/meta/main.yml": "collections: [mine.own]\n",
    "playbooks/p.yml": "- hosts: localhost\n  gather_facts: false\n  tasks: [{debug: {msg: of the collection}}]\n",
}
_USE = """
- hosts: localhost
  gather_facts: false
  module_defaults: {group/mine.own.all: {name: default}}
  tasks:
    - mine.own.greet:
    - mine.own.greet: {name: x}
    - mine.own.old: {name: y}
    - mine.own.aging:
    - mine.own.act:
    - debug: {msg: '{{ "a" | mine.own.shout }} {{ "A" is mine.own.loud }} {{ lookup("mine.own.look", "z") }}'}
    - include_role: {name: mine.own.r}
    - mine.own.dead:
      ignore_errors: true
    - mine.own.absent:
- import_playbook: mine.own.p
"""
_ROOT = "ansible_collections/mine/own/"
book(
    "collection_beside_the_playbook",
    _USE.replace("    - mine.own.absent:\n", ""),
    files={f"collections/{_ROOT}{path}": text for path, text in _COLLECTION.items()},
)
book(
    "collection_that_lacks_a_module",
    _USE,
    files={f"collections/{_ROOT}{path}": text for path, text in _COLLECTION.items()},
)
book(
    "collection_of_the_operator",
    _USE.replace("    - mine.own.absent:\n", ""),
    files={f"far/{_ROOT}{path}": text for path, text in _COLLECTION.items()},
    environment={"ANSIBLE_COLLECTIONS_PATH": "CONTENT/far"},
)
play("collection_missing", "- none.such.module:\n  ignore_errors: true\n- debug: {msg: '{{ 1 | none.such.filter }}'}\n")
play(
    "collections_keyword",
    "- k8s_info: {kind: Namespace, host: 'https://127.0.0.1:1', api_key: x}\n  ignore_errors: true\n- requeue_after: {time: 5s}\n",
    head="collections: [kubernetes.core, operator_sdk.util]",
)
role(
    "role_with_plugins",
    {
        "tasks/main.yml": '- own: {x: 1}\n- acts:\n- debug: {msg: \'{{ 2 | twice }} {{ 4 is even_number }} {{ lookup("looks", "a") }}\'}\n',
        "library/own.py": "#!/usr/bin/python\nfrom ansible.module_utils.basic import AnsibleModule\nfrom ansible.module_utils.helper_of_role import ANSWER\nm = AnsibleModule({'x': {'type': 'int'}})\nm.exit_json(x=m.params['x'] + ANSWER)\n",
        "module_utils/helper_of_role.py": "ANSWER = 41\n",
        "action_plugins/acts.py": "from ansible.plugins.action import ActionBase\nclass ActionModule(ActionBase):\n    def run(self, tmp=None, task_vars=None):\n        return dict(super().run(tmp, task_vars), ping=self._execute_module(module_name='ping', module_args={'data': 'x'}, task_vars=task_vars))\n",
        "library/acts.py": "#!/usr/bin/python\n",
        "filter_plugins/f.py": "class FilterModule:\n    def filters(self):\n        return {'twice': lambda x: x * 2}\n",
        "test_plugins/t.py": "class TestModule:\n    def tests(self):\n        return {'even_number': lambda x: x % 2 == 0}\n",
        "lookup_plugins/looks.py": "from ansible.plugins.lookup import LookupBase\nclass LookupModule(LookupBase):\n    def run(self, terms, variables=None, **kwargs):\n        return terms\n",
    },
)
play(
    "plugins_that_warn_as_they_are_imported",
    """
    - debug: {msg: '{{ 1 | same }} {{ lookup("same", 2) }}'}
    - debug: {msg: '{{ item | same }} {{ lookup("same", 2) }}'}
      loop: [1, 2]
    - ping: {data: '{{ "3" | same }}'}
    - set_fact: {four: '{{ 4 | older }}'}
    - debug: {msg: '{{ four | older }} {{ 5 is same }}'}
    """,
    files={
        "filter_plugins/same.py": "from ansible.module_utils.common.warnings import deprecate, warn\ndeprecate('the filter is old', version='9.9')\nwarn('the filter is imported')\ndef same(value):\n    return value\nclass FilterModule:\n    def filters(self):\n        return {'same': same}\n",
        "filter_plugins/older.py": "from ansible.module_utils._text import to_text\ndef older(value):\n    return to_text(value)\nclass FilterModule:\n    def filters(self):\n        return {'older': older}\n",
        "lookup_plugins/same.py": "from ansible.plugins.lookup import LookupBase\nfrom ansible.utils.display import Display\nDisplay().warning('the lookup is imported')\nDisplay().deprecated('the lookup is old', version='9.9')\nclass LookupModule(LookupBase):\n    def run(self, terms, variables=None, **kwargs):\n        return terms\n",
        "test_plugins/same.py": "from ansible.module_utils._text import to_text\ndef same(value):\n    return to_text(value) == str(value)\nclass TestModule:\n    def tests(self):\n        return {'same': same}\n",
    },
)
