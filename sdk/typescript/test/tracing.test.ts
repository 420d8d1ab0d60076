import { context, propagation, trace, type Span, type TextMapPropagator } from "@opentelemetry/api";
import { afterAll, expect, inject, test } from "vitest";
import { Interlock } from "../src/index.js";
import { Case } from "./host.js";

// OpenTelemetry's API without its SDK: what a provider of spans and a propagator are asked for.
const spans: { name: string; ended: boolean; failed: boolean }[] = [];
trace.setGlobalTracerProvider({
  getTracer: () =>
    ({
      startSpan(name: string) {
        const one = { name, ended: false, failed: false };
        spans.push(one);
        return {
          setAttribute: () => undefined,
          setStatus: () => (one.failed = true),
          end: () => (one.ended = true),
          spanContext: () => ({ traceId: "0af7651916cd43dd8448eb211c80319c", spanId: "b7ad6b7169203331", traceFlags: 1 }),
        } as unknown as Span;
      },
    }) as never,
});
const injected: string[] = [];
propagation.setGlobalPropagator({
  inject(ctx, carrier, setter) {
    const value = `00-${trace.getSpan(ctx)!.spanContext().traceId}-b7ad6b7169203331-01`;
    injected.push(value);
    setter.set(carrier, "traceparent", value);
  },
} as TextMapPropagator);

afterAll(() => {
  trace.disable();
  propagation.disable();
  context.disable();
});

test("each RPC is a span of the caller's trace", async () => {
  const host = await Case.begin(inject("control"), {});
  const client = new Interlock({ server: host.server, namespace: host.namespace, token: host.token, session: "agent" });
  await expect(client.getRun()).rejects.toMatchObject({ reason: "NOT_FOUND" });
  expect(spans).toEqual([{ name: "interlock.engine.v1.RunService/GetRun", ended: true, failed: true }]);
  expect(injected).toHaveLength(1);
  client.close();
  await host.end();
});
