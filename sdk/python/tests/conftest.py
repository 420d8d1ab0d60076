from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator

import pytest
from interlock_server import BINARY, Proxy, Server

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


@pytest.fixture(scope="session")
def control() -> Iterator[str]:
    """The address of the host of sdk/conformance."""
    env = {k: v for k, v in os.environ.items() if not k.startswith("INTERLOCK_")}
    host = subprocess.Popen(
        [BINARY.with_name("sdkhost"), "-interlock", BINARY], env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert host.stdin
    assert host.stdout
    yield json.loads(host.stdout.readline())["control"]
    host.stdin.close()
    assert host.wait() == 0
    host.stdout.close()
