"""Try many generated strings against real bash: `python -m tests.differential.fuzz --count 50000 --seed 1`.

Exits with 1 and prints every difference if bash did anything that was not decided.
"""

from __future__ import annotations

import argparse
import random
import sys

from tests.differential import generator, sandbox
from tests.differential.check import check

PER_ROUND = 2000


def main() -> int:
    """Run rounds until the count is reached."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=50_000)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    if sandbox.way() is None:
        print("not run: this machine makes no namespaces (unshare)")
        return 1
    chance = random.Random(given.seed)
    tried = ran = drawn = drawn_ran = 0
    while tried < given.count:
        size = min(PER_ROUND, given.count - tried)
        own = check([generator.subset(chance) for _ in range(size * 3 // 4)])
        bad = check([generator.spoiled(chance) for _ in range(size - size * 3 // 4)])
        tried, ran = tried + own.texts + bad.texts, ran + own.ran + bad.ran
        drawn, drawn_ran = drawn + own.texts, drawn_ran + own.ran
        for difference in (*own.differences, *bad.differences):
            print(f"DIFFERENCE {difference.text!r}: {difference.what}")
        if own.differences or bad.differences:
            return 1
        print(
            f"{tried} tried, {ran} ran as decided ({100 * drawn_ran / drawn:.1f} % of the grammar's own), no difference",
            flush=True,
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
