package ports

import (
	"context"
	"errors"

	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/store"
)

// Quotas are the bounds of runs: the limits of an agent's principal in a namespace, of which other roles
// may have any number and 0 is for none, and the sessions that they may be in.
type Quotas struct {
	Runs            int64 `name:"runs-per-principal" help:"Runs that an agent's principal may have under way in a namespace; 0 for any number." default:"1000" env:"INTERLOCK_RUNS_PER_PRINCIPAL"`
	DefinitionBytes int64 `name:"definition-bytes-per-principal" help:"Bytes of workflows and processes that an agent's principal may register in a namespace, all versions together; 0 for any number." default:"67108864" env:"INTERLOCK_DEFINITION_BYTES_PER_PRINCIPAL"`
	// RequireSessions holds for all callers.
	RequireSessions bool `name:"require-sessions" help:"Refuse runs in sessions that were not created." env:"INTERLOCK_REQUIRE_SESSIONS"`
}

// The counts of a principal.
const (
	QuotaRuns        = "runs"
	QuotaDefinitions = "definition_bytes"
)

// quotaSchedules is the count of schedules of a namespace, and MostSchedules their number.
const (
	quotaSchedules = "schedules"
	MostSchedules  = 1000
)

// CountSchedules returns the counter for so many more schedules of a namespace.
func CountSchedules(namespace string, n int64) store.Counter {
	c := store.Counter{Owner: store.Key{Namespace: namespace, Kind: "quota", ID: quotaSchedules}, Name: quotaSchedules, Delta: n, Limit: MostSchedules}
	if n < 0 {
		c.Limit = store.NoLimit
	}
	return c
}

// QuotaKey returns the owner of the counters of a principal.
func QuotaKey(namespace, principal string) store.Key {
	return store.Key{Namespace: namespace, Kind: "quota", ID: Digest(principal)}
}

// Taken returns the counter for a caller's use of its quota.
func Taken(caller Caller, name string, n, limit int64) store.Counter {
	c := store.Counter{Owner: QuotaKey(caller.Namespace, caller.Principal.Name), Name: name, Delta: n, Limit: store.NoLimit}
	if caller.Principal.Role.Drives() && limit > 0 {
		c.Limit = limit
	}
	return c
}

// Commit commits a batch with its counts against quotas.
func (p *Ports) Commit(ctx context.Context, batch store.Batch) (store.Result, error) {
	result, err := p.Store.Commit(ctx, batch)
	return result, exceeded(err)
}

// exceeded returns the refusal of a quota, or the error as it is.
func exceeded(err error) error {
	var limit *store.LimitError
	if !errors.As(err, &limit) {
		return err
	}
	switch limit.Name {
	case QuotaRuns:
		return fault.New(fault.QuotaExceeded,
			"you have %d runs under way, and a principal may have %d (--runs-per-principal); finish or cancel one first", limit.Value, limit.Limit)
	case QuotaDefinitions:
		return fault.New(fault.QuotaExceeded,
			"your workflows and processes have %d bytes, and a principal may register %d (--definition-bytes-per-principal)", limit.Value, limit.Limit)
	case quotaSchedules:
		return fault.New(fault.LimitReached, "the namespace has %d schedules, of at most %d; remove one first: interlock schedule remove NAME", limit.Value, limit.Limit)
	default:
		return err
	}
}
