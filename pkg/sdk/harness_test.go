package sdk

import (
	"cmp"
	"context"
	"flag"
	"net"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/test/bufconn"

	approvalv1 "github.com/interlock-run/interlock/gen/go/interlock/approval/v1"
	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	statev1 "github.com/interlock-run/interlock/gen/go/interlock/state/v1"
	"github.com/interlock-run/interlock/pkg/fault"
)

// TestMain makes property tests draw the same cases each time, or those of INTERLOCK_SEED.
func TestMain(m *testing.M) {
	if err := flag.Set("rapid.seed", cmp.Or(os.Getenv("INTERLOCK_SEED"), "1")); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m)
}

// fakes are services in memory whose behaviour is the test's.
type fakes struct {
	policy   *fakePolicy
	runs     *fakeRuns
	states   *fakeStates
	sessions *fakeSessions
	tasks    *fakeTasks

	approvals *fakeApprovals
}

// connect is a connection to services over an in-memory network.
func connect(t testing.TB, f fakes) *grpc.ClientConn {
	t.Helper()
	server := grpc.NewServer()
	if f.policy != nil {
		policyv1.RegisterPolicyEnforcerServiceServer(server, f.policy)
	}
	if f.runs != nil {
		enginev1.RegisterRunServiceServer(server, f.runs)
	}
	if f.states != nil {
		statev1.RegisterStateServiceServer(server, f.states)
	}
	if f.sessions != nil {
		statev1.RegisterSessionServiceServer(server, f.sessions)
	}
	if f.tasks != nil {
		statev1.RegisterTaskServiceServer(server, f.tasks)
	}
	if f.approvals != nil {
		approvalv1.RegisterApprovalServiceServer(server, f.approvals)
	}
	lis := bufconn.Listen(64 << 10)
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = server.Serve(lis)
	}()
	conn, err := grpc.NewClient("passthrough:///memory", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return lis.DialContext(ctx) }))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		conn.Close()
		server.Stop()
		<-served
	})
	return conn
}

// trouble is what happens to one call on the way.
type trouble uint8

const (
	none trouble = iota
	// lostRequest fails before anything happened.
	lostRequest
	// lostAnswer fails after it happened.
	lostAnswer
	// uncertain is what the server itself says when it does not know.
	uncertain
	// silence happens, and is never answered.
	silence
)

// bumpy is a way on which calls have trouble, in this order, and then none.
type bumpy struct {
	mu     sync.Mutex
	ahead  []trouble
	passed int
}

func (b *bumpy) next() trouble {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.passed++
	if len(b.ahead) == 0 {
		return none
	}
	next := b.ahead[0]
	b.ahead = b.ahead[1:]
	return next
}

// calls is how many have passed.
func (b *bumpy) calls() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.passed
}

// over carries a request over the way.
func over[Req, Resp any](ctx context.Context, b *bumpy, handle func(Req) (Resp, error), req Req) (resp Resp, err error) {
	switch b.next() {
	case lostRequest:
		return resp, fault.New(fault.Unavailable, "the request was lost")
	case lostAnswer:
		_, _ = handle(req)
		return resp, fault.New(fault.Unavailable, "the answer was lost")
	case uncertain:
		_, _ = handle(req)
		return resp, fault.New(fault.CommitUncertain, "it may have been made")
	case silence:
		_, _ = handle(req)
		<-ctx.Done()
		return resp, ctx.Err()
	default:
		return handle(req)
	}
}

// log is what was heard, in order.
type log[T any] struct {
	mu    sync.Mutex
	items []T
}

func (l *log[T]) add(item T) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.items = append(l.items, item)
}

func (l *log[T]) all() []T {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.items)
}

// brief bounds a test's call.
func brief(t testing.TB, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}
