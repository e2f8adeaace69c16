"""Read a data file in whichever known format it is."""

import json
from pathlib import Path

from acc_ace.errors import InputError
from acc_ace.lab.recall.corpus import Corpus
from acc_ace.lab.recall.jsquad import read_articles
from acc_ace.lab.recall.locomo import read_dialogue


def read_corpora(path: Path, *, limit: int | None = None) -> list[Corpus]:
    """The corpora of a file, with at most `limit` questions each, and a name of its own each.

    Raises InputError, naming the file, when it cannot be read, is of no known format or asks
    nothing.
    """
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        dialogues = document if isinstance(document, list) else None
        corpora = (
            [read_dialogue(item) for item in dialogues] if dialogues else [read_articles(document)]
        )
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from error
    except (
        ValueError,
        KeyError,
        TypeError,
        AttributeError,
        OverflowError,
        RecursionError,
    ) as error:
        raise InputError(
            f"{path} is neither a list of LoCoMo dialogues nor a JSQuAD document "
            f"({type(error).__name__}: {error})"
        ) from error
    if not any(corpus.questions for corpus in corpora):
        raise InputError(f"{path} holds no question with known evidence; there is nothing to ask")
    return [
        # A name is a user of the stores: two dialogues of one name would be one.
        corpus._replace(name=f"{number} {corpus.name}", questions=corpus.questions[:limit])
        for number, corpus in enumerate(corpora, start=1)
    ]
