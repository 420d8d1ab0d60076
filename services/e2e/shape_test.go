package e2e

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/bus"
	"github.com/interlock-run/interlock/pkg/bus/natstest"
	"github.com/interlock-run/interlock/pkg/rpc"
	"github.com/interlock-run/interlock/pkg/store/redisstore/redistest"
	"github.com/interlock-run/interlock/services/internal/datadir"
)

// shape is a running Interlock, in one of the ways in which it can be run.
type shape struct {
	name string
	// engines, policies and states are the gRPC addresses of the replicas; in one
	// process they are all the same.
	engines, policies, states, approvals []string
	// http is the base URL of the edge.
	http string
	// nats is where events come from.
	nats       bus.Endpoint
	tokens     map[auth.Role]string
	tls        rpc.ClientTLS
	tokensFile string
	// failsOver reports that a failover may take back unanswered writes, and
	// whose events are out.
	failsOver bool
	// env is more of the environment of its processes.
	env []string
}

// together is `interlock up`: everything in one process.
type together struct {
	shape
	data    datadir.Dir
	args    []string
	process *process
}

// startUp starts `interlock up` in a new data folder.
func startUp(t testing.TB, args ...string) *together {
	t.Helper()
	u := &together{shape: shape{name: "up"}, data: datadir.Dir(t.TempDir()), args: args}
	u.restart(t)
	return u
}

// restart starts `interlock up` again on the same data.
func (u *together) restart(t testing.TB) {
	t.Helper()
	u.start(t)
	eventually(t, "interlock up is ready", func() error { return ready(u.http) })
}

// start is restart of a process that may not become ready.
func (u *together) start(t testing.TB) {
	t.Helper()
	args := append([]string{
		"up", "--data-dir", string(u.data), "--http", "127.0.0.1:0", "--grpc", "127.0.0.1:0", "--nats", "127.0.0.1:0",
	}, u.args...)
	p := startIn(t, u.env, "interlock", args...)
	var at datadir.Endpoints
	eventually(t, "interlock up serves", func() error {
		if !p.running() {
			t.Fatalf("interlock up ended: %v\n%s", p.err, p.log)
		}
		var err error
		if at, err = u.data.ReadEndpoints(); err != nil {
			return err
		}
		if at.PID != p.pid() { // the file of a killed process does not count
			return fmt.Errorf("endpoints of process %d, not %d", at.PID, p.pid())
		}
		return nil
	})
	u.process = p
	both := []string{at.GRPC, at.GRPC}
	u.engines, u.policies, u.states, u.approvals = both, both, both, both
	u.http = at.HTTP
	u.nats = bus.Endpoint{URL: at.NATS}
	u.tokensFile = u.data.Local()
	u.readTokens(t)
}

// separate is every service in processes of its own, the engine and the policy
// enforcer in two replicas each.
type separate struct {
	shape
	redis      *redistest.Server
	natsServer *natstest.Server
	store      []string // how services use Redis
	engine     []*process
	policy     []*process
	state      []*process
	approval   []*process
	gateway    *process
	admin      map[*process]string // address of the admin endpoints
}

const replicaCount = 2

// startSeparate starts everything; args are the gateway's.
func startSeparate(t testing.TB, args ...string) *separate {
	t.Helper()
	redis := redistest.Start(t)
	s := startSeparateOn(t, []string{"--store", redis.URL()}, args...)
	s.redis = redis
	return s
}

// startSeparateOn starts everything on a Redis that runs; store says how services use it.
func startSeparateOn(t testing.TB, store []string, args ...string) *separate {
	t.Helper()
	return startSeparateIn(t, nil, store, args...)
}

// startSeparateIn is startSeparateOn with more in the environment.
func startSeparateIn(t testing.TB, env, store []string, args ...string) *separate {
	t.Helper()
	s := &separate{
		shape: shape{name: "separate"}, admin: map[*process]string{}, store: store, natsServer: natstest.Start(t),
	}
	s.nats = bus.Endpoint{URL: s.natsServer.URL()}
	s.tokensFile = filepath.Join(t.TempDir(), "tokens.json")
	writeTokens(t, s.tokensFile)
	s.readTokens(t)
	s.env = append(slices.Clone(env), "INTERLOCK_PERSON_KEY="+secret(t, base64.StdEncoding.EncodeToString([]byte(auth.Mint()))))
	s.launch(t, args...)
	eventually(t, "the gateway is ready", func() error { return ready(s.http) })
	return s
}

// launch starts all processes, of which none runs.
func (s *separate) launch(t testing.TB, args ...string) {
	t.Helper()
	s.state, s.approval, s.engine, s.policy = nil, nil, nil, nil
	s.states, s.approvals, s.policies = nil, nil, nil
	for range replicaCount {
		s.state = append(s.state, s.service(t, "interlock-state-store", s.stateArgs()...))
	}
	for _, p := range s.state {
		s.states = append(s.states, p.serving(t, "grpc"))
	}
	// The engine and the approval service call each other, so one needs an address
	// before it is there.
	s.engines = freeAddresses(t, replicaCount)
	for range replicaCount {
		s.approval = append(s.approval, s.service(t, "interlock-approval", s.approvalArgs()...))
	}
	for _, p := range s.approval {
		s.approvals = append(s.approvals, p.serving(t, "grpc"))
	}
	for i := range replicaCount {
		s.engine = append(s.engine, s.service(t, "interlock-engine", s.engineArgs(i)...))
	}
	for _, p := range s.engine {
		p.serving(t, "grpc")
	}
	for range replicaCount {
		s.policy = append(s.policy, s.service(t, "interlock-policy-enforcer", s.policyArgs()...))
	}
	for _, p := range s.policy {
		s.policies = append(s.policies, p.serving(t, "grpc"))
	}
	s.gateway = s.service(t, "interlock-gateway", append([]string{
		"--http", "127.0.0.1:0", "--nats-url", s.nats.URL,
		"--engine", strings.Join(s.engines, ","), "--policy", strings.Join(s.policies, ","),
		"--state", strings.Join(s.states, ","), "--approval", strings.Join(s.approvals, ","),
	}, args...)...)
	s.http = "http://" + s.gateway.serving(t, "http")
}

