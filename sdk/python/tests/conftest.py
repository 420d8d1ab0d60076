from __future__ import annotations

from collections.abc import Iterator

import pytest
from interlock_server import Proxy, Server

pytest_plugins = ["interlock.testing"]


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    made = Server(tmp_path_factory.mktemp("interlock"))
    yield made
    made.close()


@pytest.fixture(scope="session")
def _proxy(server: Server) -> Iterator[Proxy]:
    made = Proxy(server.grpc)
    yield made
    made.close()


@pytest.fixture
def proxy(_proxy: Proxy) -> Proxy:
    _proxy.reset()
    return _proxy
