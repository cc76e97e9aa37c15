"""Connections that mtclaw makes to servers which its owner named: Telegram's and those of models."""
