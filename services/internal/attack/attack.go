// Package attack drives the real services in one process with a hostile agent, and compares
// the outcome with pkg/verify. pkg/attack draws the steps from a seed, time is virtual, and
// the services are killed and opened again over the durable state. So a schedule goes the
// same way each time.
//
// There is no second model: the recorded runs are taken again by verify.Watch, with the
// functions that have decided them.
package attack

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	statev1 "github.com/interlock-run/interlock/gen/go/interlock/state/v1"
	"github.com/interlock-run/interlock/pkg/attack"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/verify"
	"github.com/interlock-run/interlock/pkg/verify/calls"
	"github.com/interlock-run/interlock/pkg/workflow"
)

// Config has the target of an attack, and its settings.
type Config struct {
	Model      *verify.Model
	Properties []workflow.Property
	// Seeds is how many schedules are played, each of another seed from Seed on, and Steps how
	// many steps each has.
	Seeds int
	Seed  uint64
	Steps int
	// Dir is a folder for stores, which are removed.
	Dir string
	// MaxStates bounds the exploration that finds impossible outcomes; 0 for the default.
	MaxStates int
	// Progress receives the number of schedules that were played; may be nil.
	Progress func(played int)
	// Faults are for tests of the attacker.
	Faults Faults
}

// Counts are of all schedules together.
type Counts struct {
	Schedules int `json:"schedules"`
	Steps     int `json:"steps"`
	Allowed   int `json:"allowed"`
	Asked     int `json:"asked"`
	Denied    int `json:"denied"`
	// Changes of runs, kills of the services, and entries of histories and logs that were
	// decided again.
	Changes int `json:"changes"`
	// Approved are the calls and the events that people have let through.
	Approved int `json:"approved"`
	// Writes are edits of the shared state that were accepted.
	Writes int `json:"writes"`
	Kills  int `json:"kills"`
	Again  int `json:"decided_again"`
	// Open are those that could not be, by why.
	Open map[string]int `json:"open"`
	// Reached are the states that runs of the target were in: others are not known.
	Reached []string `json:"reached"`
}

// Result is the outcome of an attack.
type Result struct {
	Counts
	// Verdicts of verify on each property.
	Verdicts map[string]verify.Verdict
	// Found has the findings, one of each kind and class, with the steps that show it.
	Found []Found
}

// Found is a finding with the shortest schedule that is known to show it.
type Found struct {
	Finding
	Seed  uint64        `json:"seed"`
	Steps []attack.Step `json:"steps"`
	// Lines describe the schedule, for people.
	Lines []string `json:"transcript"`

	outcomes []outcome
}

// Attacker plays schedules against one workflow.
type Attacker struct {
	cfg     Config
	grammar *attack.Grammar
	proved  map[string]bool
	image   string
	result  Result
	played  int
}

// New prepares an attack: it asks verify for impossible outcomes, and makes the store in
// which the definitions are registered.
func New(ctx context.Context, cfg Config) (*Attacker, error) {
	a := &Attacker{cfg: cfg, proved: map[string]bool{}, image: filepath.Join(cfg.Dir, "image")}
	a.result.Verdicts = map[string]verify.Verdict{}
	report := verify.Check(cfg.Model, cfg.Properties, verify.Options{MaxStates: cfg.MaxStates})
	for i := range report.Results {
		r := &report.Results[i]
		a.result.Verdicts[r.Property.Name] = r.Verdict
		a.proved[r.Property.Name] = r.Verdict.Holds()
	}
	machines := []*workflow.Machine{cfg.Model.Main.Machine}
	for _, d := range cfg.Model.Others {
		machines = append(machines, d.Machine)
	}
	a.grammar = attack.NewGrammar(machines, cfg.Properties, policyTools(cfg.Model), isProcess(&cfg.Model.Main))
	return a, a.prepare(ctx)
}

// policyTools returns tools that rules of policies are about.
func policyTools(m *verify.Model) (all []string) {
	for i := range m.Policies {
		all = append(all, calls.ToolsOf(m.Policies[i])...)
	}
	return all
}

