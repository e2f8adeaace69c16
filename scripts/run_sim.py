"""Run the simulation: `acc-ace survive` with the same options."""

import sys

from acc_ace.cli.app import main

sys.argv.insert(1, "survive")
main()
