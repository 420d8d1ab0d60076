package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"google.golang.org/grpc"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	statev1 "github.com/interlock-run/interlock/gen/go/interlock/state/v1"
	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/bus"
	"github.com/interlock-run/interlock/pkg/rpc"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/telemetry"
	"github.com/interlock-run/interlock/services/internal/daemon"
	"github.com/interlock-run/interlock/services/internal/decided"
	"github.com/interlock-run/interlock/services/internal/metrics"
	"github.com/interlock-run/interlock/services/internal/natsserver"
)

// childVariable makes this program a server, which ends with its standard input.
const childVariable = "INTERLOCK_BENCH_CHILD"

// Roles of a child.
const (
	roleInterlock = "interlock" // the services, as in `interlock up`
	roleBare      = "bare"      // see bare
	roleLogged    = "logged"    // a bare server that writes the log of decisions too
	roleEcho      = "echo"      // a bare server without commits
	roleRelay     = "relay"     // carries a backlog to NATS, on a message
	roleMCP       = "mcp"       // an MCP server, next to the administration
	roleNATS      = "nats"      // a node of a cluster of NATS
)

// childConfig is the standard input of a child.
type childConfig struct {
	Role    string
	Dir     string // its own
	Store   string // "sqlite" or a Redis URL
	Path    string // of the SQLite file
	Tokens  string
	Relay   bool
	Callers int
	Procs   int
	Sample  *sample
	// NATS is the server that a relay publishes to, in a stream with Replicas; its own
	// when empty.
	NATS     string
	Replicas int
	// Node is the place of a node of NATS in Routes, the cluster's ports.
	Node   int
	Routes []int
}

// childAddresses is its answer, on one line.
type childAddresses struct {
	GRPC, Admin string
	NATS        string
	pid         int
}

// child is a running server.
type child struct {
	childAddresses
	dir   string
	stdin io.WriteCloser
	cmd   *exec.Cmd
}

// launch starts a child and waits until it serves.
func launch(cfg childConfig) (*child, error) {
	if err := os.MkdirAll(cfg.Dir, 0o700); err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	c := &child{dir: cfg.Dir, cmd: exec.Command(self)}
	c.cmd.Env = append(os.Environ(), childVariable+"=1")
	c.cmd.Stderr = os.Stderr
	if c.stdin, err = c.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	stdout, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := c.cmd.Start(); err != nil {
		return nil, err
	}
	c.pid = c.cmd.Process.Pid
	if err := json.NewEncoder(c.stdin).Encode(cfg); err != nil {
		return nil, errors.Join(err, c.stop())
	}
	line, err := bufio.NewReader(stdout).ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &c.childAddresses)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("the %s server did not start: %w", cfg.Role, err), c.stop())
	}
	return c, nil
}

// stop ends a child and waits for it.
func (c *child) stop() error {
	if c == nil {
		return nil
	}
	return errors.Join(c.stdin.Close(), c.cmd.Wait())
}

// serveChild is the main function of a child.
func serveChild() error {
	in := bufio.NewReader(os.Stdin)
	line, err := in.ReadBytes('\n')
	if err != nil {
		return err
	}
	var cfg childConfig
	if err := json.Unmarshal(line, &cfg); err != nil {
		return err
	}
	runtime.GOMAXPROCS(cfg.Procs)
	telemetry.TuneMemory()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	s := &served{cfg: cfg, told: make(chan struct{})}
	defer s.close()
	if err := s.start(ctx); err != nil {
		return err
	}
	if err := json.NewEncoder(os.Stdout).Encode(s.at); err != nil {
		return err
	}
	if _, err := in.ReadBytes('\n'); err == nil {
		close(s.told)
		_, _ = io.Copy(io.Discard, in)
	}
	return nil
}

// served is the server of a child.
type served struct {
	cfg     childConfig
	at      childAddresses
	told    chan struct{} // closed when the parent says so
	closers []func()
}

func (s *served) onClose(fn func()) { s.closers = append(s.closers, fn) }

func (s *served) close() {
	for i := len(s.closers) - 1; i >= 0; i-- {
		s.closers[i]()
	}
}

func (s *served) start(ctx context.Context) error {
	admin, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	s.at.Admin = admin.Addr().String()
	told := metrics.New()
	pages := http.NewServeMux()
	pages.Handle("/", rpc.Admin(rpc.AdminConfig{Profile: true, Gatherer: told.Gatherer()}))
	if s.cfg.Role == roleMCP {
		pages.Handle("/mcp", serveMCP())
	}
	go func() {
		_ = (&http.Server{Handler: pages, ReadHeaderTimeout: time.Second}).Serve(admin) // ends with the process
	}()
	switch s.cfg.Role {
	case roleMCP:
		return nil
	case roleNATS:
		return s.node()
	}
	var st store.Store
	ours := s.cfg.Role == roleInterlock || s.cfg.Role == roleRelay
	if s.cfg.Role != roleEcho && (ours || s.cfg.Store == "sqlite") {
		st, err = daemon.OpenStore(ctx, daemon.StoreConfig{URL: s.cfg.Store, Path: s.cfg.Path, Metrics: told})
		if err != nil {
			return err
		}
		s.onClose(func() { _ = st.Close() })
	}
	switch s.cfg.Role {
	case roleInterlock:
		if s.cfg.Relay {
			if err := s.relay(ctx, st, nil); err != nil {
				return err
			}
		}
		return s.services(ctx, st, told)
	case roleRelay:
		return s.relay(ctx, st, s.told)
	default:
		return s.bare(ctx, st)
	}
}

