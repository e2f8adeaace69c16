"""`python -m acc_ace.ext.coding_agents CLIENT`: what clients run; starts faster than `acc-ace`."""

import os
import sys

from acc_ace.errors import InputError
from acc_ace.ext.coding_agents.hook_run import main

if __name__ == "__main__":
    os.umask(0o077)
    try:
        main(*(each for each in sys.argv[1:3] if each))
    except (InputError, TypeError) as error:
        sys.exit(f"acc-ace hook: {error}")
