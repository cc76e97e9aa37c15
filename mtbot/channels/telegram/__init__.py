"""Telegram as a surface: the only package that imports aiogram.

Importing it costs next to nothing. It only arranges that aiogram, whenever one of the modules here first imports it,
neither imports seven hundred modules nor builds the validators of some six hundred models at once (see `models`).
"""

from mtbot.channels.telegram.models import hold_back_building

hold_back_building()
