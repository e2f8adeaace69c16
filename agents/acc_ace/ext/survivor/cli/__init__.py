"""The survivor on the command line: runs, and what they show."""
