"""A connection through a SOCKS proxy. Imported only where one is configured: its library costs time and memory.

The proxy looks the server's name up, with socks5 as with socks5h: where somebody keeps people from Telegram, the name
service here is often part of it.
"""

from typing import Any
from urllib.parse import unquote, urlsplit

from aiohttp_socks import ProxyConnectionError, ProxyConnector, ProxyError, ProxyTimeoutError

from mtbot.domain.errors import Unreachable
from mtbot.domain.proxy import HUNG_UP, NO_ANSWER, NO_PROXY, NOT_REACHED, WRONG_PASSWORD, refused


class SocksConnector(ProxyConnector):
    """Connects through the proxy. Whatever failed, nothing was sent yet, and Unreachable says so without address and secret."""

    async def _wrap_create_connection(self, *args: Any, **kwargs: Any) -> Any:
        try:
            return await super()._wrap_create_connection(*args, **kwargs)
        except ProxyConnectionError:
            raise Unreachable(NOT_REACHED) from None
        except ProxyTimeoutError:
            raise Unreachable(NO_ANSWER) from None
        except ProxyError as error:
            raise Unreachable(_refusal(error)) from None
        except EOFError:
            raise Unreachable(HUNG_UP) from None
        except OSError as error:  # above all TLS with the server behind it
            raise Unreachable(f"no connection came about through the proxy ({type(error).__name__})") from None
        except ValueError:
            raise Unreachable(NO_PROXY) from None


def options(proxy: str) -> dict[str, object]:
    """What ``SocksConnector`` is made with for an address that the configuration accepts."""
    parts = urlsplit(proxy)
    assert parts.hostname is not None
    assert parts.port is not None
    return {
        "host": parts.hostname,
        "port": parts.port,
        "username": unquote(parts.username or "") or None,
        "password": unquote(parts.password or "") or None,
        "rdns": True,
    }


def _refusal(error: ProxyError) -> str:
    """What the proxy said, in our words or in those that its library has for a number."""
    said = str(error)
    if error.error_code is not None:
        return refused(f"{said[:1].lower()}{said[1:]}")
    if "authentication" in said.lower():
        return WRONG_PASSWORD
    return NO_PROXY
