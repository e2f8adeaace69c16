"""The stages of a turn, one file each, in the order of the pipeline."""
