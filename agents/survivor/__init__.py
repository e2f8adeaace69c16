"""The survivor as an ADK app: `adk web agents` lists it beside acc_ace."""
