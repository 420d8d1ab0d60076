package rpc

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"

	"go.opentelemetry.io/contrib/instrumentation/google.golang.org/grpc/otelgrpc"
	"go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/propagation"
	"google.golang.org/grpc"
	grpchealth "google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/reflection"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/tap"

	"github.com/interlock-run/interlock/pkg/health"
	"github.com/interlock-run/interlock/pkg/internal/dial"
)

// Server is a gRPC server with the chain of this package. Register services on
// GRPC, call SetServing when they are ready, then Serve.
type Server struct {
	cfg     Config
	grpc    *grpc.Server
	health  *grpchealth.Server
	methods map[string]*method
	unknown *method
	metrics *metrics
	gate    gate

	listeners []net.Listener
	local     *memory

	// draining ends when serving ends, before any call is cut.
	draining context.Context
	drain    context.CancelFunc
	stop     sync.Once
	warned   throttle
	refusals Refusals
}

// NewServer opens the listeners and makes the server. Serve or Close must follow.
func NewServer(cfg Config) (*Server, error) {
	cfg = cfg.withDefaults()
	if err := cfg.incomplete(); err != nil {
		return nil, err
	}
	settings, err := cfg.TLS.Config()
	if err != nil {
		return nil, err
	}
	s := &Server{cfg: cfg, health: grpchealth.NewServer(), methods: make(map[string]*method), refusals: Refusals{Tell: cfg.Refused}}
	s.draining, s.drain = context.WithCancel(context.Background())
	if s.metrics, err = newMetrics(cfg.Registerer); err != nil {
		return nil, err
	}
	if err := registerExpiry(cfg.Registerer, settings); err != nil {
		return nil, err
	}
	s.unknown = s.newMethod("/unknown/unknown")
	if s.listeners, err = listen(cfg); err != nil {
		return nil, err
	}
	s.grpc = grpc.NewServer(append(s.options(), grpc.Creds(newServerCredentials(settings)))...)
	s.local = newMemory(s)
	healthpb.RegisterHealthServer(s.GRPC(), s.health)
	reflection.Register(registrar{s})
	s.SetServing(false)
	return s, nil
}

func (s *Server) options() []grpc.ServerOption {
	cfg := s.cfg
	options := []grpc.ServerOption{
		grpc.UnaryInterceptor(s.unary),
		grpc.StreamInterceptor(s.stream),
		grpc.UnknownServiceHandler(func(any, grpc.ServerStream) error { return errUnknownMethod() }),
		grpc.InTapHandle(s.arrive),
		grpc.ForceServerCodecV2(newCodec()),
		grpc.MaxRecvMsgSize(transportLimit(cfg)),
		grpc.MaxConcurrentStreams(cfg.MaxConcurrentStreams),
		grpc.ConnectionTimeout(cfg.ConnectionTimeout),
		grpc.KeepaliveParams(keepalive.ServerParameters{
			MaxConnectionIdle: cfg.MaxConnectionIdle,
			MaxConnectionAge:  cfg.MaxConnectionAge,
			Time:              cfg.KeepaliveTime,
			Timeout:           cfg.KeepaliveTimeout,
		}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{
			MinTime:             5 * time.Second,
			PermitWithoutStream: true,
		}),
		// Bounds the memory of thousands of quiet connections.
		grpc.ReadBufferSize(16 << 10),
		grpc.MaxHeaderListSize(64 << 10),
		grpc.WaitForHandlers(true),
		// Goroutines whose stacks have grown serve the next call too: two comparisons
		// measured 8 and 16 % of a transition's cost here.
		grpc.NumStreamWorkers(256),
	}
	if cfg.TracerProvider != nil {
		options = append(options, grpc.StatsHandler(otelgrpc.NewServerHandler(
			otelgrpc.WithTracerProvider(cfg.TracerProvider),
			otelgrpc.WithPropagators(propagation.TraceContext{}),
			otelgrpc.WithMeterProvider(noop.NewMeterProvider()),
			otelgrpc.WithFilter(func(i *stats.RPCTagInfo) bool { return !isHealth(i.FullMethodName) }),
		)))
	}
	return options
}

