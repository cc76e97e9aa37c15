"""Time the whole decision against one ``bashlex.parse`` of the same text, in one run: ratios and microseconds.

    python -m benchmarks.policy FILE.jsonl [FILE.jsonl ...]

Each line of a file is a JSON object with a "command". All built-in rules, the read-only pack and 200 owner's expressions
take part. With nah and bash-classify installed (they are no dependencies) they are timed beside it.
"""

import importlib
import json
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import bashlex

from mtbot.domain.call import Below, Call, Facts, Risk, ToolDefault, ToolSpec
from mtbot.domain.ids import BotName, CallId, ChatId, TurnId
from mtbot.domain.turn import SYSTEM, Address, SurfaceName
from mtbot.policy.allow_rule import AllowRules
from mtbot.policy.deny import compile_rules
from mtbot.policy.effects import prepare
from mtbot.policy.evaluate import evaluate
from mtbot.policy.readonly import PACKS
from mtbot.policy.ruleset import RuleSet
from mtbot.policy.sensitive import Places

ROUNDS = 3
OWNERS = tuple(rf"\bforbidden-{number}\b.*--level[= ]{number}" for number in range(200))
PLACE = Address(SurfaceName.PRIVATE, BotName("main"), ChatId(1))
SPEC = ToolSpec("exec", "", {}, Risk.EXEC, ToolDefault.ASK)


def commands(files: Sequence[str]) -> Iterator[str]:
    """Every command of the files."""
    for name in files:
        for line in Path(name).read_text().splitlines():
            if line.strip():
                yield json.loads(line)["command"]


def ours() -> Callable[[str], object]:
    """The decision, with look-ups that cost nothing: the policy is timed and not the disk."""
    rules = RuleSet(
        deny=compile_rules(owner=OWNERS), allow=AllowRules(PACKS["readonly"]), places=Places(home="/home/mtclaw")
    )

    def decide(command: str) -> object:
        call = Call(CallId("c"), TurnId("t"), "exec", {"command": command}, "/srv/work", PLACE, SYSTEM)
        prepared = prepare(call, SPEC, rules)
        resolved = {word: f"/srv/work/{word}" for word in prepared.wants.paths}
        below = dict.fromkeys(prepared.wants.trees, Below.NOTHING)
        facts = Facts(cwd="/srv/work", attended=True, resolved=resolved, below=below, repository_keys=frozenset())
        return evaluate(prepared, facts)

    return decide


def parse(command: str) -> object:
    """One parse by bashlex, whatever comes of it."""
    try:
        return bashlex.parse(command)
    except Exception as error:  # noqa: BLE001 - it raises whatever it likes; the time is what counts
        return error


def time_of(work: Callable[[str], object], command: str) -> float:
    """The best of a few rounds, in microseconds."""
    best = float("inf")
    for _ in range(ROUNDS):
        start = time.perf_counter()
        work(command)
        best = min(best, time.perf_counter() - start)
    return best * 1e6


def quantiles(values: Sequence[float]) -> tuple[float, float, float]:
    """p50, p99 and the largest."""
    ordered = sorted(values)
    return statistics.median(ordered), ordered[int(len(ordered) * 0.99)], ordered[-1]


def hostile() -> dict[str, str]:
    """Texts made to be slow, up to 64 KiB."""
    return {
        "rm with blanks": "rm" + " " * 65_000,
        "rm repeated": "rm " * 21_000,
        "10,000 nested $(": "$(" * 10_000,
        "quotes": "'" * 65_001,
        "braces": "{a,b}" * 13_000,
        "here-documents": "cat <<E\n" * 8_000,
        "pipes": "a|" * 32_000,
        "variables": "x=$x$x;" * 9_000,
        "backticks": "`" * 65_000,
        "wrappers": "sudo env " * 7_000 + "rm -rf /",
        "random": "".join(chr(33 + (n * 7919) % 94) for n in range(65_000)),
    }


def beside() -> dict[str, Callable[[str], object]]:
    """Other guards, where they are installed."""
    found: dict[str, Callable[[str], object]] = {}
    for module, attribute in (("nah.bash", "classify_command"), ("bash_classify", "classify_expression")):
        try:
            found[module] = getattr(importlib.import_module(module), attribute)
        except (ImportError, AttributeError):
            continue
    return found


def main(files: Sequence[str]) -> int:
    """Print the table; 1 if a bound is broken."""
    texts = list(dict.fromkeys(commands(files)))
    decide = ours()
    for text in texts[:50]:
        decide(text)
    mine = [time_of(decide, text) for text in texts]
    base = [time_of(parse, text) for text in texts]
    rows = {"bashlex.parse": base, "mtclaw": mine}
    rows |= {name: [time_of(work, text) for text in texts] for name, work in beside().items()}
    base50, base99, _ = quantiles(base)
    print(
        f"{len(texts)} commands\n{'':16} {'p50 us':>9} {'p99 us':>9} {'max us':>9} {'p50 ratio':>10} {'p99 ratio':>10}"
    )
    for name, values in rows.items():
        p50, p99, most = quantiles(values)
        print(f"{name:16} {p50:9.0f} {p99:9.0f} {most:9.0f} {p50 / base50:10.2f} {p99 / base99:10.2f}")
    mine50, mine99, _ = quantiles(mine)
    slow = {name: time_of(decide, text) / 1000 for name, text in hostile().items()}
    print("\nhostile texts of up to 64 KiB, ms")
    for name, milliseconds in slow.items():
        print(f"{name:20} {milliseconds:8.1f}")
    held = mine50 <= 2.5 * base50 and mine99 <= 4 * base99 and max(slow.values()) <= 100
    print("\nbounds (p50 <= 2.5x, p99 <= 4x, hostile <= 100 ms):", "held" if held else "BROKEN")
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
