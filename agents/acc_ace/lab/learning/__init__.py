"""Learn offline from a data set, and say whether it helped."""
