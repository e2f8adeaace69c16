"""`acc-ace chat`: a conversation at the prompt, or played from a script, and its banner."""

import asyncio
import shlex
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence

from acc_ace.cli.line_prompt import CtrlC
from acc_ace.cli.names import DEFAULT_USER
from acc_ace.cli.output import ExitCode, exit_code
from acc_ace.cli.prompt.attachments import AttachmentDesk
from acc_ace.cli.prompt.confirmations import ConfirmationDesk
from acc_ace.cli.prompt.consent_prompt import Ask, change_lines, is_yes
from acc_ace.cli.prompt.rule_commands import settled_lines
from acc_ace.cli.screen import Screen
from acc_ace.cli.script import Script
from acc_ace.cli.slash_commands import CommandContext, parse_command, plain_text, run_command
from acc_ace.cli.turn_api import TurnApi
from acc_ace.core.schemas.artifact import Artifact
from acc_ace.core.schemas.base import Authority, SessionKey
from acc_ace.core.schemas.interaction import Attachment
from acc_ace.core.schemas.report import ReportedQuestion, TurnDone, TurnEvent, TurnPaused
from acc_ace.errors import AccAceError, InputError
from acc_ace.models.factory import ModelInfo


class Chat:
    """One session on one screen."""

    def __init__(
        self,
        turns: TurnApi,
        key: SessionKey,
        screen: Screen,
        *,
        asks: bool = False,
    ) -> None:
        """With `asks` a person is there to say whether a tool call that waits may run."""
        self._asks = asks
        self._confirmations = ConfirmationDesk()
        self._turns = turns
        self._key = key
        self._screen = screen
        self._desk = AttachmentDesk()
        self._opened: list[ReportedQuestion] = []

    @property
    def opened(self) -> Sequence[ReportedQuestion]:
        """The questions about rules and goal that the last line's turn opened."""
        return tuple(self._opened)

    @property
    def is_pasting(self) -> bool:
        """Whether the next lines, blank ones too, belong to a paste."""
        return self._desk.is_pasting

    def drop_paste(self) -> None:
        """Discard the open paste."""
        self._desk.drop_paste()
        self._screen.notice("the paste was dropped")

    async def say(
        self,
        line: str,
        authority: Authority = Authority.USER,
        *,
        attachments: Sequence[Attachment] = (),
        idempotency_key: str = "",
    ) -> bool:
        """Run a line: a turn, a slash command or a line of a paste; False on `/quit`.

        Raises AccAceError on failure; the screen has already shown it.
        """
        self._opened = []
        if self.is_pasting:
            if (note := self._desk.paste(line)) is not None:
                self._screen.notice(note)
            return True
        if self._confirmations.answer(line):
            await self._confirm(line)
            return True
        spoken = parse_command(line)
        if spoken is None:
            if self._confirmations.drop():
                self._screen.notice("the call was not run; it can still be answered in the web UI")
            await self._turn(plain_text(line), authority, attachments, idempotency_key)
            return True
        try:
            place = CommandContext(self._turns, self._key, self._screen, self._desk)
            return await run_command(spoken, place)
        except AccAceError as error:
            self._screen.failed(error, turn=None, text=line)
            raise

    async def consent(self, question: ReportedQuestion) -> None:
        """Settle a question with yes, and show what that changed; an error is shown."""
        rules = self._turns.rules
        try:
            before = await rules.state(self._key)
            after = await rules.answer(self._key, question.id, yes=True)
        except AccAceError as error:
            self._screen.failed(error, turn=None, text=question.id)
            return
        for line in settled_lines(before, after):
            self._screen.notice(line)

    async def remember(self, documents: Sequence[Artifact]) -> None:
        """Add documents to external memory."""
        if documents:
            await self._turns.remember(self._key.tenant, documents)

    async def completed(self) -> int:
        """Number of completed turns of the session, not counting undone ones."""
        state = await self._turns.state(self._key)
        return state.turn if state else 0

    def report_cancelling(self) -> None:
        """Acknowledge a repeated Ctrl-C."""
        self._screen.notice("already cancelling; the prompt returns when the turn has been settled")

    async def _turn(
        self,
        text: str,
        authority: Authority,
        attachments: Sequence[Attachment],
        idempotency_key: str,
    ) -> None:
        self._screen.begin(text)
        waiting = self._desk.take()
        try:
            await self._follow(text, authority, [*waiting, *attachments], idempotency_key)
        except AccAceError as error:
            self._screen.failed(error, turn=await self._next_turn(), text=text)
            if waiting:
                self._desk.put_back(waiting)
                self._screen.notice(self._desk.listed())
            raise
        finally:
            self._screen.end()
        self._ask()

    async def _confirm(self, line: str) -> None:
        """Go on with the paused turn, once each of its calls has an answer."""
        if answers := self._confirmations.hand_over():
            self._screen.begin(line)
            try:
                await self._show(self._turns.confirm(self._key, answers))
            except AccAceError as error:
                self._screen.failed(error, turn=await self._next_turn(), text=line)
                raise
            finally:
                self._screen.end()
        self._ask()

    def _takes(self, event: TurnEvent) -> bool:
        """Whether the prompt itself asks for what the turn waits for."""
        if not (isinstance(event, TurnPaused) and self._asks):
            return False
        return self._confirmations.take(event.calls)

    def _ask(self) -> None:
        if question := self._confirmations.question:
            self._screen.notice(f"? {question} (yes / no)")

    async def _follow(
        self,
        text: str,
        authority: Authority,
        attachments: Sequence[Attachment],
        idempotency_key: str,
    ) -> None:
        events = self._turns.stream(
            self._key,
            text,
            authority=authority,
            attachments=attachments,
            idempotency_key=idempotency_key,
        )
        await self._show(events)

    async def _show(self, events: AsyncIterator[TurnEvent]) -> None:
        try:
            async for event in events:
                if isinstance(event, TurnDone):
                    turn = event.report
                    self._opened = [q for q in turn.questions if q.asked_turn == turn.turn]
                if not self._takes(event):
                    self._screen.event(event)
        finally:
            # If the screen failed (closed pipe), the turn must still end before the loop does.
            if isinstance(events, AsyncGenerator):
                await events.aclose()

    async def _next_turn(self) -> int:
        """The number of the failed turn; 0 when the store cannot be read."""
        try:
            return await self.completed() + 1
        except AccAceError:
            return 0


