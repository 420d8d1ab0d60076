// Package commandline is the flags of the separate services, each service's in one type: for
// its own program, and for `interlock config check`.
package commandline

import (
	"github.com/interlock-run/interlock/pkg/workflow"
	"github.com/interlock-run/interlock/services/approval"
	"github.com/interlock-run/interlock/services/engine"
	"github.com/interlock-run/interlock/services/gateway"
	"github.com/interlock-run/interlock/services/internal/daemon"
	"github.com/interlock-run/interlock/services/internal/definition"
	"github.com/interlock-run/interlock/services/internal/redact"
	"github.com/interlock-run/interlock/services/policyenforcer"
	"github.com/interlock-run/interlock/services/statestore"
)

// Engine is the flags of interlock-engine.
type Engine struct {
	daemon.Flags
	daemon.StoreFlags
	daemon.ClientFlags
	Definitions definition.Flags     `embed:""`
	Quotas      engine.Quotas        `embed:""`
	Retention   engine.Retention     `embed:""`
	Enforcement workflow.Enforcement `help:"Enforcement of workflows that name none: until_success, or while_running, where an agent's pause and every final state lift it and approvals are advisory. Each registration writes it into its definition." enum:"until_success,while_running" default:"until_success" env:"INTERLOCK_ENFORCEMENT"`
	Approval    string               `help:"Address of the approval service: dns:///approval:7433, or several HOST:PORT with commas between; empty: transitions that need an approval are refused." env:"INTERLOCK_APPROVAL" placeholder:"TARGET"`
	State       string               `help:"Address of the state-store, which knows who is of one tree of sessions and must not approve; empty: each session is a tree of its own." env:"INTERLOCK_STATE" placeholder:"TARGET"`
}

// PolicyEnforcer is the flags of interlock-policy-enforcer.
type PolicyEnforcer struct {
	daemon.Flags
	daemon.StoreFlags
	daemon.ClientFlags
	Policy      policyenforcer.Flags `embed:""`
	Definitions definition.Flags     `embed:""`
	Engine      string               `help:"Address of the engine: dns:///engine:7431, or several HOST:PORT with commas between." required:"" env:"INTERLOCK_ENGINE" placeholder:"TARGET"`
	Approval    string               `help:"Address of the approval service. Without it calls that need an approval are denied." env:"INTERLOCK_APPROVAL" placeholder:"TARGET"`
	State       string               `help:"Address of the state-store, which knows the trees of sessions. Without it every session is its own." env:"INTERLOCK_STATE" placeholder:"TARGET"`
}

// StateStore is the flags of interlock-state-store. It calls no other service: it takes the flags
// for that so that one set of them serves all services.
type StateStore struct {
	daemon.Flags
	daemon.StoreFlags
	daemon.ClientFlags
	State statestore.Flags `embed:""`
}

// Approval is the flags of interlock-approval.
type Approval struct {
	daemon.Flags
	daemon.StoreFlags
	daemon.ClientFlags
	Approval approval.Flags `embed:""`
	Masks    redact.Flags   `embed:""`
	Engine   string         `help:"Address of the engine, which is notified of decisions at once: dns:///engine:7431, or several HOST:PORT with commas between. Without it runs continue a little later." env:"INTERLOCK_ENGINE" placeholder:"TARGET"`
}

// Gateway is the flags of interlock-gateway.
type Gateway struct {
	daemon.Flags
	daemon.ClientFlags
	daemon.NATSLogin
	Edge      gateway.Flags        `embed:""`
	Jail      gateway.JailFlag     `embed:""`
	Quotas    gateway.Quotas       `embed:""`
	Receipts  gateway.ReceiptFlags `embed:""`
	Authz     gateway.AuthzFlags   `embed:""`
	Console   gateway.ConsoleFlags `embed:""`
	HTTP      string               `name:"http" help:"Address of REST, events, MCP and hooks." default:"127.0.0.1:7420" env:"INTERLOCK_HTTP" placeholder:"HOST:PORT"`
	Engine    string               `help:"Address of the engine: dns:///engine:7431, or several HOST:PORT with commas between." required:"" env:"INTERLOCK_ENGINE" placeholder:"TARGET"`
	Policy    string               `help:"Address of the policy enforcer, like that of the engine." required:"" env:"INTERLOCK_POLICY" placeholder:"TARGET"`
	State     string               `help:"Address of the state-store, like that of the engine." required:"" env:"INTERLOCK_STATE" placeholder:"TARGET"`
	Approval  string               `help:"Address of the approval service, like that of the engine." required:"" env:"INTERLOCK_APPROVAL" placeholder:"TARGET"`
	PublicURL string               `name:"public-url" help:"Where people reach this server, for links to approvals and for their page." env:"INTERLOCK_PUBLIC_URL" placeholder:"URL"`
	NATSURL   string               `name:"nats-url" help:"NATS that live events come from." required:"" env:"INTERLOCK_NATS_URL" placeholder:"URL"`
}

// Program has the name and the purpose of a service's program.
type Program struct {
	daemon.Program
	// Flags makes the flags to parse into.
	Flags func() any
}

// The programs.
var (
	OfEngine         = daemon.Program{Name: "interlock-engine", About: "Serves workflows, processes and runs.", GRPC: "127.0.0.1:7431"}
	OfPolicyEnforcer = daemon.Program{Name: "interlock-policy-enforcer", About: "Decides tool calls.", GRPC: "127.0.0.1:7432"}
	OfGateway        = daemon.Program{Name: "interlock-gateway", About: "The edge: REST, events, MCP and hooks.", GRPC: "127.0.0.1:7433"}
	OfStateStore     = daemon.Program{Name: "interlock-state-store", About: "Serves shared states and the sessions that share them.", GRPC: "127.0.0.1:7434"}
	OfApproval       = daemon.Program{Name: "interlock-approval", About: "Asks humans, and keeps their decisions.", GRPC: "127.0.0.1:7435"}
)

// Programs returns those of all services, by their names for --for.
func Programs() map[string]Program {
	return map[string]Program{
		"engine":          {OfEngine, func() any { return new(Engine) }},
		"policy-enforcer": {OfPolicyEnforcer, func() any { return new(PolicyEnforcer) }},
		"state-store":     {OfStateStore, func() any { return new(StateStore) }},
		"approval":        {OfApproval, func() any { return new(Approval) }},
		"gateway":         {OfGateway, func() any { return new(Gateway) }},
	}
}
