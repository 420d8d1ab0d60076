package outcome

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strings"
	"time"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/rules"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/services/internal/principal"
	"github.com/interlock-run/interlock/services/internal/retry"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/enforcer"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/quota"
)

// Costs are the costs of a session that are in no report of a call, by one source (S15.1).
type Costs struct {
	Session, Source string
	Costs           []Cost
}

// Cost is one amount.
type Cost struct {
	// ID identifies the cost. A repeat is not counted, unless it is a total.
	ID      string
	CostUSD string
	// Total: CostUSD is the sum of all costs of ID.
	Total bool
	// Tools are the calls that have caused the cost.
	Tools []ToolUse
}

// ToolUse is a call, as a check is asked about it.
type ToolUse struct {
	Tool  string
	Input []byte
}

// Costed is the result of costs.
type Costed struct {
	// Counted is how many were not known before.
	Counted int
	// Total is the cost of the session by its largest source.
	Total rules.MicroUSD
}

// kindCost is the kind of a record next to the account of a session tree's money. Its version makes reports take
// turns. The sums of each source and session are counters of that account's owner.
const kindCost = "cost"

// costKept is how long a cost is known to have been counted: agents may be resumed long
// after, and read their transcripts again.
const costKept = 31 * 24 * time.Hour

// maxTotal bounds a total. It is far above the cost of a session, and far below the largest number.
const maxTotal = 1_000 * rules.MostCost

// ReportCost counts costs of a session. Several sources may report the same tokens, so the largest sum of one of
// them counts.
func (o *Service) ReportCost(ctx context.Context, caller enforcer.Caller, req Costs) (*Costed, error) {
	_, session, refusal := principal.Who(caller.Principal).Accounts("", req.Session)
	if refusal != nil {
		return nil, fault.New(fault.Reason(refusal.Code), "%s", refusal.Message)
	}
	amounts := make([]rules.MicroUSD, len(req.Costs))
	for i, c := range req.Costs {
		amount, ok := rules.ParseCost(c.CostUSD)
		if !ok || amount > rules.MostCost {
			return nil, fault.New(fault.InvalidRequest, `cost_usd must be a decimal number of US dollars such as "0.02", at most 1000000, not %q`, c.CostUSD).
				Violate("/costs", "NUMBER", "not a decimal number")
		}
		amounts[i] = amount
	}
	place, err := o.runs.Place(ctx, caller, session, true)
	if err != nil {
		return nil, fault.From(err)
	}
	l := o.costsOf(caller.Namespace, place.Account, session, req.Source)
	costed := &Costed{}
	for i := range req.Costs {
		spent, err := o.paidFor(ctx, caller, session, req.Costs[i].Tools, amounts[i])
		if err != nil {
			return nil, fault.From(err)
		}
		var isNew bool
		err = retry.Run(ctx, "the costs of session "+document.Quote(session), func() (err error) {
			isNew, costed.Total, err = o.count(ctx, l, &req.Costs[i], amounts[i], spent)
			return retry.Fault(err)
		})
		if err != nil {
			return nil, err
		}
		if isNew {
			costed.Counted++
		}
	}
	return costed, nil
}

// costs is where the costs of a session by one source are counted.
type costs struct {
	namespace string
	// turns is the record whose version makes reports take turns, owner has the counters.
	turns, owner store.Key
	account      rules.Account
	// of begins the counters of the session, source is the source's.
	of, source string
}

func (o *Service) costsOf(namespace, root, session, source string) costs {
	account := rules.Account{Measure: rules.Money, Scope: rules.PerSession, Subject: root}
	owner := quota.Key(namespace, account)
	sum := sha256.Sum256([]byte(session))
	l := costs{namespace: namespace, owner: owner, turns: owner, account: account, of: "cost/" + hex.EncodeToString(sum[:16]) + "/", source: source}
	l.turns.Kind = kindCost // with the id of the owner, and so in its shard
	return l
}

// largest returns the sum of the largest source of the session.
func (l *costs) largest(counters map[string]int64) (most int64) {
	for name, value := range counters {
		if source, of := strings.CutPrefix(name, l.of); of && !strings.Contains(source, "/") {
			most = max(most, value)
		}
	}
	return most
}

