"""Keys of session.state, each with the type of its value. The only place they are spelled."""

from typing import Final

CCS: Final = "ccs"
"""dict: `CommittedState.to_state()`. Persisted."""

PLAYBOOK: Final = "app:playbook"
"""dict: `{version, digest, **Playbook.to_dict()}`. Persisted projection of the PlaybookStore."""

PERSISTED: Final = frozenset({CCS, PLAYBOOK})
"""The only keys of ours that outlive a turn; clients may not write them."""

TURN_INPUT: Final = "temp:turn_input"
"""dict: TurnInput, x_t."""

INPUT_AUTHORITY: Final = "temp:input_authority"
"""str: 'user' (default), 'tool' or 'retrieved'; set by the caller, never above user."""

MEMORY: Final = "temp:memory"
"""str: name of the memory strategy of this turn; that of the settings when absent."""

PREVIOUS: Final = "temp:previous_ccs"
"""dict: CommittedState.to_state() of CCS_{t-1}."""

RECALL: Final = "temp:recall"
"""dict: Recall, A_t."""

QUALIFICATION: Final = "temp:qualification"
"""dict: Qualification, A_t+ with verdicts."""

GENERATION: Final = "temp:generation"
"""dict: GeneratorOutput."""

REFLECTION: Final = "temp:reflection"
"""dict: Reflection."""

CURATION: Final = "temp:curation"
"""dict: DeltaBatch."""
