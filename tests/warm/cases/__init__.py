"""Small playbooks and roles that each show something. The list grows with every difference that is ever found.

Where to find what must be shown (names of cases, as in ``pytest -k``):

| what | cases |
|---|---|
| blocks, rescue, always | block_rescue_always, nested_blocks, failing_role |
| loops; until, retries | loops, registered_loops, break_when; until, loop_until, until_in_variety |
| include, import; roles | include_import, two_plays_imported; roles, plain_role, role_in_variety, role_* |
| handlers, notify | handlers, handlers_fail, handlers_in_variety |
| delegate_to, run_once | delegation, delegation_to_others |
| register, failed_when, changed_when, when | results, registered, projections, conditions, skipped, when_error |
| precedence of variables; extra variables | precedence; extra_variables, argument_extra_vars |
| lookups, filters, templates | lookups_*, filters_and_tests, template_copy, templates |
| check mode, diff | check_mode, changes* |
| no_log | no_log, no_log_of_arguments |
| async | async, async_in_variety |
| keywords: templated, left out, inherited, of a wrong type | attributes_* |
| environment | environment, environment_in_variety, environment_of_modules_in_process |
| become | become* (what needs another user's password is not possible here) |
| module_defaults | module_defaults, module_defaults_in_variety |
| meta tasks | meta, meta_tasks |
| any_errors_fatal, serial, add_host (500 hosts) | any_errors_fatal, hosts_*, many_hosts, add_host_500 |
| modules and plugins beside a role | custom_*, old_modules, role_with_plugins, lookups_that_keep_state |
| collections | collection* |
| facts, with and without a cache | facts*, role_with_facts, role_without_facts |
| timeout | timeout, timeouts_of_modules_in_process, run_that_hangs |
| strategies, mitogen | free, strategy_* |
| prompts, debugger | prompt_*, pause*; debugger_never (one that starts waits for a person for ever, both ways) |
| vault, file and inline | vault_* |
| ansible.cfg beside watches.yaml | configuration_file |
| group_vars beside the playbook | precedence |
| callbacks: stdout, enabled by name, stateful | stdout_callback_*, callback* , stateful_callback |
| vars and inventory plugins, implicit localhost | vars_plugin_*, inventory_*, implicit_localhost |
| warnings of modules | warnings* |
| a process that ends hard, crashes, hangs, is spoilt | custom_module, modules_that_*, filter_that_* |
| task-level kubeconfig to a second cluster | second_cluster, in kubernetes_cases.py |
| CRLF line endings | crlf, role_with_crlf |
"""

from tests.warm.cases import (
    attributes,
    callbacks,
    control,
    extensions,
    isolation,
    modules,
    more_plays,
    more_tasks,
    plays,
    secrets,
    values,
)
from tests.warm.cases.case import CASES, Case

__all__ = [
    "CASES",
    "Case",
    "attributes",
    "callbacks",
    "control",
    "extensions",
    "isolation",
    "modules",
    "more_plays",
    "more_tasks",
    "plays",
    "secrets",
    "values",
]