// arrive gives a unary call that names no deadline the default one before its
// message is read, so that a client that never finishes sending is cut too. The
// interceptors are too late for that: they run when the message is there.
func (s *Server) arrive(ctx context.Context, info *tap.Info) (context.Context, error) {
	if _, set := ctx.Deadline(); set {
		return ctx, nil
	}
	if m := s.methods[info.FullMethodName]; m != nil && !m.isUnary() {
		return ctx, nil
	}
	ctx, cancel := context.WithTimeout(ctx, s.cfg.DefaultDeadline)
	// grpc cancels the parent when the call ends, and this with it.
	_ = cancel
	return ctx, nil
}

// transportLimit returns the size above which grpc itself refuses a message, without a
// reason.
func transportLimit(cfg Config) int { return 4 * cfg.MaxRecvBytes }

// GRPC returns where services are registered, all of them before Serve.
func (s *Server) GRPC() grpc.ServiceRegistrar { return registrar{s} }

// Addrs returns the addresses that are served, Config.Listen first.
func (s *Server) Addrs() []net.Addr {
	addrs := make([]net.Addr, len(s.listeners))
	for i, lis := range s.listeners {
		addrs[i] = lis.Addr()
	}
	return addrs
}

// Accepting is the name under which the health service says that the server takes calls,
// regardless of its dependencies. Services ask each other for this: one that cannot decide says
// why itself.
const Accepting = dial.Accepting

// SetServing announces over the health service whether the server takes calls, and like SetReady
// whether it and each of its services serve. It begins with false, and is false forever when
// draining.
func (s *Server) SetServing(serving bool) {
	s.health.SetServingStatus(Accepting, servingStatus(serving))
	s.SetReady(serving)
}

func servingStatus(serving bool) healthpb.HealthCheckResponse_ServingStatus {
	if serving {
		return healthpb.HealthCheckResponse_SERVING
	}
	return healthpb.HealthCheckResponse_NOT_SERVING
}

// FollowReady keeps the health service at the answer of /readyz, until ctx ends.
func (s *Server) FollowReady(ctx context.Context, checks *health.Checks) {
	tick := time.NewTicker(readyEvery)
	defer tick.Stop()
	for {
		s.SetReady(checks.Run(ctx).Ready())
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// readyEvery is how often it is looked whether a server is ready.
const readyEvery = time.Second

// SetReady announces over the health service whether the server and each of its services can do
// their work. It makes no change when draining.
func (s *Server) SetReady(ready bool) {
	status := servingStatus(ready)
	s.health.SetServingStatus("", status)
	for name := range s.grpc.GetServiceInfo() {
		s.health.SetServingStatus(name, status)
	}
}

// Serve serves until ctx ends or a listener fails, then drains: health turns NOT_SERVING,
// new calls go elsewhere, calls in flight finish. Calls that have not finished after
// DrainTimeout are cancelled. No call runs when Serve returns, unless a handler ignores
// its context.
func (s *Server) Serve(ctx context.Context) error {
	failures := make(chan error, len(s.listeners))
	for _, lis := range s.listeners {
		go func() { failures <- s.grpc.Serve(lis) }()
	}
	var errs []error
	running := len(s.listeners)
	select {
	case <-ctx.Done():
	case <-s.draining.Done():
	case err := <-failures:
		errs = append(errs, err)
		running--
	}
	s.Close()
	for range running {
		if err := <-failures; !errors.Is(err, grpc.ErrServerStopped) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// Close drains as Serve does when its context ends. A second call returns when
// the first is done.
func (s *Server) Close() {
	s.stop.Do(func() {
		s.health.Shutdown()
		s.drain()
		s.gate.shut()
		finished := make(chan struct{})
		go func() {
			defer close(finished)
			s.grpc.GracefulStop()
			s.gate.wait()
		}()
		patience := time.NewTimer(s.cfg.DrainTimeout)
		defer patience.Stop()
		select {
		case <-finished:
		case <-patience.C:
			s.cut(finished)
		}
		s.local.shut()
		for _, lis := range s.listeners {
			// Those that were served are closed already.
			_ = lis.Close()
		}
	})
}

// cut cancels calls that have not finished in time, and leaves those that ignore that.
func (s *Server) cut(finished <-chan struct{}) {
	const grace = 5 * time.Second
	s.cfg.Logger.Warn("calls did not finish in time and are cancelled",
		"drain_timeout", s.cfg.DrainTimeout.String())
	go s.grpc.Stop()
	patience := time.NewTimer(grace)
	defer patience.Stop()
	select {
	case <-finished:
	case <-patience.C:
		s.cfg.Logger.Error("calls ignored their cancellation and were abandoned")
	}
}
