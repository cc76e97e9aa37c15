"""A real model is talked to only where somebody asked for it (`make interop`): building a server for it takes minutes."""

from tests.interop.real import PYTHON

collect_ignore = [] if PYTHON else ["test_real_model.py"]
