"""The constraints of one turn while they are being settled."""

from dataclasses import dataclass, field

from acc_ace.schemas.commit import ConstraintPin, Release, Repair
from acc_ace.schemas.interaction import TurnInput
from acc_ace.text.plain_text import one_line
from acc_ace.text.similarity import has_words, same_wording
from acc_ace.text.tokens import clip_tokens

_QUOTE_TOKENS = 200
"""Of the sentence that a pin keeps for as long as it stands."""

_QUOTE_CHARS = 2_000
"""Of the words that a release records; no sentence is longer."""


@dataclass
class ConstraintRuling:
    """The constraints of one turn while they are being settled."""

    pins: list[ConstraintPin]
    next_pin: int
    added: list[ConstraintPin] = field(default_factory=list)
    released: list[Release] = field(default_factory=list)
    repairs: list[Repair] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    _ids: dict[str, str] = field(init=False)

    def __post_init__(self) -> None:
        self._ids = {same_wording(pin.text): pin.id for pin in self.pins}

    def pin(self, text: str, quote: str, turn_input: TurnInput, *, turn: int) -> str | None:
        """Add a constraint unless it stands already; its id, or None."""
        plain = one_line(text)
        if not has_words(plain) or self.standing(plain) is not None:
            return None
        pin = ConstraintPin(
            id=f"c-{self.next_pin:04d}",
            text=plain,
            authority=turn_input.authority,
            origin_turn=turn,
            quote=clip_tokens(one_line(quote), _QUOTE_TOKENS),
        )
        self.next_pin += 1
        self.pins.append(pin)
        self.added.append(pin)
        self._ids[same_wording(plain)] = pin.id
        return pin.id

    def standing(self, text: str) -> str | None:
        """The id of the active constraint in these words, or None."""
        return self._ids.get(same_wording(text))

    def release(self, pin: ConstraintPin, quote: str, *, replaced_by: str | None = None) -> None:
        """Take a constraint out, recording the words that did it."""
        self.pins.remove(pin)
        self._ids.pop(same_wording(pin.text), None)
        said = one_line(quote[:_QUOTE_CHARS])
        self.released.append(Release(id=pin.id, text=pin.text, quote=said, replaced_by=replaced_by))
