"""The collector of cyclic garbage rests while the program loads.

Loading makes hundreds of thousands of objects that stay. Looking through them again and again is a sixth of what a start
takes, and afterwards each look through all of them would hold up a turn.
"""

import gc

USUAL = gc.get_threshold()

RESTING = (1_000_000, *USUAL[1:])
"""It still comes by after a million new objects, so that no verb grows without bounds that forgets to wake it."""


def rest() -> None:
    """From the first line of a program on."""
    gc.set_threshold(*RESTING)


def wake() -> None:
    """What goes on for long begins now: from here on only what is new is looked through, if the collector was at rest."""
    if gc.get_threshold() == RESTING:
        gc.freeze()
        gc.set_threshold(*USUAL)
