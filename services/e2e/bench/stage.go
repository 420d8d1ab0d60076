package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"google.golang.org/grpc"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/rpc"
	"github.com/interlock-run/interlock/pkg/store/redisstore/redistest"
)

// stage is a store and servers over it, all new. One group of measurements
// has no effect on the next.
type stage struct {
	b        *bencher
	dir      string
	backend  string
	redis    *redistest.Server
	etcd     *etcd
	token    string
	tokensOf map[auth.Role]string
	servers  []*child
	conns    []*grpc.ClientConn
}

// onStage does something on a new stage, and closes that.
func (b *bencher) onStage(backend string, do func(*stage) error) error {
	s, err := b.newStage(backend)
	if err != nil {
		return err
	}
	return errors.Join(do(s), s.close())
}

// newStage starts the dependencies of the servers.
func (b *bencher) newStage(backend string) (*stage, error) {
	dir, err := os.MkdirTemp(b.dir, backend+"-")
	if err != nil {
		return nil, err
	}
	s := &stage{b: b, dir: dir, backend: backend}
	tokens := auth.Generate()
	s.token, s.tokensOf = tokens[auth.Agent], tokens
	if _, err := auth.WriteFile(s.tokens(), tokens); err != nil {
		return nil, err
	}
	// A rewrite of the log in the middle of a round would spoil it.
	never := []string{"--auto-aof-rewrite-percentage", "0"}
	if backend == "redis" {
		s.redis, err = redistest.Launch(dir, never...)
	}
	return s, err
}

func (s *stage) tokens() string { return filepath.Join(s.dir, "tokens.json") }

// store returns the URL that the servers open.
func (s *stage) store() string {
	if s.redis != nil {
		return s.redis.URL()
	}
	return "sqlite"
}

// serve starts a server of a role.
func (s *stage) serve(cfg childConfig) (*child, error) {
	cfg.Dir = filepath.Join(s.dir, cfg.Role+strconv.Itoa(len(s.servers)))
	cfg.Store, cfg.Tokens, cfg.Procs, cfg.Sample = s.store(), s.tokens(), s.b.procs, s.b.sample
	if cfg.Path == "" {
		cfg.Path = s.path(cfg.Role)
	}
	c, err := launch(cfg)
	if err != nil {
		return nil, err
	}
	s.servers = append(s.servers, c)
	return c, nil
}

// serveEtcd starts etcd, and connects as many callers to it.
func (s *stage) serveEtcd(ctx context.Context, callers int) (p pool, err error) {
	if s.etcd, err = startEtcd(ctx, s.dir); err != nil {
		return nil, err
	}
	for range (callers + 15) / 16 {
		conn, err := s.etcd.dial()
		if err != nil {
			return nil, err
		}
		s.conns = append(s.conns, conn)
		p = append(p, conn)
	}
	return p, nil
}

// connected is a server with the connections of its callers.
type connected struct {
	*child
	pool
}

// serveTo starts a server of each role, and connects as many callers to it.
func (s *stage) serveTo(callers int, roles ...string) ([]connected, error) {
	servers := make([]connected, len(roles))
	for i, role := range roles {
		c, err := s.serve(childConfig{Role: role, Callers: callers})
		if err != nil {
			return nil, err
		}
		p, err := s.dial(c, callers)
		if err != nil {
			return nil, err
		}
		servers[i] = connected{c, p}
	}
	return servers, nil
}

// operator connects an operator to a server, in a namespace.
func (s *stage) operator(c *child, namespace string) (*grpc.ClientConn, error) {
	conn, err := rpc.Dial(c.GRPC, rpc.ClientConfig{Token: s.tokensOf[auth.Operator], Namespace: namespace})
	if err != nil {
		return nil, err
	}
	s.conns = append(s.conns, conn)
	return conn, nil
}

// storePIDs returns the processes of Redis, none when the store is in the server's own.
func (s *stage) storePIDs() []int {
	if s.redis == nil {
		return nil
	}
	return []int{s.redis.PID()}
}

// path of the SQLite file of a role.
func (s *stage) path(role string) string { return filepath.Join(s.dir, role+".db") }

// dial makes the connections of a number of callers: sixteen share one.
func (s *stage) dial(c *child, callers int) (pool, error) { return s.dialIn(c, callers, "") }

// dialIn returns dial in a namespace.
func (s *stage) dialIn(c *child, callers int, namespace string) (pool, error) {
	p := make(pool, (callers+15)/16)
	for i := range p {
		conn, err := rpc.Dial(c.GRPC, rpc.ClientConfig{Token: s.token, Namespace: namespace})
		if err != nil {
			return nil, err
		}
		p[i] = conn
		s.conns = append(s.conns, conn)
	}
	return p, nil
}

// hangUp ends the servers and the connections to them; the store stays.
func (s *stage) hangUp() error {
	var errs []error
	for _, conn := range s.conns {
		errs = append(errs, conn.Close())
	}
	for _, c := range slices.Backward(s.servers) { // who uses another ends before it
		errs = append(errs, c.stop())
	}
	s.conns, s.servers = nil, nil
	return errors.Join(errs...)
}

// close ends everything and removes its files.
func (s *stage) close() error {
	err := errors.Join(s.hangUp(), s.etcd.stop())
	if s.redis != nil {
		s.redis.Kill()
	}
	return errors.Join(err, os.RemoveAll(s.dir))
}

// pool is the connections to one server.
type pool []*grpc.ClientConn

func (p pool) of(caller int) *grpc.ClientConn { return p[caller%len(p)] }

// runs starts a run for each caller.
func (p pool) runs(ctx context.Context, callers int) ([]string, error) {
	return begin(ctx, p[0], callers)
}
