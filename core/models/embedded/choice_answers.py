"""Answer a task of choices: one option for each question, and the lessons that spoke for it."""

from core.models.embedded.choices import choose, read_task
from core.models.embedded.situation import Said, Situation


def choose_options(situation: Situation) -> Said | None:
    """The options in the order of the questions, separated by commas, and nothing else."""
    task = read_task(situation.text)
    if task is None:
        return None
    chosen = choose(task, situation.bullets)
    used = tuple(dict.fromkeys(item.bullet_id for item in chosen if item.bullet_id))
    why = "chose by the names of the options and by lessons"
    return Said((",".join(item.option for item in chosen),), why, used)
