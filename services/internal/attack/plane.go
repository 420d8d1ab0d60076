package attack

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"google.golang.org/grpc"

	"github.com/interlock-run/interlock/pkg/attack"
	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/rpc"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/store/sqlitestore"
	"github.com/interlock-run/interlock/services/approval"
	"github.com/interlock-run/interlock/services/engine"
	"github.com/interlock-run/interlock/services/policyenforcer"
	"github.com/interlock-run/interlock/services/statestore"
)

// namespace is where everything happens.
const namespace = rpc.DefaultNamespace

// start is when every schedule begins.
var start = time.Date(2026, time.January, 1, 12, 0, 0, 0, time.UTC)

// people are who the tokens stand for: a token is the name of the role in a schedule.
var people = map[string]auth.Principal{
	attack.Agent:    {Name: "mallory", Role: auth.Agent, Session: "s1", Namespace: namespace},
	attack.Loose:    {Name: "mallory", Role: auth.Agent},
	attack.Other:    {Name: "trudy", Role: auth.Agent, Session: "s2", Namespace: namespace},
	attack.Child:    {Name: "mallory", Role: auth.Agent, Session: "s3", Namespace: namespace},
	attack.Runtime:  {Name: "harness", Role: auth.Runtime},
	attack.Asker:    {Name: "mallory", Role: auth.Approver},
	attack.Approver: {Name: "alice", Role: auth.Approver},
	attack.Second:   {Name: "bob", Role: auth.Approver},
	attack.Operator: {Name: "olga", Role: auth.Operator},
	attack.Observer: {Name: "oscar", Role: auth.Observer},
	own:             {Name: auth.OwnName, Role: auth.Service},
}

// own is the token of the services themselves.
const own = "services"

// tokens authenticates the people, and more of them by their tokens.
type tokens map[string]auth.Principal

// Authenticate implements auth.Authenticator.
func (t tokens) Authenticate(_ context.Context, token string) (auth.Principal, error) {
	p, ok := people[token]
	if !ok {
		p, ok = t[token]
	}
	if !ok {
		return auth.Principal{}, auth.ErrUnauthenticated
	}
	return p, nil
}

// clock stands still until it is turned.
type clock struct {
	mu  sync.Mutex
	now time.Time
	// latest is the latest time that it has shown.
	latest time.Time
}

// Now returns the time on it.
func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
	if c.now.After(c.latest) {
		c.latest = c.now
	}
}

// recover turns it to the latest time that it has shown, and a little more.
func (c *clock) recover() {
	c.advance(max(0, c.latest.Sub(c.Now())) + time.Second)
}

// Faults are put between the attacker, the services and their store, by tests of the attacker.
type Faults struct {
	// Conn wraps the connection of a caller; as gives that of any other.
	Conn func(who string, conn grpc.ClientConnInterface, as func(who string) grpc.ClientConnInterface) grpc.ClientConnInterface
	// Store wraps the store of the services.
	Store func(store.Store) store.Store
	// People are known by these tokens, too.
	People map[string]auth.Principal
}

// sweeper is a service that fires due timers.
type sweeper interface {
	Register(r grpc.ServiceRegistrar)
	SweepOnce(ctx context.Context)
}

// plane are the services in one process, over one store, as `interlock up` composes them but
// for the network: calls pass the same chain of identity, roles and validation.
type plane struct {
	dir    string
	lives  int
	clock  *clock
	faults Faults

	file     *sqlitestore.Store
	store    *hooked
	server   *rpc.Server
	services []sweeper
}

// files are the files of a store.
var files = []string{"store.db", "store.db-wal"}

// open opens the services over the store in a folder, from a copy of an image of it.
func open(ctx context.Context, dir, image string, faults Faults) (*plane, error) {
	p := &plane{dir: dir, clock: &clock{now: start, latest: start}, faults: faults}
	if err := os.MkdirAll(p.life(), 0o700); err != nil {
		return nil, fmt.Errorf("make a folder for the store: %w", err)
	}
	if image != "" {
		if err := copyStore(image, p.life()); err != nil {
			return nil, err
		}
	}
	return p, p.begin(ctx)
}

