"""`python -m kindcluster`."""

import sys

from kindcluster.cli import main

sys.exit(main())