// count counts one cost, on condition that no other one was counted in the meantime.
func (o *Service) count(ctx context.Context, l costs, c *Cost, amount rules.MicroUSD, spent []rules.Change) (isNew bool, total rules.MicroUSD, err error) {
	record, err := o.store.Get(ctx, l.turns)
	if errors.Is(err, store.ErrNotFound) {
		record, err = store.Record{Version: store.Absent}, nil
	}
	if err != nil {
		return false, 0, err
	}
	counters, err := o.store.Counters(ctx, l.owner)
	if err != nil {
		return false, 0, err
	}
	before, delta := l.largest(counters), int64(amount)
	if delta == 0 {
		return false, rules.MicroUSD(before), nil
	}
	batch := store.Batch{Puts: []store.Put{{Key: l.turns, Expect: record.Version, Data: []byte("{}")}}}
	add := func(name string, by int64) {
		batch.Counters = append(batch.Counters, store.Counter{Owner: l.owner, Name: name, Delta: by, Limit: store.NoLimit})
	}
	once := &store.Idempotency{Owner: l.turns, Name: l.of + l.source + "/" + c.ID, Digest: "cost", TTL: costKept}
	if c.Total {
		series := l.of + l.source + "/" + c.ID
		if delta -= counters[series]; delta <= 0 {
			return false, rules.MicroUSD(before), nil
		}
		add(series, delta)
		once = nil // its growth is new in any report
	}
	if counters[l.of+l.source]+delta > int64(maxTotal) {
		return false, 0, fault.New(fault.LimitReached, "a session cannot cost more than a billion dollars")
	}
	add(l.of+l.source, delta)
	after := max(before, counters[l.of+l.source]+delta)
	if after > before {
		add(l.account.Counter(), after-before)
	}
	batch.Idempotency = once
	if err := o.charge(ctx, l, c, spent, &batch); err != nil {
		return false, 0, err
	}
	result, err := o.store.Commit(ctx, batch)
	switch {
	case err != nil:
		return false, 0, err
	case result.Replayed:
		return false, rules.MicroUSD(before), nil
	}
	return true, rules.MicroUSD(after), nil
}

// charge adds the part of a cost that spends the budgets of capabilities.
func (o *Service) charge(ctx context.Context, l costs, c *Cost, spent []rules.Change, batch *store.Batch) error {
	if len(spent) == 0 || c.Total {
		return nil
	}
	if err := o.quota.DropLater(ctx, l.namespace, accountsOf(spent)); err != nil {
		return err
	}
	batch.Counters = append(batch.Counters, o.quota.Corrections(l.namespace, spent)...)
	return nil
}

func accountsOf(changes []rules.Change) []rules.Spend {
	spends := make([]rules.Spend, len(changes))
	for i := range changes {
		spends[i].Account = changes[i].Account
	}
	return spends
}

// paidFor returns the parts of a cost that spend the budgets of its tools. The parts are equal; the first one
// has the remainder.
func (o *Service) paidFor(ctx context.Context, caller enforcer.Caller, session string, tools []ToolUse, amount rules.MicroUSD) ([]rules.Change, error) {
	if len(tools) == 0 || amount == 0 {
		return nil, nil
	}
	s, err := o.policies.LoadOrStandIn(ctx, caller, enforcer.Target{SessionID: session}, false, o.runs.Cached)
	if fault.ReasonOf(err) == fault.NotFound {
		return nil, nil // no policy holds for its calls
	}
	if err != nil {
		return nil, err
	}
	var changes []rules.Change
	share := int64(amount) / int64(len(tools))
	for i, use := range tools {
		part := share
		if i == 0 {
			part = int64(amount) - share*int64(len(tools)-1)
		}
		if toolcall.Own(use.Tool) || part == 0 {
			continue
		}
		effective, err := o.policies.Effective(ctx, caller, s, enforcer.Target{SessionID: session}, use.Tool)
		if err != nil {
			return nil, err
		}
		call, taken := effective.Call(caller, s, use.Tool, use.Input, o.clock().UTC()), map[rules.Account]bool{}
		for _, set := range effective.Live {
			for _, spend := range set.Decide(call, nil).Spends {
				if spend.Measure == rules.Money && spend.Pattern != "" && !taken[spend.Account] {
					taken[spend.Account] = true
					changes = append(changes, rules.Change{Account: spend.Account, Delta: part})
				}
			}
		}
	}
	return changes, nil
}
