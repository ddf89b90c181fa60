#!/usr/bin/python
"""Writes bytes into a local file that only its owner may read.

ansible.builtin.copy takes text, not bytes, and makes a file that is open for a moment before its mode is set.
"""

from __future__ import annotations

import os
import tempfile
from base64 import b64decode
from binascii import Error
from pathlib import Path

from ansible.module_utils.basic import AnsibleModule

DOCUMENTATION = r"""
module: aitask_archive_file
short_description: Write an archive into a local file
description:
  - Writes bytes into a file with mode 0600, as a whole or not at all.
  - A file with other content is not replaced unless O(force) is set; it may be the only copy of an older archive.
options:
  path: {type: path, required: true, description: The file.}
  content: {type: str, required: true, description: What to write, in base64.}
  force: {type: bool, default: false, description: Whether a file with other content is replaced.}
author: [The aitask-operator authors]
"""
EXAMPLES = r"""
- name: Write the archive
  aitask_archive_file:
    path: shop.json.gz
    content: "{{ packed.data }}"
"""
RETURN = r"""
path: {returned: always, type: str, description: The file.}
"""

MODE = 0o600


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "path": {"type": "path", "required": True},
            "content": {"type": "str", "required": True, "no_log": True},
            "force": {"type": "bool", "default": False},
        },
        supports_check_mode=True,
    )
    path = Path(module.params["path"])
    try:
        data = b64decode(module.params["content"], validate=True)
        changed = put(path, data, force=module.params["force"], check_mode=module.check_mode)
    except (OSError, Error) as error:
        module.fail_json(msg=f"{path} was not written: {error}", path=str(path))
    module.exit_json(changed=changed, path=str(path))


def put(path: Path, data: bytes, *, force: bool, check_mode: bool) -> bool:
    """Whether anything changed, or would. Raises OSError."""
    if path.exists():
        if path.read_bytes() == data:
            return _tighten(path, check_mode)
        if not force:
            raise FileExistsError("it exists and holds something else; give another name, or force it")
    if not check_mode:
        _write(path, data)
    return True


def _tighten(path: Path, check_mode: bool) -> bool:
    loose = path.stat().st_mode & 0o777 != MODE
    if loose and not check_mode:
        path.chmod(MODE)
    return loose


def _write(path: Path, data: bytes) -> None:
    """Beside it first (mkstemp makes 0600), then in its place."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    beside = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise


if __name__ == "__main__":
    main()
