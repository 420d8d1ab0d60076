// Package daemon has the common parts of the separate services: flags, the store, the
// relay of events, the gRPC server, the admin endpoints and an orderly end. A service's
// main adds its own part and stays one readable page.
package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"

	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc/resolver/dns"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/bus"
	"github.com/interlock-run/interlock/pkg/health"
	"github.com/interlock-run/interlock/pkg/rpc"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/telemetry"
	"github.com/interlock-run/interlock/services/internal/accessrefusal"
	"github.com/interlock-run/interlock/services/internal/decided"
	"github.com/interlock-run/interlock/services/internal/metrics"
	"github.com/interlock-run/interlock/services/internal/namespaces"
	"github.com/interlock-run/interlock/services/internal/personread"
	"github.com/interlock-run/interlock/services/internal/presence"
	"github.com/interlock-run/interlock/services/internal/sessionread"
	"github.com/interlock-run/interlock/services/internal/shield"
)

// Flags of every service. Each can be given as an environment variable.
type Flags struct {
	ServeFlags
	AuthFlags
	GRPC           string `name:"grpc" help:"Address of the gRPC server." default:"${grpc}" env:"INTERLOCK_GRPC" placeholder:"HOST:PORT"`
	Admin          string `help:"Address of /healthz, /readyz and /metrics; empty for none." default:"" env:"INTERLOCK_ADMIN" placeholder:"HOST:PORT"`
	Tokens         string `help:"File with the callers' tokens." env:"INTERLOCK_TOKENS" type:"path" placeholder:"FILE"`
	ServiceToken   string `name:"service-token-file" help:"File with the token that this service calls others with; a tokens file with hashes has none." env:"INTERLOCK_SERVICE_TOKEN_FILE" type:"path" placeholder:"FILE"`
	AllowAnonymous bool   `help:"Serve callers without a token as operators. For development on loopback only." env:"INTERLOCK_ALLOW_ANONYMOUS"`
}

// StoreFlags of the services that keep something.
type StoreFlags struct {
	Store           string `help:"Store that all services share: redis://HOST:PORT/DB." required:"" env:"INTERLOCK_STORE" placeholder:"URL"`
	AllowLossyStore bool   `help:"Use a Redis that may lose acknowledged writes." env:"INTERLOCK_ALLOW_LOSSY_STORE"`
	SafetyFlags
	StoreLogin
	NATSLogin
	EventFlags
	NATSURL        string        `name:"nats-url" help:"NATS that events are published on." required:"" env:"INTERLOCK_NATS_URL" placeholder:"URL"`
	StreamReplicas int           `help:"Replicas of the NATS stream; 0 leaves an existing one as it is." env:"INTERLOCK_STREAM_REPLICAS"`
	Grace          time.Duration `help:"How long published events stay in the outbox; must be longer than NATS's sync interval." default:"150s" env:"INTERLOCK_GRACE"`
}

// Daemon is the running parts that a service is built on.
type Daemon struct {
	Name    string
	Store   store.Store // nil without StoreFlags
	Server  *rpc.Server
	Metrics *metrics.Set
	Tracer  trace.TracerProvider
	Log     *slog.Logger
	NATS    bus.Endpoint
	// Checks are of the service's dependencies.
	Checks health.Checks
	// Tokens identifies the owners of tokens; nil without authentication.
	Tokens auth.Authenticator
	// Names are those of the tokens file; nil without one.
	Names *auth.Tokens

	flags      Flags
	refusals   atomic.Pointer[accessrefusal.Announcer]
	admin      atomic.Pointer[http.Handler]
	background []func(context.Context) error
	closers    []func() error
}

// Standing returns whether operators of earlier requests are operators now.
func (d *Daemon) Standing() personread.Standing {
	return personread.Standing{People: personread.New(d.Store), Tokens: d.Names, Anonymous: d.flags.AllowAnonymous}
}

// Go adds work that runs until the service stops; its error stops the service.
func (d *Daemon) Go(work func(context.Context) error) { d.background = append(d.background, work) }

// AnnounceRefusals has callers announced that are refused before there is a decision. A service with
// a store does that from the start.
func (d *Daemon) AnnounceRefusals(by *accessrefusal.Announcer) { d.refusals.Store(by) }

// TellRefused announces a refused caller, if this service can. It does not wait.
func (d *Daemon) TellRefused(of rpc.Refusal) {
	if by := d.refusals.Load(); by != nil {
		by.Announce(of)
	}
}

