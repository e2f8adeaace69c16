"""Write a playbook in one of the forms."""

from acc_ace.errors import InputError
from acc_ace.playbook.formats.ace_text import write_ace_text
from acc_ace.playbook.formats.file_form import Form
from acc_ace.playbook.formats.json_forms import write_json, write_jsonl
from acc_ace.playbook.formats.markdown import write_markdown
from acc_ace.schemas.playbook import Playbook

WRITABLE = (Form.MARKDOWN, Form.JSON, Form.JSONL, Form.ACE)


def write(playbook: Playbook, form: Form) -> str:
    """The playbook as a text. Raises InputError for a form that is only read."""
    match form:
        case Form.MARKDOWN:
            return write_markdown(playbook)
        case Form.JSON:
            return write_json(playbook)
        case Form.JSONL:
            return write_jsonl(playbook)
        case Form.ACE:
            return write_ace_text(playbook)
        case Form.SKILLBOOK:
            raise InputError(f"a playbook is written as one of: {', '.join(WRITABLE)}")