// keepers are the processes that use the store.
func (s *separate) keepers() []*process {
	return slices.Concat(s.state, s.approval, s.engine, s.policy)
}

// killAll kills all processes at once.
func (s *separate) killAll() {
	for _, p := range append(s.keepers(), s.gateway) {
		p.kill()
	}
}

func (s *separate) storage() []string {
	return append(slices.Clone(s.store), "--nats-url", s.nats.URL)
}

// stateArgs makes retries soon, and lets runners that are killed
// be missed early.
func (s *separate) stateArgs() []string {
	return append(s.storage(), "--task-claim", "3s", "--state-update-delay", "100ms")
}

func (s *separate) engineArgs(i int) []string {
	return append(s.storage(), "--grpc", s.engines[i],
		"--state", strings.Join(s.states, ","), "--approval", strings.Join(s.approvals, ","))
}

func (s *separate) policyArgs() []string {
	return append(s.storage(), "--engine", strings.Join(s.engines, ","),
		"--state", strings.Join(s.states, ","), "--approval", strings.Join(s.approvals, ","))
}

func (s *separate) approvalArgs() []string {
	return append(s.storage(), "--engine", strings.Join(s.engines, ","))
}

// writeTokens writes a token for each role, and one that the services call each
// other with.
func writeTokens(t testing.TB, file string) {
	t.Helper()
	type entry struct {
		Name  string    `json:"name"`
		Role  auth.Role `json:"role"`
		Token string    `json:"token"`
	}
	var tokens []entry
	for _, role := range append(auth.Roles(), auth.Service) {
		tokens = append(tokens, entry{string(role), role, auth.Mint()})
	}
	data := must[[]byte](t)(json.Marshal(map[string][]entry{"tokens": tokens}))
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// lastPort is the last one that freeAddresses has tried; processes begin apart.
var lastPort atomic.Int64

func init() { lastPort.Store(int64(os.Getpid()) * 101) }

// freeAddresses are addresses without listeners. Their ports are below those that are
// given to callers that ask for any, so that no other process gets one in the meantime.
func freeAddresses(t testing.TB, n int) []string {
	t.Helper()
	const lowest, ports = 10_000, 5_000 // those of package redistest are above
	var addresses []string
	for range ports {
		if len(addresses) == n {
			return addresses
		}
		address := net.JoinHostPort("127.0.0.1", strconv.FormatInt(lowest+lastPort.Add(1)%ports, 10))
		if lis, err := net.Listen("tcp", address); err == nil {
			lis.Close()
			addresses = append(addresses, address)
		}
	}
	t.Fatalf("only %d of %d ports are free", len(addresses), n)
	return nil
}

func (s *separate) service(t testing.TB, name string, args ...string) *process {
	t.Helper()
	return startIn(t, s.env, name, append([]string{"--tokens", s.tokensFile, "--grpc", "127.0.0.1:0", "--admin", "127.0.0.1:0"}, args...)...)
}

// restartEngine starts a killed replica again, where it was.
func (s *separate) restartEngine(t testing.TB, i int) {
	t.Helper()
	s.engine[i] = s.service(t, "interlock-engine", s.engineArgs(i)...)
	s.engine[i].serving(t, "grpc")
}

func (s *shape) readTokens(t testing.TB) {
	t.Helper()
	s.tokens = map[auth.Role]string{}
	for _, role := range auth.Roles() {
		token, err := auth.FileToken(s.tokensFile, role)
		if err != nil {
			t.Fatal(err)
		}
		s.tokens[role] = token
	}
}

// operatorEnv is the environment of commands that call as the operator.
func (s *shape) operatorEnv() []string {
	return append(cleanEnv(), "INTERLOCK_TOKEN="+s.tokens[auth.Operator])
}

func ready(base string) error {
	resp, err := http.Get(base + "/readyz")
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("/readyz answers %s", resp.Status)
	}
	return nil
}

// onEveryShape runs a test on Interlock in one process, as separate services, and
// as separate services of which one replica is called through the gateway.
func onEveryShape(t *testing.T, test func(*testing.T, *shape)) {
	t.Run("up", func(t *testing.T) {
		t.Parallel()
		test(t, &startUp(t).shape)
	})
	t.Run("separate", func(t *testing.T) {
		t.Parallel()
		test(t, &startSeparate(t).shape)
	})
	t.Run("through the gateway", func(t *testing.T) {
		t.Parallel()
		s := startSeparate(t)
		edge := s.gateway.serving(t, "grpc")
		s.engines, s.policies = []string{edge, s.engines[1]}, []string{edge, s.policies[1]}
		s.states, s.approvals = []string{edge, s.states[1]}, []string{edge, s.approvals[1]}
		test(t, &s.shape)
	})
}
