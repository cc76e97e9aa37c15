"""The checks that are taken out one at a time, each with the tests that must notice."""

from dataclasses import dataclass

LEXER = ("tests/unit/policy/test_lexer.py", "tests/differential")
ALLOW = (
    "tests/unit/policy/test_allow.py",
    "tests/unit/policy/test_owner.py",
    "tests/unit/policy/test_readonly_carriers.py",
    "tests/unit/policy/test_readonly.py",
)
EVALUATE = ("tests/unit/policy/test_evaluate.py", "tests/unit/policy/test_classify.py")
GATE = ("tests/unit/gate", "tests/contract")
DESK = ("tests/unit/approvals", "tests/contract")
CONTROL = ("tests/unit/control",)
JOBS = ("tests/unit/gate/test_jobs.py", "tests/unit/gateway/test_background.py")
GRANTS = ("tests/unit/policy/test_grants.py", "tests/unit/policy/test_grants_words.py")
KEPT = ("tests/integration/storage/test_kept.py",)
GRANT_USE = ("tests/integration/storage/test_grants.py",)


@dataclass(frozen=True, slots=True)
class Cut:
    """A text that occurs once in a file, what it is replaced by, and the tests that must fail then."""

    name: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]


def _lexer(name: str, old: str, new: str) -> Cut:
    return Cut(f"lexer: {name}", "mtbot/policy/lexer.py", old, new, LEXER)


def _allow(name: str, old: str, new: str) -> Cut:
    return Cut(f"allow: {name}", "mtbot/policy/allow.py", old, new, ALLOW)


def _covering(name: str, old: str, new: str) -> Cut:
    return Cut(f"covering: {name}", "mtbot/policy/covering.py", old, new, ALLOW)


def _evaluate(name: str, old: str, new: str) -> Cut:
    return Cut(f"evaluate: {name}", "mtbot/policy/evaluate.py", old, new, EVALUATE)


def _gate(name: str, old: str, new: str) -> Cut:
    return Cut(f"gate: {name}", "mtbot/gate/gate.py", old, new, GATE)


def _desk(name: str, old: str, new: str) -> Cut:
    return Cut(f"desk: {name}", "mtbot/approvals/desk.py", old, new, DESK)


def _grants(name: str, old: str, new: str) -> Cut:
    return Cut(f"grants: {name}", "mtbot/policy/grants.py", old, new, GRANTS)


def _grant_use(name: str, old: str, new: str) -> Cut:
    return Cut(f"grant use: {name}", "mtbot/storage/grants.py", old, new, GRANT_USE)


def _kept(name: str, old: str, new: str) -> Cut:
    return Cut(f"kept calls: {name}", "mtbot/storage/kept.py", old, new, KEPT)


def _control(name: str, file: str, old: str, new: str) -> Cut:
    return Cut(f"control: {name}", f"mtbot/control/{file}.py", old, new, CONTROL)


def _jobs(name: str, file: str, old: str, new: str) -> Cut:
    return Cut(f"jobs: {name}", f"mtbot/{file}.py", old, new, JOBS)


