package rpc

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc/codes"

	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/telemetry"
)

// metrics of a server, under the names that gRPC dashboards know. A nil one does not
// count.
type metrics struct {
	handled *prometheus.CounterVec
	seconds *prometheus.HistogramVec
	faults  *prometheus.CounterVec
}

func newMetrics(r prometheus.Registerer) (*metrics, error) {
	if r == nil {
		return nil, nil // a nil *metrics works
	}
	labels := []string{"grpc_service", "grpc_method"}
	m := &metrics{
		handled: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "grpc_server_handled_total",
			Help: "RPCs that ended, by status code.",
		}, append(labels, "grpc_code")),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "grpc_server_handling_seconds",
			Help:    "Time that unary RPCs took, in seconds.",
			Buckets: []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10},
		}, labels),
		faults: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "interlock_rpc_faults_total",
			Help: "RPCs that failed, by reason.",
		}, []string{"reason"}),
	}
	var err error
	m.handled, err = register(r, m.handled, err)
	m.seconds, err = register(r, m.seconds, err)
	m.faults, err = register(r, m.faults, err)
	return m, err
}

// register registers a collector, or returns the same one that another server of
// this process registered before.
func register[C prometheus.Collector](r prometheus.Registerer, c C, before error) (C, error) {
	err := r.Register(c)
	var known prometheus.AlreadyRegisteredError
	if errors.As(err, &known) {
		if other, ok := known.ExistingCollector.(C); ok {
			return other, before
		}
	}
	if err != nil {
		err = fmt.Errorf("register metrics: %w", err)
	}
	return c, errors.Join(before, err)
}

// methodMetrics are the metrics of one RPC, looked up once.
type methodMetrics struct {
	service, method string
	all             *metrics
	codes           *[codes.Unauthenticated + 1]atomic.Pointer[prometheus.Counter]
	// seconds is nil for a stream.
	seconds prometheus.Observer
}

func (m *metrics) forMethod(fullMethod string) methodMetrics {
	if m == nil {
		return methodMetrics{}
	}
	service, name, _ := strings.Cut(strings.TrimPrefix(fullMethod, "/"), "/")
	return methodMetrics{
		service: service, method: name, all: m,
		codes:   new([codes.Unauthenticated + 1]atomic.Pointer[prometheus.Counter]),
		seconds: m.seconds.WithLabelValues(service, name),
	}
}

// done counts a call that ended.
func (m *methodMetrics) done(ctx context.Context, code codes.Code, begin time.Time) {
	if m.all == nil {
		return
	}
	if m.seconds != nil {
		telemetry.Measure(ctx, m.seconds, time.Since(begin).Seconds())
	}
	if int(code) >= len(m.codes) {
		code = codes.Unknown
	}
	counter := m.codes[code].Load()
	if counter == nil {
		c := m.all.handled.WithLabelValues(m.service, m.method, code.String())
		counter = &c
		m.codes[code].Store(counter)
	}
	(*counter).Inc()
}

func (m *metrics) fault(reason fault.Reason) {
	if m != nil {
		m.faults.WithLabelValues(string(reason)).Inc()
	}
}

// registerExpiry adds how long the server's certificate is still valid: of the one that the
// next connection is shown.
func registerExpiry(r prometheus.Registerer, settings *tls.Config) error {
	if r == nil || settings == nil {
		return nil
	}
	_, err := register(r, prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "interlock_certificate_expiry_seconds",
		Help: "Seconds until the server's certificate expires; negative once it has.",
	}, func() float64 {
		now, err := settings.GetConfigForClient(nil)
		if err != nil || len(now.Certificates) == 0 || now.Certificates[0].Leaf == nil {
			return math.NaN()
		}
		return time.Until(now.Certificates[0].Leaf.NotAfter).Seconds()
	}), nil)
	return err
}
