"""What ADK loads: `app` and `root_agent`, from the settings of this process."""

from acc_ace.bootstrap import process_container
from acc_ace.pipeline import build_app

app = build_app(process_container())
root_agent = app.root_agent
