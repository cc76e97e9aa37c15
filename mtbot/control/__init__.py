"""The owner's way into a running gateway from the same host: a Unix socket that only their account can reach.

``place`` is where it lies, ``peer`` who is at the other end, ``wire`` what is said, ``server`` and ``client`` the two
ends, ``verbs`` what may be asked for.
"""
