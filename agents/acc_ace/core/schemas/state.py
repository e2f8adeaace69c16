"""Keys of session.state, each with the type of its value."""

from typing import Final

CCS: Final = "ccs"
"""dict: `CommittedState.to_state()`. Persisted."""

PLAYBOOK: Final = "app:playbook"
"""dict: `{version, digest, **Playbook.to_dict()}`. Persisted projection of the PlaybookStore."""

PERSISTED: Final = frozenset({CCS, PLAYBOOK})
"""The only persisted keys; clients may not write them."""

USER_QUERY: Final = "temp:user_query"
"""dict: TurnInput, x_t."""

INPUT_AUTHORITY: Final = "temp:input_authority"
"""str: 'user' (default), 'tool' or 'retrieved'; set by the caller, never above user."""

GENERATOR_OUTPUT: Final = "temp:generator_output"
"""dict: GeneratorOutput."""

REFLECTOR_OUTPUT: Final = "temp:reflector_output"
"""dict: Reflection."""

CURATOR_OUTPUT: Final = "temp:curator_output"
"""dict: DeltaBatch."""

GROUND_TRUTH: Final = "temp:ground_truth"
"""str: the correct answer of this turn; only Reflector and Curator see it."""

REWARD: Final = "temp:reward"
"""float: an environment's reward of this turn; above 0 is good."""

COMMENT: Final = "temp:comment"
"""str: what a person says of this turn's answer."""

THUMBS: Final = "temp:thumbs"
"""str: 'up' or 'down'."""

JUDGEMENT: Final = (GROUND_TRUTH, REWARD, COMMENT, THUMBS)
"""What the caller of a turn may say of its answer, under the names of `Judgement`."""