def play(chat: Chat, script: Script, runner: asyncio.Runner, *, keep_going: bool) -> ExitCode:
    """Play a script; returns the exit code of its first error. Stops there unless `keep_going`.

    Raises InputError for a script without inputs, or for invalid input on stdin.
    """
    code, played = ExitCode.OK, 0
    for turn in script.turns:
        played += 1
        try:
            # Ctrl-C between two turns ends the script too.
            with CtrlC(runner, again=chat.report_cancelling) as ctrl_c:
                is_done = chat.say(
                    turn.input,
                    turn.authority,
                    attachments=turn.attachments,
                    idempotency_key=turn.id,
                )
                if not ctrl_c.run(is_done):
                    break
        except AccAceError as error:
            code = code or exit_code(error)
            if not keep_going:
                break
    if not played:
        raise InputError("the script has no inputs; write one input per line")
    return code


def converse(
    chat: Chat,
    read_line: Callable[[], str | None],
    runner: asyncio.Runner,
    screen: Screen,
    *,
    ask: Ask | None = None,
) -> ExitCode:
    """Read and run lines until the reader ends (None) or `/quit`; Ctrl-C cancels a turn.

    With `ask` a person is there, who is asked about each change of rules that a turn proposes.
    """
    with CtrlC(runner, again=chat.report_cancelling) as ctrl_c:
        while (line := ctrl_c.read(read_line)) is not None:
            if chat.is_pasting and ctrl_c.was_pressed:
                chat.drop_paste()
                continue
            text = line if chat.is_pasting else line.strip()
            if not text and not chat.is_pasting:
                continue
            try:
                if not ctrl_c.run(_say_or_cancel(chat, text, screen)):
                    break
                if ask is not None:
                    _ask_person(chat, ask, ctrl_c, screen)
            except KeyboardInterrupt:
                continue  # The cancellation was already reported.
            except AccAceError:
                continue  # Already shown by the chat.
    return ExitCode.OK


def _ask_person(chat: Chat, ask: Ask, ctrl_c: CtrlC, screen: Screen) -> None:
    """Ask about each question that the turn opened, until Ctrl-C; all but a yes leaves it open."""
    left: list[str] = []
    for question in chat.opened:
        if not ctrl_c.was_pressed:
            screen.notice(change_lines(question))
            if is_yes(ctrl_c.read(ask)):
                ctrl_c.run(chat.consent(question))
                continue
        left.append(question.id)
    if left:
        screen.notice(f"still open: {', '.join(left)}; /rules says how to consent")


async def _say_or_cancel(chat: Chat, text: str, screen: Screen) -> bool:
    """Run a line; when cancelled, report whether the turn was committed."""
    before = None
    try:
        before = await chat.completed()
        return await chat.say(text)
    except asyncio.CancelledError:
        committed = before is not None and await chat.completed() != before
        screen.notice(
            "cancelled after the answer was committed; use /undo to undo the turn"
            if committed
            else "cancelled; the turn was undone"
        )
        raise


def banner(
    key: SessionKey, models: Sequence[ModelInfo], *, turns: int, forgets: bool
) -> tuple[str, ...]:
    """The start-up lines. `turns`: of the session so far; `forgets`: memory is not stored."""
    history = f"resumed after turn {turns}" if turns else "new"
    lines = [f"ACC×ACE · session {key.session} ({history}) · user {key.user}"]
    lines += [f"model: {line}" for line in model_lines(models)]
    lines.append(
        "memory is lost at exit (ACC_ACE_STORE=memory)"
        if forgets
        else f"resume: {resume_command(key)}"
    )
    return (*lines, "/help lists the commands · Ctrl-C cancels a turn · Ctrl-D exits")


def model_lines(models: Sequence[ModelInfo]) -> tuple[str, ...]:
    """One line per model, such as 'embedded/rules (extractive, not an LLM): all agents'."""
    agents: dict[tuple[str, str], list[str]] = {}
    for use in models:
        agents.setdefault((use.name, use.note), []).append(use.role)
    return tuple(_model_line(name, note, roles, agents) for (name, note), roles in agents.items())


def resume_command(key: SessionKey) -> str:
    """The command that continues this session."""
    user = "" if key.user == DEFAULT_USER else f" --user {shlex.quote(key.user)}"
    return f"acc-ace chat --session {shlex.quote(key.session)}{user}"


def _model_line(
    name: str, note: str, roles: list[str], agents: Mapping[tuple[str, str], list[str]]
) -> str:
    whose = "all agents" if len(agents) == 1 else ", ".join(roles)
    return f"{name} ({note}): {whose}" if note else f"{name}: {whose}"
