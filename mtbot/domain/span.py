"""A span of time as people read it."""


def span_text(seconds: float) -> str:
    """``41 s``, ``12 min``, ``3 h 5 min``, ``2 d 4 h``: the two largest units, rounded down."""
    whole = max(0, int(seconds))
    if whole < 60:
        return f"{whole} s"
    days, hours, minutes = whole // 86_400, whole % 86_400 // 3600, whole % 3600 // 60
    if days:
        return f"{days} d {hours} h"
    return f"{hours} h {minutes} min" if hours else f"{minutes} min"
