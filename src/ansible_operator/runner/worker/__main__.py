"""``python -m ansible_operator.runner.worker FD``: serve the pool at the other end of a socket."""

from __future__ import annotations

import sys

from ansible_operator.runner.worker.server import main

if __name__ == "__main__":
    main(int(sys.argv[1]))
