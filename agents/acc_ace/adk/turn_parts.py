"""What drives turns beside their stores: steps 3 and 4, models, upkeep, learning, deletion.

`acc_ace.bootstrap` puts it into the container: a driver uses these parts without reading how they
are made.
"""

from collections.abc import Mapping

from google.adk.models import BaseLlm

from acc_ace.adk.session_lifecycle import SessionMaintenance
from acc_ace.adk.stages.answer_learning import AnswerLearning
from acc_ace.adk.stages.learning_stages import background_learning
from acc_ace.config import Role
from acc_ace.container import Container
from acc_ace.memory.profile import (
    facts_before,
    forget_after,
    new_facts,
    profile_artifacts,
    subject_of,
    with_profile,
)
from acc_ace.models.factory import build_model, build_models, close_models, priced_names
from acc_ace.turn.erasing import erase_before_session
from acc_ace.turn.forget_wishes import erase_as_told, wish_notes
from acc_ace.turn.learning_queue import TurnLearning
from acc_ace.turn.steps import compress, qualify


class TurnParts:
    """Makes the parts of a driver."""

    build_model = staticmethod(build_model)
    build_models = staticmethod(build_models)
    priced_names = staticmethod(priced_names)
    close_models = staticmethod(close_models)
    maintenance: type[SessionMaintenance] = SessionMaintenance
    qualify = staticmethod(qualify)
    compress = staticmethod(compress)
    erase_before_session = staticmethod(erase_before_session)
    erase_as_told = staticmethod(erase_as_told)
    wish_notes = staticmethod(wish_notes)
    profile_artifacts = staticmethod(profile_artifacts)
    subject_of = staticmethod(subject_of)
    with_profile = staticmethod(with_profile)
    new_facts = staticmethod(new_facts)
    facts_before = staticmethod(facts_before)
    forget_after = staticmethod(forget_after)

    @staticmethod
    def learning(
        container: Container, models: Mapping[Role, BaseLlm] | None
    ) -> tuple[AnswerLearning, TurnLearning | None]:
        """What learns from answered turns, and the background if it does. Raises ConfigError."""
        background = background_learning(container, models)
        return AnswerLearning(container, background.submit if background else None), background
