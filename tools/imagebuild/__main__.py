"""`python -m imagebuild`."""

import sys

from imagebuild.cli import main

sys.exit(main())
