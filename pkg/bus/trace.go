package bus

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// headerTrace is the W3C trace context of a message.
const headerTrace = "traceparent"

const tracerName = "github.com/interlock-run/interlock/pkg/bus"

// begin begins the span of a publication, which is part of the trace that the event was
// decided in. Consumers continue from that span.
func (r *Relay) begin(e *entry) {
	if r.cfg.Tracer == nil || e.Trace == "" {
		return
	}
	ctx := propagation.TraceContext{}.Extract(context.Background(), propagation.MapCarrier{headerTrace: e.Trace})
	ctx, e.span = r.cfg.Tracer.Tracer(tracerName).Start(ctx, "events.publish", trace.WithSpanKind(trace.SpanKindProducer),
		trace.WithTimestamp(e.sentAt), trace.WithAttributes(
			attribute.String("messaging.system", "nats"), attribute.String("messaging.destination.name", r.cfg.Stream.Name),
			attribute.String("messaging.operation.type", "send"),
		))
	carrier := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, carrier)
	e.Trace = carrier.Get(headerTrace)
}

// end ends the span of a publication; why is empty for one that NATS has.
func (e *entry) end(why string) {
	if e.span == nil {
		return
	}
	if why != "" {
		e.span.SetStatus(codes.Error, why)
	}
	e.span.End()
	e.span = nil
}