CUTS: tuple[Cut, ...] = (
    _lexer(
        "length",
        "> MAX_BYTES:\n        return NotLiteral(NotLiteralReason.TOO_LONG)",
        "> 1 << 30:\n        return NotLiteral(NotLiteralReason.TOO_LONG)",
    ),
    _lexer("characters", "if strange is not None:", "if False:"),
    _lexer(
        "expansion in double quotes", "if mark == '\"' and not _NOT_IN_DOUBLE_QUOTES.isdisjoint(inner):", "if False:"
    ),
    _lexer(
        "open quote",
        "        if end < 0:\n            raise _OutsideError(NotLiteralReason.QUOTE_OPEN, self._at)",
        "        if end < 0:\n            end = len(self._text)",
    ),
    _lexer("background", 'if two[0] == "&" or two == "|&":', 'if two == "|&":'),
    _lexer("end of a redirect", "if end == len(self._text) or self._text[end] in _ENDS_A_REDIRECT:", "if True:"),
    _lexer(
        "leading redirect",
        "        if not self._argv:\n            # after a leading redirect",
        "        if False:\n            # after a leading redirect",
    ),
    _lexer("quoted program", "    if quoted:\n        raise", "    if False:\n        raise"),
    _lexer("assignment", 'if "=" in word:', "if False:"),
    _lexer("reserved word", "if word in RESERVED_WORDS:", "if False:"),
    _lexer(
        "program letters",
        "if word[0] not in _PROGRAM_START or any(character not in _PROGRAM for character in word):",
        "if False:",
    ),
    _lexer(
        "trailing separator", "elif self._separator not in (Separator.SEMICOLON, Separator.NEWLINE):", "elif False:"
    ),
    _lexer(
        "empty command",
        "            raise _OutsideError(NotLiteralReason.SEPARATOR, start)\n        self._close_command()",
        "            return\n        self._close_command()",
    ),
    _lexer("cd only before &&", "commands[1].separator_before is not Separator.AND or ", ""),
    _lexer(
        "cd and later commands",
        "if any(command.separator_before not in (Separator.AND, Separator.PIPE) for command in commands[1:]):",
        "if False:",
    ),
    _lexer("cd through ..", 'return ".." not in parts', "return True"),
    _lexer("cd to an option", 'if not word or word[0] in "-~":', "if not word:"),
    _lexer("quote of a quote", '.replace("\'", "\'\\"\'\\"\'")', ""),
    _allow("second reader", "if second_reading != literal.argvs():", "if False:"),
    _allow("sensitive directory", "if sensitive.is_sensitive(context.directory, context.places):", "if False:"),
    _allow(
        "contradicting environments",
        "if environment.setdefault(name, value) != value:",
        "if environment.setdefault(name, value) is None:",
    ),
    _covering("never by pattern", "if not by_pattern and not rule.reads_code and rule.exact != argv:", "if False:"),
    _allow(
        "rule's directory",
        "if rule.cwd is not None and rule.cwd != (context.directory if inside else context.cwd):",
        "if False:",
    ),
    _allow("words from another command", "if match.appends and place.fed:", "if False:"),
    _allow("input of what is carried", "fed = place.fed or inner", "fed = inner"),
    _allow("depth of what is carried", "if match.carries and place.depth >= MAX_CARRIED:", "if False:"),
    _allow(
        "two directories",
        "if match.enters is not None and (place.inside or match.enters != place.entered):",
        "if False:",
    ),
    _allow("beside what is entered", "if not inside and match.enters is None and depends", "if False and depends"),
    _allow(
        "what is carried",
        "        if isinstance(verdict, NotAllowed):\n            return verdict\n        chosen +=",
        "        if isinstance(verdict, NotAllowed):\n            continue\n        chosen +=",
    ),
    _covering("rules of packs only", "if rule.of_pack] if carried", "if True] if carried"),
    _covering(
        "program beside what is entered", 'if "/" in command.argv[0] and not command', "if False and not command"
    ),
    _covering("looks outside what is entered", "if len(entered) == 1 and all(", "if len(entered) == 1 and any("),
    _allow(
        "repository",
        "        if trouble is not None:\n            return NotAllowed(WhyNot.REPOSITORY",
        "        if False:\n            return NotAllowed(WhyNot.REPOSITORY",
    ),
    _allow(
        "operand nobody looked at",
        '    if fact is None:\n        return f"nobody',
        '    if fact is None:\n        return None\n    if False:\n        return f"nobody',
    ),
    _allow("sensitive operand", "    if sensitive.is_sensitive(fact.path, context.places) or", "    if"),
    _allow("pointer operand", " or sensitive.is_repository_pointer(fact.path):", ":"),
    _allow(
        "above something sensitive", "    if sensitive.is_above_sensitive(fact.path, context.places):", "    if False:"
    ),
    _allow(
        "unknown below",
        '    if fact.below is Below.UNKNOWN:\n        return f"what',
        '    if fact.below is Below.UNKNOWN:\n        return None\n    if False:\n        return f"what',
    ),
    _evaluate("NUL", 'if "\\0" in text:', "if False:"),
    _evaluate("surrogate", 'if any("\\ud800" <= char <= "\\udfff" for char in text):', "if False:"),
    _evaluate("mode off", "if prepared.rules.mode is Mode.OFF:", "if False:"),
    _evaluate("deny", "if isinstance(found, Denial) and found.level is Level.REFUSE:", "if False:"),
    _evaluate("denied command", "if path in rules.denied_commands or word in rules.denied_commands:", "if False:"),
    _evaluate("elevation", "    if readings.elevates:\n", "    if False:\n"),
    _evaluate("softened rule", "    if isinstance(found, Denial):\n", "    if False:\n"),
    _evaluate("doubts", "    if readings.doubts:\n", "    if False:\n"),
    _evaluate("unattended auto", "or not facts.attended:", "or False:"),
    _evaluate(
        "floor",
        "    if held is not None:\n        return replace(asking, stage",
        "    if False:\n        return replace(asking, stage",
    ),
    _evaluate("roots", "    if root is None:\n", "    if False:\n"),
    _evaluate("read-only root", "if target.write and root.access is RootAccess.READ:", "if False:"),
    _evaluate("special files", "if target.kind is TargetKind.OTHER:", "if False:"),
    _evaluate("metadata", "if not _vetted(prepared, facts):", "if False:"),
    _evaluate("sensitive file", "if pointer or sensitive.is_sensitive(target.path, rules.places):", "if False:"),
    _evaluate(
        "tainted fetch",
        "if spec.target_arg is not None and facts.tainted and not _known_page(prepared, facts):",
        "if False:",
    ),
    _gate("digest", "if case.call.digest(case.facts) != approval.digest:", "if False:"),
    _gate(
        "refusal at use",
        "        if case.decision.verdict is Verdict.REFUSE:\n            return answers.refused(case.decision)\n        if (case",
        "        if (case",
    ),
    _gate("removed person", "if not self._consent.still_welcome(approval):", "if False:"),
    _gate(
        "end on record",
        "cut = await self._record_end(draft, event, outcome)",
        "cut = False",
    ),
    _gate(
        "proposal on record",
        "            await self._log.append(*self._events.decided(case.call, case.facts, case.decision, state.ref.message))",
        "            pass",
    ),
    _desk("who may decide", "        if say is not Say.YES:\n", "        if False:\n"),
    _grants("somebody there", "if not facts.attended:", "if False:"),
    _grants("text from outside", "if facts.tainted:", "if False:"),
    _grants("one command", "or _seen(prepared) != [command.argv]:", "or False:"),
    _grants("fixed content", "if facts.unbound:", "if False:"),
    _grants("senders", "if name in NETWORK:", "if False:"),
    _grants("what changes the host", "if name in WRITES - FILE_WRITERS:", "if False:"),
    _grants("programs that nobody knows", "if not own and never.base_name(file) not in KNOWN:", "if False:"),
    _grants("installed programs by their path", "and not file.startswith(INSTALLED)", ""),
    _grants("files that cannot be fixed", "if own and facts.contents.get(word) != MISSING and", "if False and"),
    _grants("content of operands", '        "contents": sorted(facts.contents.items()),\n', ""),
    _grants("sensitive paths", "elif sensitive.is_sensitive(path, rules.places) or", "elif"),
    _grants("outside the workspace", "        if not _writable(prepared, path):", "        if False:"),
    _grants("scripts of the workspace", "    if _writable(prepared, path):", "    if False:"),
    _grants("stage of the question", "or decision.stage not in (Stage.MODE, Stage.CLASSIFIER):", "or False:"),
    _grants("words as a list", '"argv": command.argv,', '"argv": " ".join(command.argv),'),
    _grants("requester", '        "requester": call.requester.key,\n', ""),
    _grants("topic", '        "thread": address.thread,\n        "session": address.session,\n', ""),
    _grants("script content", '        "operands": sorted(facts.operand_digests.items()),\n', ""),
    _grants("minutes of the moment", " or now_ms >= grant.given_ms + minutes * MINUTE_MS:", ":"),
    _grants("asker still listed", "if not people.still_welcome(grant.requester, grant.address):", "if False:"),
    _grants("giver may still approve", "return say in (Say.YES, Say.CANNOT_TELL)", "return True"),
    _grant_use("revoked", "row is None or row[1] is not None or", "row is None or"),
    _grant_use("conversation", " or row[0] != draft.session:", ":"),
    _grant_use("time", "if not given_ms <= draft.at_ms < until_ms:", "if False:"),
    _kept("dealt with", "if row[0] != KeptState.KEPT:", "if False:"),
    _kept("wiped by asking", '"state": KeptState.ASKED, "sealed": None,', '"state": KeptState.KEPT, "sealed": b"",'),
    _kept("wiped by the end", '    wire.run(_END, {"wanted": start})', "    return"),
    _kept(
        "dismissed late", "col(KeptRow.seq) == start, col(KeptRow.state) == KeptState.KEPT", "col(KeptRow.seq) == start"
    ),
    _kept("other conversations", "col(KeptRow.session) == wanted, col(KeptRow.state)", "col(KeptRow.state)"),
    _gate("taint of what is kept", "kept = keep(call, case.facts,", "kept = keep(call, Facts(),"),
    _control("other account", "peer", "if uid not in (os.geteuid(), 0):", "if False:"),
    _control("below the gateway", "peer", "if any(process.pid in self.above for process in line[1:]):", "if False:"),
    _control("mark of a call", "peer", "if any(_carries(process.pid, self.mark) for process in line):", "if False:"),
    _control("gone", "peer", "if held is not None and _ended(held):", "if False:"),
    _control("no handle", "peer", "if fault.errno != errno.ENOPROTOOPT:", "if False:"),
    _control("terminal", "verbs", "if not peer.terminal:", "if False:"),
    _control("mode at birth", "place", "os.fchmod(made.fileno(), 0o600)", "pass"),
    _control("living socket", "place", "if _is_lived_in(folder):", "if False:"),
    _control("no socket", "place", "if not stat.S_ISSOCK(kind):", "if False:"),
    _control("open directory", "place", "if stat.S_IMODE(found.st_mode) == _PRIVATE:", "if True:"),
    _control("link", "place", " | os.O_NOFOLLOW", ""),
    _control("length", "server", "        if len(data) > MAX_FRAME:\n", "        if False:\n"),
    _control("masked answers", "server", "return str(self._masker.mask(value))", "return value"),
    _control("how many at once", "server", "if len(self._peers) >= MOST_PEERS:", "if False:"),
    _jobs("how many at once", "gate/jobs", "if len(self._running) >= limits.at_once:", "if False:"),
    _jobs("nobody there", "gate/jobs", "if limits is None:", "if False:"),
    _jobs("whole lines", "gate/jobs", 'written[: written.rfind("\\n") + 1]', "written"),
    _jobs(
        "other chats",
        "gateway/background",
        "return job if job is not None and job in self._of(inbound.address)",
        "return job if job is not None",
    ),
    _jobs(
        "removed person",
        "gateway/background",
        "if self._people().still_welcome(job.requester, job.address):",
        "if True:",
    ),
    _desk("late yes", "if row.state is ApprovalState.PENDING and ruling.at_ms >= row.expires_ms:", "if False:"),
)
