"""The one place that touches interfaces of Ansible and ansible-runner which are not public.

``supported`` refuses versions that are not known, ``check`` what has other parameters than known, and the throw-away
play of ``warm_up`` fails where the insides do something else than expected. Either way runs go cold.
"""

from ansible_operator.runner.worker.private.base import (
    action_class,
    check,
    display,
    is_own,
    plugin_name,
)
from ansible_operator.runner.worker.private.callback import (
    connect_events,
    event_encoder,
    mark_event,
    no_local_event,
    proxy_display,
)
from ansible_operator.runner.worker.private.modules import (
    Module,
    as_module,
    base_directory,
    built_module,
    encode_arguments,
    environment_of_task,
    find_module,
    is_in_process,
    make_task_directory,
    replaced,
    report_exception,
)
from ansible_operator.runner.worker.private.notices import as_new, forget_those_that_warn
from ansible_operator.runner.worker.private.process import (
    build_parsers,
    forget,
    forget_users_plugins,
    import_all,
    import_modules,
    install,
    play,
    source_paths,
    warm_up,
)
from ansible_operator.runner.worker.private.settings import configure, note_settings
from ansible_operator.runner.worker.private.strategy import (
    begin_task,
    call_back,
    end_task,
    from_wire,
    is_include,
    is_linear,
    take_result,
)
from ansible_operator.runner.worker.private.workers import fresh_plugins, has_tame_plugins, make_worker, run_worker

__all__ = [
    "Module",
    "action_class",
    "as_module",
    "as_new",
    "base_directory",
    "begin_task",
    "build_parsers",
    "built_module",
    "call_back",
    "check",
    "configure",
    "connect_events",
    "display",
    "encode_arguments",
    "end_task",
    "environment_of_task",
    "event_encoder",
    "find_module",
    "forget",
    "forget_those_that_warn",
    "forget_users_plugins",
    "fresh_plugins",
    "from_wire",
    "has_tame_plugins",
    "import_all",
    "import_modules",
    "install",
    "is_in_process",
    "is_include",
    "is_linear",
    "is_own",
    "make_task_directory",
    "make_worker",
    "mark_event",
    "no_local_event",
    "note_settings",
    "play",
    "plugin_name",
    "proxy_display",
    "replaced",
    "report_exception",
    "run_worker",
    "source_paths",
    "take_result",
    "warm_up",
]
