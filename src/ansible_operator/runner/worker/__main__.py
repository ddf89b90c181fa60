"""``python -m ansible_operator.runner.worker FD SCRATCH DIRECTORY PLAYBOOK CONTENT...``: serve whoever is at FD."""

from __future__ import annotations

import sys

from ansible_operator.runner.worker.server import main

if __name__ == "__main__":
    main(int(sys.argv[1]), *sys.argv[2:])
