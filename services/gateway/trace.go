package gateway

import (
	"net/http"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// traced begins a trace with each request, or continues with the caller's. Without
// a provider it answers the handler as it is.
func traced(next http.Handler, provider trace.TracerProvider) http.Handler {
	if provider == nil {
		return next
	}
	tracer := provider.Tracer("github.com/interlock-run/interlock/services/gateway")
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx := propagation.TraceContext{}.Extract(r.Context(), propagation.HeaderCarrier(r.Header))
		// The path may hold ids; the first two segments name the resource.
		ctx, span := tracer.Start(ctx, r.Method+" "+resource(r.URL.Path), trace.WithSpanKind(trace.SpanKindServer),
			trace.WithAttributes(attribute.String("http.request.method", r.Method)))
		defer span.End()
		// Of what is served later, on a connection that this request is not the first of,
		// only the header reports whose trace it is in.
		propagation.TraceContext{}.Inject(ctx, propagation.HeaderCarrier(r.Header))
		next.ServeHTTP(w, r.WithContext(ctx))
	})
}

// resource returns a path's first two segments: /v1/runs of /v1/runs/run_01j/check.
func resource(path string) string {
	slashes := 0
	for i := range len(path) {
		if path[i] == '/' {
			if slashes++; slashes == 3 {
				return path[:i]
			}
		}
	}
	return path
}
