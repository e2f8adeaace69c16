"""How often tests repeat what is random: a little in `make test`, much in `make test-soak`."""

import hypothesis


def examples(*, fast: int, soak: int) -> int:
    """A number of examples, by the profile of Hypothesis that this run has."""
    profile = hypothesis.settings.get_current_profile_name()
    return soak if profile == "soak" else fast