// prepare makes the image of the store that every schedule begins with.
func (a *Attacker) prepare(ctx context.Context) error {
	p, err := open(ctx, filepath.Join(a.cfg.Dir, "setup"), "", Faults{})
	if err != nil {
		return fmt.Errorf("%w: %w", errSetup, err)
	}
	if err := a.register(ctx, p); err != nil {
		return fmt.Errorf("%w: %w", errSetup, err)
	}
	if err := p.close(); err != nil {
		return fmt.Errorf("%w: %w", errSetup, err)
	}
	if err := os.Rename(p.life(), a.image); err != nil {
		return fmt.Errorf("%w: %w", errSetup, err)
	}
	return nil
}

// register registers the definitions, the policies and the sessions.
func (a *Attacker) register(ctx context.Context, p *plane) error {
	conn := p.honest(attack.Operator)
	definitions := slices.Concat(a.cfg.Model.Others, []verify.Definition{a.cfg.Model.Main})
	for i := range definitions {
		text := definitions[i].Text.AppendJSON(nil)
		var err error
		if isProcess(&definitions[i]) {
			_, err = enginev1.NewProcessServiceClient(conn).RegisterProcess(ctx, &enginev1.RegisterProcessRequest{Definition: text})
		} else {
			_, err = enginev1.NewWorkflowServiceClient(conn).RegisterWorkflow(ctx, &enginev1.RegisterWorkflowRequest{Definition: text})
		}
		if err != nil {
			return fmt.Errorf("register %s: %w", definitions[i].Machine.Name(), err)
		}
	}
	policies := policyv1.NewPolicyServiceClient(conn)
	for _, policy := range a.cfg.Model.Policies {
		name := policy.Policy.Name
		if _, err := policies.RegisterPolicy(ctx, &policyv1.RegisterPolicyRequest{Name: name, Definition: policy.Text.AppendJSON(nil)}); err != nil {
			return fmt.Errorf("register policy %s: %w", name, err)
		}
		if named(a.cfg.Model, name) {
			continue
		}
		to := &policyv1.Attachment{Kind: policyv1.AttachmentKind_ATTACHMENT_KIND_ROLE, Id: "agent"}
		if _, err := policies.AttachPolicy(ctx, &policyv1.AttachPolicyRequest{Name: name, To: []*policyv1.Attachment{to}}); err != nil {
			return fmt.Errorf("attach policy %s: %w", name, err)
		}
	}
	sessions := statev1.NewSessionServiceClient(conn)
	for _, s := range []*statev1.CreateSessionRequest{{Name: "s1"}, {Name: "s2"}, {Name: "s3", Parent: "s1"}} {
		if _, err := sessions.CreateSession(ctx, s); err != nil {
			return fmt.Errorf("create session %s: %w", s.GetName(), err)
		}
	}
	return share(ctx, conn)
}

// named reports that a workflow names a policy, which then judges its runs alone.
func named(m *verify.Model, policy string) bool {
	return slices.ContainsFunc(append([]verify.Definition{m.Main}, m.Others...), func(d verify.Definition) bool {
		return slices.Contains(d.Machine.Meta().Policies, policy)
	})
}

// Run plays all schedules. Findings are minimized; of each kind and class only the first is
// kept.
func (a *Attacker) Run(ctx context.Context) (*Result, error) {
	for i := range a.cfg.Seeds {
		seed := a.cfg.Seed + uint64(i) //nolint:gosec // not negative
		played, err := a.draw(ctx, seed)
		if err != nil {
			return nil, fmt.Errorf("seed %d: %w", seed, err)
		}
		a.result.add(&played.Counts)
		for _, f := range played.Findings {
			if err := a.keep(ctx, seed, f, played); err != nil {
				return nil, err
			}
		}
		if a.cfg.Progress != nil {
			a.cfg.Progress(i + 1)
		}
	}
	return &a.result, nil
}

// Played is the outcome of one schedule.
type Played struct {
	Steps    []attack.Step
	Lines    []string
	Findings []Finding
	Counts   Counts
	outcomes []outcome
}

// draw plays the schedule of a seed.
func (a *Attacker) draw(ctx context.Context, seed uint64) (*Played, error) {
	drawer := a.grammar.Draw(seed)
	n := 0
	return a.playWith(ctx, func(p *player) (attack.Step, bool) {
		if n++; n > a.cfg.Steps {
			return attack.Step{}, false
		}
		return drawer.Next(p.view()), true
	})
}

