package offers

import (
	"time"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	"github.com/interlock-run/interlock/services/gateway/internal/mcp/clients"
	"github.com/interlock-run/interlock/services/gateway/internal/mcp/gate"
	"github.com/interlock-run/interlock/services/gateway/internal/mcp/owntools"
	"github.com/interlock-run/interlock/services/gateway/internal/upstream"
)

// Config has the parts and settings of the offers.
type Config struct {
	Runs enginev1.RunServiceClient
	// Processes names the tools of processes; without it the endpoint for processes refuses.
	Processes enginev1.ProcessServiceClient
	Upstreams *upstream.Set
	Own       *owntools.Box
	Gate      *gate.Gate
	Clients   *clients.Set
	// CheckTimeout bounds the time to look up a run.
	CheckTimeout time.Duration
	// Path is that of the endpoint for all tools.
	Path string
}

// Offers lists and relays what servers offer. It is safe for concurrent use.
type Offers struct{ cfg Config }

// New returns the offers.
func New(cfg Config) *Offers { return &Offers{cfg} }
