"""`python -m olmbundle`."""

import sys

from olmbundle.cli import main

sys.exit(main())