// Replay plays steps.
func (a *Attacker) Replay(ctx context.Context, steps []attack.Step) (*Played, error) {
	n := 0
	return a.playWith(ctx, func(*player) (attack.Step, bool) {
		if n++; n > len(steps) {
			return attack.Step{}, false
		}
		return steps[n-1], true
	})
}

// playWith plays the steps that next gives, and judges them.
func (a *Attacker) playWith(ctx context.Context, next func(*player) (attack.Step, bool)) (out *Played, err error) {
	a.played++
	dir := filepath.Join(a.cfg.Dir, fmt.Sprint("schedule-", a.played))
	plane, err := open(ctx, dir, a.image, a.cfg.Faults)
	if err != nil {
		return nil, err
	}
	defer func() {
		if closed := plane.close(); err == nil {
			err = closed
		}
		if removed := os.RemoveAll(dir); err == nil {
			err = removed
		}
	}()
	p, err := newPlayer(ctx, plane, a.cfg.Model)
	if err != nil {
		return nil, err
	}
	out = &Played{}
	for {
		step, more := next(p)
		if !more {
			break
		}
		out.Steps = append(out.Steps, step)
		if err := p.play(&step); err != nil {
			return nil, err
		}
	}
	out.Findings, err = p.judge(a.cfg.Properties, a.proved)
	out.Lines, out.Counts, out.outcomes = p.lines, p.counts(), p.told
	return out, err
}

// counts of one schedule.
func (p *player) counts() Counts {
	c := Counts{Schedules: 1, Kills: p.lives, Again: p.again, Open: p.open, Approved: p.approved, Steps: len(p.lines), Reached: p.reached}
	for _, r := range p.runs {
		c.Changes += int(r.GetVersion())
	}
	for _, a := range p.acks {
		if a.wrote > 0 {
			c.Writes++
		}
		switch a.check.GetDecision() {
		case policyv1.Decision_DECISION_ALLOW:
			c.Allowed++
		case policyv1.Decision_DECISION_ASK:
			c.Asked++
		case policyv1.Decision_DECISION_DENY:
			c.Denied++
		}
	}
	return c
}

// add sums.
func (c *Counts) add(other *Counts) {
	c.Schedules += other.Schedules
	c.Steps += other.Steps
	c.Allowed += other.Allowed
	c.Asked += other.Asked
	c.Denied += other.Denied
	c.Changes += other.Changes
	c.Approved += other.Approved
	c.Writes += other.Writes
	c.Kills += other.Kills
	c.Again += other.Again
	c.Reached = slices.Compact(slices.Sorted(slices.Values(slices.Concat(c.Reached, other.Reached))))
	if c.Open == nil {
		c.Open = map[string]int{}
	}
	for why, n := range other.Open {
		c.Open[why] += n
	}
}

// mostPlays bounds how often a schedule is played to shrink it.
const mostPlays = 300

// keep minimizes the steps of a finding, unless one like it is known.
func (a *Attacker) keep(ctx context.Context, seed uint64, f Finding, played *Played) error {
	if slices.ContainsFunc(a.result.Found, func(known Found) bool { return known.Kind == f.Kind && known.Class == f.Class }) {
		return nil
	}
	last := played
	var failed error
	steps := attack.Shrink(played.Steps, mostPlays, func(steps []attack.Step) bool {
		again, err := a.Replay(ctx, steps)
		if err != nil {
			failed = err
			return false
		}
		shows := slices.ContainsFunc(again.Findings, func(other Finding) bool { return other.Kind == f.Kind && other.Class == f.Class })
		if shows {
			last = again
		}
		return shows
	})
	if failed != nil {
		return failed
	}
	i := slices.IndexFunc(last.Findings, func(other Finding) bool { return other.Kind == f.Kind && other.Class == f.Class })
	a.result.Found = append(a.result.Found, Found{Finding: last.Findings[i], Seed: seed, Steps: steps, Lines: last.Lines, outcomes: last.outcomes})
	return nil
}

// Close removes the files of the attack.
func (a *Attacker) Close() error { return os.RemoveAll(a.image) }

func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

func quoted(text string) string { return document.Quote(text) }
