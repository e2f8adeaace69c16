"""What ADK loads: `app` and `root_agent`, from the settings of this process."""

from acc_ace.pipeline import build_app
from core.bootstrap import process_container

app = build_app(process_container())
root_agent = app.root_agent
