"""Spans of OpenTelemetry, when a provider of them is given."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

Metadata = tuple[tuple[str, str], ...]


@contextmanager
def span(provider: Any, method: str, metadata: Metadata) -> Iterator[Metadata]:
    """Runs one call of gRPC in a span of its own and yields the metadata to send with it."""
    if provider is None:
        yield metadata
        return
    from opentelemetry import trace
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

    service, _, name = method.strip("/").rpartition("/")
    attributes = {"rpc.system": "grpc", "rpc.service": service, "rpc.method": name}
    tracer = provider.get_tracer("interlock")
    with tracer.start_as_current_span(method.strip("/"), kind=trace.SpanKind.CLIENT, attributes=attributes):
        carrier: dict[str, str] = {}
        TraceContextTextMapPropagator().inject(carrier)
        yield (*metadata, *carrier.items())
