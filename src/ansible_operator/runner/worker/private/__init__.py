"""The one place that touches interfaces of Ansible and ansible-runner which are not public.

``check`` refuses versions that are not known; the throw-away play of ``warm_up`` fails where the insides are not as
expected. Either way runs go cold.
"""

from ansible_operator.runner.worker.private.base import (
    action_class,
    check,
    display,
    is_include,
    is_linear,
    is_own,
    plugin_name,
)
from ansible_operator.runner.worker.private.callback import connect_events, event_encoder, no_local_event, proxy_display
from ansible_operator.runner.worker.private.modules import (
    Module,
    as_module,
    base_directory,
    built_module,
    encode_arguments,
    find_module,
    is_in_process,
    replaced,
    report_exception,
    shell,
)
from ansible_operator.runner.worker.private.process import (
    build_parsers,
    configure,
    forget,
    import_all,
    import_modules,
    install,
    play,
    source_paths,
    warm_up,
)
from ansible_operator.runner.worker.private.workers import fresh_plugins, make_worker, run_worker

__all__ = [
    "Module",
    "action_class",
    "as_module",
    "base_directory",
    "build_parsers",
    "built_module",
    "check",
    "configure",
    "connect_events",
    "display",
    "encode_arguments",
    "event_encoder",
    "find_module",
    "forget",
    "fresh_plugins",
    "import_all",
    "import_modules",
    "install",
    "is_in_process",
    "is_include",
    "is_linear",
    "is_own",
    "make_worker",
    "no_local_event",
    "play",
    "plugin_name",
    "proxy_display",
    "replaced",
    "report_exception",
    "run_worker",
    "shell",
    "source_paths",
    "warm_up",
]
