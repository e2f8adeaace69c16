"""What every store has to keep, as checks for the test suite of stores of your own."""

from acc_ace.ext.conformance.checks import CHECKS, Check, ConformanceError

__all__ = ["CHECKS", "Check", "ConformanceError"]
