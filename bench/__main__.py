"""Run every benchmark with its defaults: `make bench`."""

from bench import startup, turn_cost, turn_overhead


def main() -> None:
    """One after the other, so that none disturbs another."""
    for part in (startup, turn_cost, turn_overhead):
        print(f"\n== {part.__name__} ==", flush=True)
        part.main()


if __name__ == "__main__":
    main()
