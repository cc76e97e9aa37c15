"""When Python looks for garbage in a gateway: hardly ever while it starts, and afterwards only in what is new."""

import gc

UNTIL_READY = 200_000
"""New objects between two collections during the start, nearly all of which stay."""

_USUAL = gc.get_threshold()


def hold_back() -> None:
    """Look less often from here on: to go through all modules again and again is a tenth of a start."""
    gc.set_threshold(UNTIL_READY)


def settle() -> None:
    """Leave what is there alone from now on, so that no turn waits for a look through all of it."""
    gc.freeze()
    gc.set_threshold(*_USUAL)
