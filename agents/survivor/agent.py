"""What ADK loads: the survivor to talk to, from the settings of this process."""

from acc_ace.bootstrap import process_container
from acc_ace.ext.survivor.recent_ticks import build_app

app = build_app(process_container())
root_agent = app.root_agent
