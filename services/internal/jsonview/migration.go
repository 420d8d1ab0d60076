package jsonview

import (
	"strings"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	"github.com/interlock-run/interlock/pkg/verify"
	"github.com/interlock-run/interlock/pkg/verify/migrate"
)

// MigrationPlan has the new rights that moving runs to another version of their workflow
// would give.
type MigrationPlan struct {
	FromVersion     int64    `json:"from_version"`
	ToVersion       int64    `json:"to_version"`
	Verdict         string   `json:"verdict" enum:"PROVED,LOOSENED,NOT_PROVED" doc:"PROVED: every act of a run after the move was allowed before."`
	Reason          string   `json:"reason,omitempty" doc:"Why there is no proof."`
	Gains           []Gain   `json:"gains" doc:"New rights."`
	Stays           []Stay   `json:"stays" doc:"States from which no run can move."`
	DroppedEvidence []string `json:"dropped_evidence" doc:"Evidence that would not count any more."`
	Pairs           int64    `json:"pairs" doc:"How many pairs of conditions were compared."`
	Digest          string   `json:"digest" doc:"Names this plan, for accept."`
}

// Gain is something that a move newly allows.
type Gain struct {
	Kind string   `json:"kind" enum:"tool,command,transition,limit,rule"`
	Was  string   `json:"was,omitempty" doc:"The state of the old version; missing for all."`
	Is   string   `json:"is,omitempty" doc:"Where the run stands in the new version; missing for everywhere."`
	What string   `json:"what"`
	Path []string `json:"path,omitempty" doc:"Steps of a run that lead there."`
}

// Stay is a state from which no run can move.
type Stay struct {
	State  string `json:"state"`
	Reason string `json:"reason"`
}

// MigrationPlanOf converts a plan for runs of a version.
func MigrationPlanOf(from int64, p *enginev1.PlanMigrationResponse) *MigrationPlan {
	out := &MigrationPlan{
		FromVersion: from, ToVersion: p.GetToVersion(), Verdict: strings.TrimPrefix(p.GetVerdict().String(), "MIGRATION_VERDICT_"),
		Reason: p.GetReason(), Gains: []Gain{}, Stays: []Stay{}, DroppedEvidence: append([]string{}, p.GetDroppedEvidence()...),
		Pairs: p.GetPairs(), Digest: p.GetDigest(),
	}
	for _, g := range p.GetGains() {
		out.Gains = append(out.Gains, Gain{g.GetKind(), g.GetWas(), g.GetIs(), g.GetWhat(), g.GetPath()})
	}
	for _, s := range p.GetStays() {
		out.Stays = append(out.Stays, Stay{s.GetState(), s.GetReason()})
	}
	return out
}

// MigrationPlanIn converts a plan that was made here.
func MigrationPlanIn(p *migrate.Plan) *MigrationPlan {
	out := &MigrationPlan{
		FromVersion: p.From, ToVersion: p.To, Verdict: map[verify.Verdict]string{verify.Proved: "PROVED", verify.Refuted: "LOOSENED", verify.Undecided: "NOT_PROVED"}[p.Verdict],
		Reason: p.Reason, Gains: []Gain{}, Stays: []Stay{}, DroppedEvidence: append([]string{}, p.Dropped...), Pairs: int64(p.States), Digest: p.Digest,
	}
	for i := range p.Gains {
		g := &p.Gains[i]
		out.Gains = append(out.Gains, Gain{string(g.Kind), g.Was, g.Is, g.What, g.Path})
	}
	for _, s := range p.Stays {
		out.Stays = append(out.Stays, Stay{s.State, s.Why})
	}
	return out
}
