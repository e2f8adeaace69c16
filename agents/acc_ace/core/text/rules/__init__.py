"""What a sentence says about rules, releases, goals and orders."""
