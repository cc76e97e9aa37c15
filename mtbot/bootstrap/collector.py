"""The collector of cyclic garbage rests while the program loads.

Loading makes hundreds of thousands of objects that stay, and looking through them again and again is a sixth of what a
start takes.
"""

import gc

USUAL = gc.get_threshold()

RESTING = (1_000_000, *USUAL[1:])
"""It still comes by after a million new objects, so that no verb grows without bounds that forgets to wake it."""


def rest() -> None:
    """From the first line of a program on."""
    gc.set_threshold(*RESTING)


def wake() -> None:
    """What goes on for long begins now."""
    gc.set_threshold(*USUAL)
