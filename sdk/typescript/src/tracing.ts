import type { Interceptor } from "@connectrpc/connect";
import { ConnectError, Code } from "@connectrpc/connect";

type API = typeof import("@opentelemetry/api");

let loaded: Promise<API | undefined> | undefined;

/** The API of OpenTelemetry, where it is installed. */
function api(): Promise<API | undefined> {
  loaded ??= import("@opentelemetry/api").catch(() => undefined);
  return loaded;
}

/** A span per RPC, and the trace's context in its headers. Without OpenTelemetry, or without a provider of spans, it has no effect. */
export const tracing: Interceptor = (next) => async (req) => {
  const otel = await api();
  if (!otel) return next(req);
  const tracer = otel.trace.getTracer("@interlock/sdk");
  const span = tracer.startSpan(`${req.service.typeName}/${req.method.name}`, {
    kind: otel.SpanKind.CLIENT,
    attributes: { "rpc.system": "grpc", "rpc.service": req.service.typeName, "rpc.method": req.method.name },
  });
  const context = otel.trace.setSpan(otel.context.active(), span);
  otel.propagation.inject(context, req.header, { set: (header, key, value) => header.set(key, value) });
  try {
    return await otel.context.with(context, () => next(req));
  } catch (err) {
    const code = err instanceof ConnectError ? err.code : Code.Unknown;
    span.setAttribute("rpc.grpc.status_code", code);
    span.setStatus({ code: otel.SpanStatusCode.ERROR });
    throw err;
  } finally {
    span.end();
  }
};
