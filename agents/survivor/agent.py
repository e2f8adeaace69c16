"""What ADK loads: the survivor to talk to, from the settings of this process."""

from acc_ace.bootstrap import process_container
from acc_ace.hooks import APPS, only

app = only(APPS, "the app 'survivor'").apps()["survivor"](process_container())
root_agent = app.root_agent
