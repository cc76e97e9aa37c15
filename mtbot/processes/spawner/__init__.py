"""The program that forks: standard library only, and nothing of mtbot outside this folder.

It runs in an interpreter of its own, so that the process with the secrets and the process that starts commands share
neither memory, environment nor modules. Its files import each other relatively, because they are loaded as the top-level
package ``spawner`` by ``child.py`` and as ``mtbot.processes.spawner`` by the gateway, which speaks the same wire format.
"""
