"""Where a client connects, and how."""

from __future__ import annotations

import ipaddress
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ._glass import BreakGlass
from .errors import ConfigurationError

DEFAULT_SERVER = "127.0.0.1:7421"
"""Where `interlock up` serves gRPC by default."""

_ROUND_ROBIN = json.dumps({"loadBalancingConfig": [{"round_robin": {}}], "healthCheckConfig": {"serviceName": ""}})


@dataclass(frozen=True)
class TLS:
    """Files of TLS, in PEM. Without a CA, the system's are used."""

    ca: str = ""
    cert: str = ""
    """The client's own certificate and key, for mTLS."""
    key: str = ""
    server_name: str = ""


@dataclass(frozen=True)
class Settings:
    """All that a client is made of."""

    server: str = DEFAULT_SERVER
    token: str = field(default="", repr=False)
    namespace: str = ""
    session: str = ""
    run: str = ""
    state: str = ""
    tls: TLS | None = None
    insecure: bool = False
    timeout: float = 30.0
    tracer_provider: Any = None
    jail_program: str = "interlock"
    jail_level: int | None = None
    human: str = field(default="", repr=False)
    break_glass: BreakGlass | None = None


def settings_of(env: Mapping[str, str] = os.environ) -> Settings:
    """Reads an environment, under the names that the command line reads."""
    server = env.get("INTERLOCK_SERVER") or DEFAULT_SERVER
    _is_grpc("INTERLOCK_SERVER", server)
    insecure = env.get("INTERLOCK_INSECURE") or "false"
    if insecure.lower() not in {"1", "t", "true", "0", "f", "false"}:
        raise _wrong(f"INTERLOCK_INSECURE is {insecure!r}: give true or false")
    ca = env.get("INTERLOCK_CA") or ""
    return Settings(
        server=server,
        token=env.get("INTERLOCK_TOKEN") or "",
        namespace=env.get("INTERLOCK_NAMESPACE") or "",
        session=env.get("INTERLOCK_SESSION") or "",
        run=env.get("INTERLOCK_RUN") or "",
        state=env.get("WORKFLOW_STATE_ID") or "",
        tls=TLS(ca=ca) if ca else None,
        insecure=insecure.lower() in {"1", "t", "true"},
        break_glass=BreakGlass(
            env["INTERLOCK_BREAKGLASS"],
            env.get("INTERLOCK_PRINCIPAL") or "",
            env.get("INTERLOCK_BREAKGLASS_KEY") or "",
            env.get("INTERLOCK_BREAKGLASS_SPOOL") or "",
        )
        if env.get("INTERLOCK_BREAKGLASS")
        else None,
    )


def check(settings: Settings) -> None:
    """Refuses settings that would send the token and all data in plaintext, or to no server."""
    if not settings.server:
        raise _wrong(f"no server; give its gRPC address, such as {DEFAULT_SERVER}")
    for one in settings.server.split(","):
        _is_grpc("the server", one.strip())
    if settings.tls is None and not settings.insecure and not all(map(_loopback, settings.server.split(","))):
        raise _wrong(
            f"dial {settings.server}: without TLS the token and all data would be sent in plaintext; give tls=TLS(ca=...), or "
            "insecure=True where the network itself is trusted"
        )
    if settings.timeout <= 0:
        raise _wrong("the timeout must be more than 0 seconds")
    target(settings)


def _is_grpc(name: str, server: str) -> None:
    """Refuses an address of another protocol."""
    scheme, there, rest = server.partition("://")
    if there and scheme.lower() in {"http", "https", "grpc", "grpcs", "tcp", "ws", "wss"}:
        secure = " and tls=TLS()" if scheme.lower() in {"https", "grpcs", "wss"} else ""
        host = rest.partition("/")[0].rpartition("@")[2]
        raise _wrong(
            f"{name} is {scheme}://{host}, {'an HTTP' if scheme.lower().startswith('http') else 'another kind of'} address: give the "
            f"address of the gRPC services without a scheme{secure}, such as {DEFAULT_SERVER}; `interlock up` prints it"
        )


def _wrong(message: str) -> ConfigurationError:
    return ConfigurationError("INVALID_SETTING", message)


def target(settings: Settings) -> str:
    """The target as the library of gRPC in C has it."""
    several = settings.server.split(",")
    if len(several) == 1:
        return settings.server
    addresses = [one.replace("localhost:", "127.0.0.1:", 1) for one in several]
    try:
        versions = {ipaddress.ip_address(one.rpartition(":")[0].strip("[]")).version for one in addresses}
    except ValueError as err:
        raise _wrong(f"dial {settings.server}: a list of servers has IP addresses with ports; for a name use dns:///") from err
    if len(versions) > 1:
        raise _wrong(f"dial {settings.server}: a list of servers has addresses of one version of IP")
    return f"ipv{versions.pop()}:{','.join(addresses)}"


def options(settings: Settings) -> list[tuple[str, Any]]:
    """Options of the channel: as the other clients of Interlock have them."""
    chosen: list[tuple[str, Any]] = [
        ("grpc.keepalive_time_ms", 20_000),
        ("grpc.keepalive_timeout_ms", 10_000),
        ("grpc.initial_reconnect_backoff_ms", 100),
        ("grpc.min_reconnect_backoff_ms", 3_000),
        ("grpc.max_reconnect_backoff_ms", 3_000),
        ("grpc.max_receive_message_length", 64 << 20),
        ("grpc.enable_retries", 0),
    ]
    if "," in settings.server or settings.server.startswith("dns:///"):
        chosen.append(("grpc.service_config", _ROUND_ROBIN))
    if all(map(_loopback, settings.server.split(","))):
        chosen.append(("grpc.enable_http_proxy", 0))
    if settings.tls and settings.tls.server_name:
        chosen.append(("grpc.ssl_target_name_override", settings.tls.server_name))
    return chosen


def credentials(tls: TLS) -> Any:
    """Credentials of a channel with TLS."""
    import grpc

    def read(name: str) -> bytes | None:
        return Path(name).read_bytes() if name else None

    return grpc.ssl_channel_credentials(read(tls.ca), read(tls.key), read(tls.cert))


def metadata(settings: Settings) -> tuple[tuple[str, str], ...]:
    """The metadata of every call."""
    sent = []
    if settings.token:
        sent.append(("authorization", "Bearer " + settings.token))
    if settings.namespace:
        sent.append(("interlock-namespace", settings.namespace))
    if settings.human:
        sent.append(("interlock-for", "Bearer " + settings.human))
    return tuple(sent)


def _loopback(server: str) -> bool:
    if server.startswith(("unix:", "unix-abstract:")):
        return True
    for scheme in ("dns:///", "passthrough:///", "dns:", "ipv4:", "ipv6:"):
        server = server.removeprefix(scheme)
    host = server.rpartition(":")[0].strip("[]") or server
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