// OnClose adds a function that is called after the server has drained, last added first.
func (d *Daemon) OnClose(fn func() error) { d.closers = append(d.closers, fn) }

// Main runs a service until SIGTERM or SIGINT and ends the process.
func Main(line CommandLine, version string, flags Flags, storage *StoreFlags, build func(*Daemon) error) {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	err := Run(ctx, line.Program.Name, version, flags, storage, func(d *Daemon) error {
		if flags.Config != "" {
			d.Go(func(ctx context.Context) error { FollowFile(ctx, d.Log, line.Again); return nil })
		}
		return build(d)
	})
	stop()
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", line.Program.Name, err)
		os.Exit(2)
	}
}

// Run runs a service until ctx ends. storage is nil for one without data.
func Run(ctx context.Context, name, version string, flags Flags, storage *StoreFlags, build func(*Daemon) error) (err error) {
	if err := errors.Join(flags.validate(), shield.Shield()); err != nil {
		return err
	}
	telemetry.TuneMemory()
	dns.SetMinResolutionInterval(askDNSAgain)
	log, err := flags.Log()
	if err != nil {
		return err
	}
	shutdown, err := telemetry.Setup(ctx, name, version)
	if err != nil {
		return err
	}
	d := &Daemon{Name: name, flags: flags, Metrics: metrics.New(), Tracer: telemetry.TracerProvider(), Log: log}
	d.Metrics.Health(&d.Checks)
	d.Go(d.Metrics.Run)
	d.OnClose(func() error { return shutdown(context.WithoutCancel(ctx)) })
	defer func() { err = errors.Join(err, d.close()) }()
	if flags.Admin != "" {
		end, err := d.serveAdmin(flags.Admin)
		if err != nil {
			return err
		}
		defer end()
	}
	if storage != nil {
		if err := d.useStore(ctx, *storage, version); err != nil {
			return err
		}
	}
	if err := d.openServer(flags); err != nil {
		return busy("grpc", err)
	}
	if err := build(d); err != nil {
		return err
	}
	return d.serve(ctx)
}

// askDNSAgain is how soon a service may look for the replicas of another again. Within gRPC's
// 30 s, all replicas of a Deployment can be replaced, and the new ones are unknown: a rollout
// of the state-store took tool calls away for 16 s.
const askDNSAgain = time.Second

func (d *Daemon) useStore(ctx context.Context, flags StoreFlags, version string) error {
	st, err := awaitStore(ctx, StoreConfig{
		URL: flags.Store, AllowLossy: flags.AllowLossyStore, SafetyFlags: flags.SafetyFlags, StoreLogin: flags.StoreLogin,
		Logger: d.Log, Program: version, Metrics: d.Metrics,
	})
	if err != nil {
		return err
	}
	d.Store = telemetry.Store(st, d.Tracer)
	d.OnClose(st.Close)
	if d.NATS, err = flags.Endpoint(flags.NATSURL); err != nil {
		return err
	}
	if err := d.NATS.Fit(ctx); err != nil {
		return fmt.Errorf("--nats-url: %w", err)
	}
	stream := flags.Stream()
	stream.Replicas = flags.StreamReplicas
	witnessed := Witnessed(st)
	if err := Attest(ctx, d.NATS, stream, witnessed, d.Log); err != nil {
		return fmt.Errorf("--nats-url: %w", err)
	}
	relay, err := bus.NewRelay(decided.Outbox(st), bus.Config{
		NATS: d.NATS, Stream: stream, Witnessed: witnessed, Holder: holder(d.Name), Grace: flags.Grace, Keep: flags.EventsKeep,
		Registerer: d.Metrics.Registerer(), Tracer: d.Tracer, Log: d.Log,
	})
	if err != nil {
		return err
	}
	d.Checks = append(append(d.Checks, StoreChecks(st)...), health.Check{
		Name: "events", Optional: true, Probe: func(context.Context) error { return relay.Health() },
	})
	d.Go(relay.Run)
	d.Metrics.Refresh(relay.Measure)
	d.Announce(d.NATS, version)
	return nil
}

// Announce has the process announce itself on NATS.
func (d *Daemon) Announce(endpoint bus.Endpoint, version string) {
	d.Go(presence.Self{Service: d.Name, Version: version, Metrics: d.Metrics.Gatherer(), Log: d.Log}.Announce(endpoint))
}

