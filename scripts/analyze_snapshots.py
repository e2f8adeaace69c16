"""Analyze saved snapshots: `acc-ace analyze` with the same options."""

import sys

from acc_ace.cli.app import main

sys.argv.insert(1, "analyze")
main()
