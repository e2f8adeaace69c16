"""Rules that survive compaction in coding agents: Claude Code, Codex, Gemini CLI call us as hooks.

At a prompt the person's standing rules are kept in the memory of the project; at a session's start
and after a compaction they are put back; before a tool call those that compile to checks decide.
"""
