"""Every child process of mtclaw is started, watched and ended here.

The gateway holds the secrets and never forks. ``child`` is the small program that does; ``runner`` is its client inside
the gateway; ``output`` turns what a command wrote into text that is safe to store and to show.
"""
