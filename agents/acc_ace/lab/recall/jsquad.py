"""Read questions in the format of JSQuAD (Kurihara et al., LREC 2022), which is SQuAD's.

A paragraph is a passage; each of its questions asks for it among all paragraphs of the file.
"""

from collections.abc import Mapping
from typing import Any

from acc_ace.lab.recall.corpus import Corpus, Passage, Question
from acc_ace.lab.recall.fields import text_in

CATEGORY = "paragraph"


def read_articles(document: Mapping[str, Any]) -> Corpus:
    """All articles as one corpus. Raises KeyError, TypeError or ValueError for another format."""
    paragraphs = [paragraph for article in document["data"] for paragraph in article["paragraphs"]]
    return Corpus(
        "articles",
        [
            Passage(f"p{position}", text_in(paragraph, "context"), position)
            for position, paragraph in enumerate(paragraphs)
        ],
        [
            Question(text_in(item, "question"), frozenset({f"p{position}"}), CATEGORY)
            for position, paragraph in enumerate(paragraphs)
            for item in paragraph["qas"]
        ],
    )