// life returns the folder of the present life of the store.
func (p *plane) life() string { return filepath.Join(p.dir, fmt.Sprint(p.lives)) }

// copyStore copies the state of a store after a power cut.
func copyStore(from, to string) error {
	for _, name := range files {
		data, err := os.ReadFile(filepath.Join(from, name))
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return fmt.Errorf("copy the store: %w", err)
		}
		if err := os.WriteFile(filepath.Join(to, name), data, 0o600); err != nil {
			return fmt.Errorf("copy the store: %w", err)
		}
	}
	return nil
}

// begin starts the services.
func (p *plane) begin(ctx context.Context) error {
	log := slog.New(slog.NewTextHandler(io.Discard, nil))
	var err error
	p.file, err = sqlitestore.Open(ctx, sqlitestore.Config{
		Path: filepath.Join(p.life(), files[0]), Shards: 1, Readers: 2, Clock: p.clock.Now, Logger: log,
	})
	if err != nil {
		return err
	}
	p.store = &hooked{Store: p.file}
	var st store.Store = p.store
	if p.faults.Store != nil {
		st = p.faults.Store(st)
	}
	p.server, err = rpc.NewServer(rpc.Config{Gate: st.Gate(), Authenticator: tokens(p.faults.People), Logger: log})
	if err != nil {
		return err
	}
	local := p.server.Local(rpc.ClientConfig{})
	self := p.server.Local(rpc.ClientConfig{Token: own})
	enforcer, err := policyenforcer.New(policyenforcer.Config{
		Store: st, Engine: local, Approval: self, State: self, Clock: p.clock.Now, Logger: log,
	})
	if err != nil {
		return err
	}
	approvals, err := approval.New(approval.Config{Store: st, Engine: self, Clock: p.clock.Now, Logger: log})
	if err != nil {
		return err
	}
	p.services = []sweeper{
		engine.New(engine.Config{Store: st, Approval: self, Sessions: self, Clock: p.clock.Now, Logger: log}),
		enforcer, approvals, statestore.New(statestore.Config{Store: st, Clock: p.clock.Now, Logger: log}),
	}
	for _, service := range p.services {
		service.Register(p.server.GRPC())
	}
	return nil
}

// as returns the connection of a caller.
func (p *plane) as(who string) grpc.ClientConnInterface {
	conn := p.honest(who)
	if p.faults.Conn != nil && who != own {
		return p.faults.Conn(who, conn, p.honest)
	}
	return conn
}

// honest returns that connection without faults.
func (p *plane) honest(who string) grpc.ClientConnInterface {
	if who == attack.Nobody {
		return p.server.Local(rpc.ClientConfig{Namespace: namespace})
	}
	return p.server.Local(rpc.ClientConfig{Token: who, Namespace: namespace})
}

// sweep fires due timers.
func (p *plane) sweep(ctx context.Context) {
	for _, service := range p.services {
		service.SweepOnce(ctx)
	}
}

// reopen ends the services as a power cut does, and starts them over the durable state.
func (p *plane) reopen(ctx context.Context) error {
	from := p.life()
	p.lives++
	if err := os.MkdirAll(p.life(), 0o700); err != nil {
		return fmt.Errorf("make a folder for the store: %w", err)
	}
	if err := copyStore(from, p.life()); err != nil {
		return err
	}
	if err := p.close(); err != nil {
		return err
	}
	if err := os.RemoveAll(from); err != nil {
		return fmt.Errorf("remove the old store: %w", err)
	}
	return p.begin(ctx)
}

// close ends the services.
func (p *plane) close() error {
	p.server.Close()
	return p.file.Close()
}
