"""Strangers on loopback for tests and the demo: a Telegram Bot API server and a scripted language model.

Nothing here imports the rest of mtbot. A stand-in that shared code with the bot would agree with its mistakes; this one
is written from the public behaviour of the two services and is checked against clients that this project did not write.
"""