// services serves as `interlock up` does, tokens, limits and metrics included.
func (s *served) services(ctx context.Context, st store.Store, told *metrics.Set) error {
	tokens, err := auth.LoadTokens(s.cfg.Tokens)
	if err != nil {
		return err
	}
	own := auth.Mint()
	known := auth.Chain(auth.One(auth.Principal{Name: "interlock", Role: auth.Service}, own), tokens)
	server, err := rpc.NewServer(rpc.Config{
		Listen: []string{"127.0.0.1:0"}, Authenticator: known, Registerer: told.Registerer(),
	})
	if err != nil {
		return err
	}
	work, err := register(server.GRPC(), st, server.Local(rpc.ClientConfig{}), server.Local(rpc.ClientConfig{Token: own}))
	if err != nil {
		return err
	}
	s.background(ctx, work)
	s.at.GRPC = server.Addrs()[0].String()
	s.onClose(server.Close)
	server.SetServing(true)
	go func() { _ = server.Serve(ctx) }()
	return nil
}

// background does the work that ends with a context, until the server is closed.
func (s *served) background(ctx context.Context, work []func(context.Context) error) {
	ctx, cancel := context.WithCancel(ctx)
	var parts sync.WaitGroup
	for _, part := range work {
		parts.Go(func() { _ = part(ctx) }) // ends with its context
	}
	s.onClose(func() { cancel(); parts.Wait() })
}

func (s *served) bare(ctx context.Context, st store.Store) (err error) {
	var b backend
	switch {
	case s.cfg.Role == roleEcho:
	case st != nil:
		b = &grouped{store: st, sample: s.cfg.Sample, logged: s.cfg.Role == roleLogged}
	default:
		address := strings.TrimSuffix(strings.TrimPrefix(s.cfg.Store, "redis://"), "/0")
		scripts, err := newEvalsha(ctx, address, s.cfg.Callers, s.cfg.Sample)
		if err != nil {
			return err
		}
		scripts.logged = s.cfg.Role == roleLogged
		b = scripts
	}
	handler, err := newBare(s.cfg.Sample, b)
	if err != nil {
		return err
	}
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	s.at.GRPC = lis.Addr().String()
	server := grpc.NewServer()
	policyv1.RegisterPolicyEnforcerServiceServer(server, handler)
	enginev1.RegisterRunServiceServer(server, handler)
	statev1.RegisterStateServiceServer(server, handler)
	s.onClose(server.Stop)
	go func() { _ = server.Serve(lis) }()
	return nil
}

// relay runs NATS in this process and a relay to it, once wait is closed.
func (s *served) relay(ctx context.Context, st store.Store, wait <-chan struct{}) error {
	cfg := bus.Config{Holder: "bench", Grace: 15 * time.Second, Stream: bus.Stream{Replicas: s.cfg.Replicas}}
	cfg.NATS.URL, s.at.NATS = s.cfg.NATS, s.cfg.NATS
	if s.cfg.NATS == "" {
		nats, err := natsserver.Start(natsserver.Config{Dir: filepath.Join(s.cfg.Dir, "nats")})
		if err != nil {
			return err
		}
		s.onClose(nats.Stop)
		cfg.NATS, s.at.NATS = nats.Endpoint(), nats.URL()
	}
	relay, err := bus.NewRelay(decided.Outbox(st), cfg)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if wait != nil {
			select {
			case <-wait:
			case <-ctx.Done():
				return
			}
		}
		_ = relay.Run(ctx) // ends with its context
	}()
	s.onClose(func() { cancel(); <-ended })
	return nil
}

// node returns a node of a cluster of NATS, or the only one.
func (s *served) node() error {
	options := &server.Options{
		ServerName: fmt.Sprintf("n%d", s.cfg.Node), Host: "127.0.0.1", Port: server.RANDOM_PORT, NoSigs: true,
		JetStream: true, StoreDir: s.cfg.Dir, SyncInterval: time.Second, MaxPayload: 4 << 20,
	}
	if len(s.cfg.Routes) > 1 {
		options.Cluster = server.ClusterOpts{Name: "bench", Host: "127.0.0.1", Port: s.cfg.Routes[s.cfg.Node]}
		for _, port := range s.cfg.Routes {
			options.Routes = append(options.Routes, &url.URL{Scheme: "nats", Host: fmt.Sprintf("127.0.0.1:%d", port)})
		}
	}
	node, err := server.NewServer(options)
	if err != nil {
		return err
	}
	node.Start()
	s.onClose(func() { node.Shutdown(); node.WaitForShutdown() })
	if !node.ReadyForConnections(time.Minute) {
		return errors.New("a node of NATS takes no connections")
	}
	s.at.NATS = node.ClientURL()
	return nil
}
