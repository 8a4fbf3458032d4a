"""Connections to web servers with a limit of time for all headers of an answer together.

The timeout of requests is one of each single read: a server that sends a byte now and then would hold us for ever.
"""

import socket
import threading
from contextlib import suppress
from typing import Any

import urllib3
from requests.adapters import HTTPAdapter
from urllib3.connection import HTTPConnection, HTTPSConnection

_HEADERS = 30.0  # seconds


class _Timed(HTTPConnection):
    """A connection on which all headers of an answer must arrive within the time that one read may take, and 30 s."""

    def getresponse(self) -> Any:
        """Read the headers of an answer.

        Raises:
            TimeoutError: they did not arrive in time.
        """
        limit, sock, is_late = min(_HEADERS, self.timeout or _HEADERS), self.sock, threading.Event()

        def stop() -> None:
            is_late.set()
            with suppress(OSError):  # closed meanwhile
                sock.shutdown(socket.SHUT_RDWR)  # wakes the thread that reads

        timer = threading.Timer(limit, stop)
        timer.daemon = True
        timer.start()
        try:
            return super().getresponse()
        finally:
            timer.cancel()
            if is_late.is_set():
                raise TimeoutError(f"its headers did not arrive within {limit:g} s") from None


class _TimedTls(_Timed, HTTPSConnection):
    """The same with encryption."""


class _Pool(urllib3.HTTPConnectionPool):
    ConnectionCls = _Timed


class _PoolTls(urllib3.HTTPSConnectionPool):
    ConnectionCls = _TimedTls


_POOLS = {"http": _Pool, "https": _PoolTls}


class TimedAdapter(HTTPAdapter):
    """Lets a session of requests make such connections, also through a proxy."""

    def init_poolmanager(self, *arguments: Any, **options: Any) -> None:
        """Make the pools of connections."""
        super().init_poolmanager(*arguments, **options)
        self.poolmanager.pool_classes_by_scheme = _POOLS

    def proxy_manager_for(self, *arguments: Any, **options: Any) -> Any:
        """Return the pools of connections through a proxy."""
        manager = super().proxy_manager_for(*arguments, **options)
        manager.pool_classes_by_scheme = _POOLS
        return manager
