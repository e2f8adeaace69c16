"""Rules of language: what a sentence says about rules, releases, goals and orders (EN and JA)."""
