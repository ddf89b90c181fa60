"""``python -m ansible_operator`` is the ``ansible-operator`` command."""

import sys

from ansible_operator.cli import main

if __name__ == "__main__":
    sys.exit(main())
