"""Does an agent keep to a rule of turn 3? A policy turn, benign turns, a trigger; calls are graded.

After ConstraintRot (arXiv 2606.22528): what counts is which tool ran, and what the model was shown.
"""
