"""A real `interlock up`, and a proxy before it that hears what is sent and can make it go wrong."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from concurrent import futures
from pathlib import Path
from typing import Any

import grpc

from interlock.gen.policy.v1 import policy_enforcer_service_pb2 as policy

ROOT = Path(__file__).parents[3]
BINARY = Path(os.environ.get("INTERLOCK_BINARY") or ROOT / "bin" / "interlock")


class Server:
    """`interlock up` in a folder of its own, on ports that the system chooses."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        env = {k: v for k, v in os.environ.items() if not k.startswith("INTERLOCK_")}
        self._log = (folder / "log").open("wb")
        self._process = subprocess.Popen(
            [BINARY, "up", "--presence=none", "--data-dir", folder / "data",
             "--http=127.0.0.1:0", "--grpc=127.0.0.1:0", "--nats=127.0.0.1:0"],
            env=env, stdout=self._log, stderr=subprocess.STDOUT,
        )  # fmt: skip
        until = time.monotonic() + 60
        while b"Interlock is up" not in (folder / "log").read_bytes():
            if self._process.poll() is not None or time.monotonic() > until:
                raise RuntimeError("interlock up: " + (folder / "log").read_text())
            time.sleep(0.02)
        endpoints = json.loads((folder / "data" / "endpoints.json").read_text())
        self.grpc: str = endpoints["grpc"]
        self.http: str = endpoints["http"]
        self.tokens: dict[str, str] = json.loads((folder / "data" / "local.json").read_text())

    def close(self) -> None:
        self._process.terminate()
        self._process.wait()
        self._log.close()

    def cli(self, role: str, *command: str) -> Any:
        """Runs the command line with a role's token and returns its JSON."""
        env = {**os.environ, "INTERLOCK_SERVER": self.grpc, "INTERLOCK_TOKEN": self.tokens[role]}
        done = subprocess.run(
            [BINARY, *command, "-o", "json"], env=env, cwd=self.folder, capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise RuntimeError(f"interlock {' '.join(command)}: {done.stdout}{done.stderr}")
        return json.loads(done.stdout or "null")


def unused_address() -> str:
    """An address at which nothing listens."""
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{s.getsockname()[1]}"


class Proxy:
    """Passes calls on to a server as they are, hears the checks and the reports, and has one fault."""

    def __init__(self, upstream: str) -> None:
        self._channel = grpc.insecure_channel(upstream)
        self._server = grpc.server(futures.ThreadPoolExecutor(64))
        self._server.add_generic_rpc_handlers((_Handler(self),))
        self._over = threading.Event()
        self.address = f"127.0.0.1:{self._server.add_insecure_port('127.0.0.1:0')}"
        self._server.start()
        self._lock = threading.Lock()
        self.reset()

    def reset(self, fault: str = "") -> None:
        with self._lock:
            self.fault = fault
            self._holds, self._reached, self._let = "", threading.Event(), threading.Event()
            self.checks: list[policy.CheckToolCallRequest] = []
            self.reports: list[policy.ReportToolCallRequest] = []
            self.reported = threading.Event()

    def hold(self, method: str) -> threading.Event:
        """Keeps the next answers of a method back until `let`, but not those of dry runs. The event is set when the first of them is
        there."""
        with self._lock:
            self._holds, self._reached, self._let = method, threading.Event(), threading.Event()
            return self._reached

    def let(self) -> None:
        """Lets the answers go that are kept back."""
        with self._lock:
            self._holds = ""
            self._let.set()

    def close(self) -> None:
        self._over.set()
        self._server.stop(None).wait()
        self._channel.close()

    def heard(self, method: str, request: bytes) -> int:
        """How many calls of this kind have been heard, this one included."""
        with self._lock:
            if method.endswith("/CheckToolCall"):
                self.checks.append(policy.CheckToolCallRequest.FromString(request))
                return len(self.checks)
            if method.endswith("/ReportToolCall"):
                self.reports.append(policy.ReportToolCallRequest.FromString(request))
                self.reported.set()
                return len(self.reports)
        return 0

    def unary(self, method: str, request: bytes, context: grpc.ServicerContext) -> bytes:
        number = self.heard(method, request)
        if method.endswith("/CheckToolCall"):
            self._before(context)
        if method.endswith("/ReportToolCall") and self.fault == "report-refused":
            context.abort(grpc.StatusCode.INTERNAL, "the report was refused")
        answer: bytes = self._pass(method, request, context)
        if self._holds and method.endswith("/" + self._holds) and not _dry(method, request):
            self._reached.set()
            self._let.wait(30)
        if self.fault == "answer-lost" and method.endswith("/CheckToolCall") and number == 1:
            context.abort(grpc.StatusCode.UNAVAILABLE, "the answer was lost")
        if method.endswith("/CheckToolCall"):
            answer = self._after(answer)
        return answer

    def _before(self, context: grpc.ServicerContext) -> None:
        if self.fault == "silent":
            gone = threading.Event()
            context.add_callback(gone.set)
            while not gone.wait(0.05) and not self._over.is_set():
                pass
            context.abort(grpc.StatusCode.CANCELLED, "nobody waits")
        if self.fault == "internal":
            context.abort(grpc.StatusCode.INTERNAL, "it broke")

    def _after(self, answer: bytes) -> bytes:
        if self.fault == "unknown-decision":
            return answer + bytes([1 << 3, 77])  # the field again, which wins
        if self.fault == "empty-answer":
            return b""
        if self.fault == "other-call":
            other = policy.CheckToolCallResponse.FromString(answer)
            other.call_id = "call_of_another"
            return other.SerializeToString()
        if self.fault == "garbage":
            return b"\xff\xff\xff\xff"
        return answer

    def _pass(self, method: str, request: bytes, context: grpc.ServicerContext) -> bytes:
        call = self._channel.unary_unary(method)
        try:
            return call(request, metadata=_metadata(context), timeout=context.time_remaining())
        except grpc.RpcError as err:
            context.set_trailing_metadata(
                tuple((k, v) for k, v in err.trailing_metadata() or () if k == "grpc-status-details-bin")
            )
            context.abort(err.code(), err.details())
            raise

    def stream(self, method: str, request: bytes, context: grpc.ServicerContext) -> Iterator[bytes]:
        call = self._channel.unary_stream(method)(request, metadata=_metadata(context), timeout=context.time_remaining())
        context.add_callback(call.cancel)
        try:
            yield from call
        except grpc.RpcError as err:
            context.abort(err.code(), err.details())


def _dry(method: str, request: bytes) -> bool:
    return method.endswith("/CheckToolCall") and policy.CheckToolCallRequest.FromString(request).dry_run


class _Handler(grpc.GenericRpcHandler):
    def __init__(self, proxy: Proxy) -> None:
        self._proxy = proxy

    def service(self, details: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler:
        method = details.method
        if method.rpartition("/")[2].startswith("Watch"):
            return grpc.unary_stream_rpc_method_handler(lambda request, context: self._proxy.stream(method, request, context))
        return grpc.unary_unary_rpc_method_handler(lambda request, context: self._proxy.unary(method, request, context))


def _metadata(context: grpc.ServicerContext) -> tuple[tuple[str, str], ...]:
    kept = {"authorization", "interlock-namespace", "interlock-for", "traceparent"}
    return tuple((key, value) for key, value in context.invocation_metadata() if key in kept)
