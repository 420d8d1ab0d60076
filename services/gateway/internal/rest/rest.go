// Package rest is the HTTP edge of Interlock for workflows, processes, runs, tool-call
// checks, policies and their decisions, approvals, shared state with its sessions and
// components, and live events: it translates JSON over HTTP into the gRPC contracts and
// back. It must never decide, keep state of its own, reinterpret a user's JSON (no
// float64, no maps in between), or show an internal error to a client.
package rest

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"time"

	approvalv1 "github.com/interlock-run/interlock/gen/go/interlock/approval/v1"
	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	identityv1 "github.com/interlock-run/interlock/gen/go/interlock/identity/v1"
	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	statev1 "github.com/interlock-run/interlock/gen/go/interlock/state/v1"
	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/health"
	"github.com/interlock-run/interlock/pkg/receipt"
	"github.com/interlock-run/interlock/services/gateway/internal/access"
	"github.com/interlock-run/interlock/services/gateway/internal/openapi"
	"github.com/interlock-run/interlock/services/internal/presence"
	"github.com/interlock-run/interlock/services/internal/receipts"
	"github.com/interlock-run/interlock/services/internal/recorded"
)

// Config has the parts and settings of the edge. The clients of the services are
// required.
type Config struct {
	Workflows  enginev1.WorkflowServiceClient
	Runs       enginev1.RunServiceClient
	Processes  enginev1.ProcessServiceClient
	Schedules  enginev1.ScheduleServiceClient
	Policy     policyv1.PolicyEnforcerServiceClient
	Policies   policyv1.PolicyServiceClient
	Sets       policyv1.SetServiceClient
	Decisions  policyv1.DecisionServiceClient
	Upstreams  policyv1.UpstreamServiceClient
	Halts      identityv1.HaltServiceClient
	Namespaces identityv1.NamespaceServiceClient
	// BreakGlass makes grants for calls without contact.
	BreakGlass policyv1.BreakGlassServiceClient
	Approvals  approvalv1.ApprovalServiceClient
	People     identityv1.PersonServiceClient
	Login      identityv1.LoginServiceClient

	// The state-store.
	Schemas    statev1.SchemaServiceClient
	States     statev1.StateServiceClient
	Sessions   statev1.SessionServiceClient
	Tasks      statev1.TaskServiceClient
	Components statev1.ComponentServiceClient
	Agents     statev1.AgentServiceClient

	// Events feeds /v1/events and /v1/ws, which have no events of subjects without
	// it.
	Events EventSource
	// Pulse has statistics of the latest events; without it there are no stats.
	Pulse Pulse
	// Identify returns the principal of a token, for Events: a caller that is bound to
	// one session may not follow events of others. Nil when there are no such tokens.
	Identify func(ctx context.Context, token string) (auth.Principal, error)
	// Checks are of the dependencies of calls. Their errors are logged, never shown.
	Checks health.Checks
	// Heard are the processes of the deployment that were heard of late, at a time.
	Heard func(now time.Time) []presence.Heard
	// Definitions are the JSON Schemas of definitions, by kind: workflow, policy and so on.
	// They are served as they are.
	Definitions map[string][]byte
	// Undecided is notified of each call that was denied because it could not be decided;
	// nil if there is none.
	Undecided func(error)
	// Receipts signs receipts of runs; nil where there are none.
	Receipts receipt.Signer
	// Version of this build, shown in the OpenAPI document.
	Version string
	// Logger gets failures of the edge; nil means slog.Default.
	Logger *slog.Logger

	now func() time.Time // for tests; nil means time.Now
}

// Limits of one request.
const (
	// maxBody is the longest request body in bytes (S1.1).
	maxBody = 1 << 20
	// maxDocumentBody is that of a request that holds a document of up to 1 MiB
	// (S10.2), whose exact size the state-store judges.
	maxDocumentBody = maxBody + 64<<10
	// maxDepth is how deep a user's JSON may nest (S1.1). A request body that
	// holds such a document is deeper by the levels around it.
	maxDepth = 64
	// callTimeout bounds one call to a service.
	callTimeout = 30 * time.Second
	// checkTimeout bounds a decision: an agent waits for it before each of its calls.
	checkTimeout = 5 * time.Second
	// heartbeat is the time between signs of life on a stream, and recheck between the
	// authorizations of an open one.
	heartbeat = 15 * time.Second
	recheck   = time.Minute
	// writeTimeout bounds the writing of one answer, so that a client that does not read
	// holds no resources for long. Streams set it for each message.
	writeTimeout = 30 * time.Second
)

