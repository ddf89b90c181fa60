"""`python -m localnode`."""

import sys

from localnode.cli import main

sys.exit(main())