// holder names this process among all that relay the same store.
func holder(name string) string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return fmt.Sprintf("%s-%s-%d", name, host, os.Getpid())
}

// validate reports missing settings before the first connection.
func (f Flags) validate() error {
	if f.Tokens == "" && !f.AllowAnonymous && f.empty() {
		return errors.New("no caller would be accepted: give --tokens with the file of the callers' tokens, " +
			"--oidc-issuer, or --allow-anonymous for development on loopback")
	}
	return f.Check("grpc", f.GRPC, f.AllowAnonymous)
}

func (d *Daemon) openServer(flags Flags) error {
	var tokens *auth.Tokens
	if flags.Tokens != "" {
		var err error
		if tokens, err = auth.LoadTokens(flags.Tokens); err != nil {
			return err
		}
		if tokens.Plain() {
			d.Log.Warn("the tokens file has tokens in plain text: `interlock token hash` replaces them by hashes", "file", flags.Tokens)
		}
	}
	var err error
	d.Names = tokens
	if d.Tokens, err = flags.Authenticator(tokens, d.Log); err != nil {
		return err
	}
	var standing func(context.Context, string, auth.Principal) error
	var used func(context.Context, string, string)
	if d.Store != nil {
		used = namespaces.New(d.Store, d.Log).Used
		d.AnnounceRefusals(accessrefusal.New(d.Store, d.Log))
		standing = sessionread.New(d.Store).Standing
		d.Tokens = personread.New(d.Store).Bind(d.Tokens)
	}
	server, err := rpc.NewServer(rpc.Config{
		Refused: d.TellRefused, Standing: standing, Used: used,
		Gate: d.gate(), Listen: []string{flags.GRPC}, Authenticator: d.Tokens, AllowAnonymous: flags.AllowAnonymous,
		TLS: flags.TLS(), Insecure: flags.InsecurePlaintext,
		Registerer: d.Metrics.Registerer(), TracerProvider: d.Tracer, Logger: d.Log,
	})
	if err != nil {
		return err
	}
	d.Server = server
	return nil
}

// gate returns that of the store, which calls enter.
func (d *Daemon) gate() *store.Gate {
	if d.Store == nil {
		return nil
	}
	return d.Store.Gate()
}

// serve runs all parts until ctx ends or a part fails: the server drains first, so that
// the relay can announce the changes of the last calls.
func (d *Daemon) serve(ctx context.Context) error {
	background, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	d.Server.SetServing(true)
	d.Go(func(ctx context.Context) error { d.Server.FollowReady(ctx, &d.Checks); return nil })
	done := make(chan struct{}, len(d.background))
	for _, work := range d.background {
		go func() {
			defer func() { done <- struct{}{} }()
			if err := work(background); err != nil && background.Err() == nil {
				fail(err)
			}
		}()
	}
	d.admin.Store(new(rpc.Admin(rpc.AdminConfig{Checks: &d.Checks, Gatherer: d.Metrics.Gatherer()})))
	d.Log.Info("serving", "service", d.Name, "grpc", d.Server.Addrs()[0].String())
	err := d.Server.Serve(ctx)
	stop()
	for range d.background {
		<-done
	}
	if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, context.Canceled) {
		err = errors.Join(err, cause)
	}
	return err
}

func (d *Daemon) serveAdmin(address string) (end func(), err error) {
	lis, err := net.Listen("tcp", address)
	if err != nil {
		return nil, busy("admin", fmt.Errorf("listen for the admin endpoints: %w", err))
	}
	d.Log.Info("serving", "service", d.Name, "admin", lis.Addr().String())
	// Until it serves the process is alive, and not ready.
	d.admin.Store(new(rpc.Admin(rpc.AdminConfig{Gatherer: d.Metrics.Gatherer()})))
	server := &http.Server{
		Handler:           http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { (*d.admin.Load()).ServeHTTP(w, r) }),
		ReadHeaderTimeout: 5 * time.Second,
	}
	go func() { _ = server.Serve(lis) }() // ends when it is closed
	return func() { _ = server.Close() }, nil
}

func (d *Daemon) close() error {
	if d.Server != nil {
		d.Server.Close()
	}
	var errs []error
	for i := len(d.closers) - 1; i >= 0; i-- {
		errs = append(errs, d.closers[i]())
	}
	return errors.Join(errs...)
}