// edge routes requests to resources, and writes what they answer.
type edge struct {
	mux    *http.ServeMux
	doc    *openapi.Document
	shapes *openapi.Schemas
	log    *slog.Logger
	routed http.Handler
}

// resource serves the routes of one kind of object.
type resource interface {
	// routes adds them.
	routes(add func(route))
}

// New builds the edge, for callers that package access has let in. It answers every
// path: unknown ones with a problem document.
func New(cfg Config) (access.Part, error) { return newEdge(cfg) }

func newEdge(cfg Config) (*edge, error) {
	if cfg.Workflows == nil || cfg.Runs == nil || cfg.Processes == nil || cfg.Schedules == nil {
		return nil, errors.New("rest: the clients Workflows, Runs, Processes and Schedules are required")
	}
	if cfg.Policy == nil || cfg.Policies == nil || cfg.Decisions == nil || cfg.Upstreams == nil || cfg.Halts == nil || cfg.Namespaces == nil || cfg.BreakGlass == nil || cfg.Approvals == nil {
		return nil, errors.New("rest: the clients Policy, Policies, Decisions, Upstreams, Halts, Namespaces, BreakGlass and Approvals are required")
	}
	if cfg.People == nil || cfg.Login == nil {
		return nil, errors.New("rest: the clients People and Login are required")
	}
	if cfg.Schemas == nil || cfg.States == nil || cfg.Sessions == nil || cfg.Tasks == nil || cfg.Components == nil || cfg.Agents == nil {
		return nil, errors.New("rest: the clients Schemas, States, Sessions, Tasks, Components and Agents are required")
	}
	cfg.Logger = cmp.Or(cfg.Logger, slog.Default())
	if cfg.now == nil {
		cfg.now = time.Now
	}
	origin := http.NewCrossOriginProtection()
	e := &edge{mux: http.NewServeMux(), log: cfg.Logger, doc: newDocument(cfg.Version), shapes: openapi.NewSchemas()}
	origin.SetDenyHandler(http.HandlerFunc(e.refuseOrigin))
	e.routed = origin.Handler(http.HandlerFunc(e.route))
	for _, r := range cfg.resources(origin) {
		r.routes(e.add)
	}
	e.doc.Components.Schemas = e.shapes.ByName
	finish(e.shapes.ByName)
	e.documents()
	return e, nil
}

// resources returns every resource, with the clients that it needs.
func (cfg *Config) resources(origin *http.CrossOriginProtection) []resource {
	may := &readers{runs: cfg.Runs, sessions: cfg.Sessions, identify: cfg.Identify}
	live := &feeds{source: cfg.Events, states: cfg.States, may: may}
	seen := &boards{pulse: cfg.Pulse, may: may}
	leased := &leases{cfg.Approvals}
	shared := &states{cfg.States}
	from := recorded.Sources{Runs: cfg.Runs, Workflows: cfg.Workflows, Decisions: cfg.Decisions, Policies: cfg.Policies}
	return []resource{
		&workflows{cfg.Workflows, cfg.Policies}, &graphs{cfg.Workflows, cfg.Processes}, &processes{cfg.Processes}, &schedules{cfg.Schedules}, &trials{may},
		&runs{cfg.Runs, leased, seen, cfg.now}, &toolCalls{cfg.Policy, cfg.Undecided}, &decisions{cfg.Decisions, cfg.now, cfg.Logger},
		&replays{from}, &receiptFiles{receipts.Sources{Sources: from, Approvals: cfg.Approvals, Sets: cfg.Sets}, cfg.Receipts, cfg.now},
		&policies{cfg.Policies, cfg.now}, &sets{cfg.Sets}, &approvals{cfg.Approvals, cfg.now}, leased, &upstreams{cfg.Upstreams}, &haltings{cfg.Halts, cfg.now}, &tenancies{cfg.Namespaces},
		&breakGlass{cfg.BreakGlass, cfg.Receipts, cfg.now},
		&persons{cfg.People}, &logins{cfg.Login},
		&schemas{cfg.Schemas}, shared, &locks{cfg.States}, &sessions{cfg.Sessions, shared}, &tasks{cfg.Tasks},
		&components{cfg.Components}, &agents{cfg.Agents}, &events{live}, &sockets{live, may, origin, cfg.Logger},
		&activity{
			version: cfg.Version, checks: cfg.Checks, heard: cfg.Heard, runs: cfg.Runs, workflows: cfg.Workflows,
			approvals: cfg.Approvals, boards: seen, may: may, now: cfg.now,
		},
		&probes{cfg.Checks, cfg.Definitions, cfg.Logger},
	}
}
