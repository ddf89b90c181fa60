"""The rules of backup and restore: what is saved, in which form, and what becomes of it. Pure, like those beside them.

They lie in the package of the AITask rules because they are about the same object and read statuses the same way. The
role `aitask_archive` makes them filters for the roles aitask_backup and aitask_restore and for the playbooks.
"""

from .backup import pack_tasks, plan_backup
from .content import MAX_STORED, Archive, Unreadable, pack, unpack
from .restore import plan_restore
from .waits import plan_trouble

__all__ = [
    "MAX_STORED",
    "Archive",
    "Unreadable",
    "pack",
    "pack_tasks",
    "plan_backup",
    "plan_restore",
    "plan_trouble",
    "unpack",
]
