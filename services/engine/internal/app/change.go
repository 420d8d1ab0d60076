package app

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/interlock-run/interlock/pkg/authority"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/workflow"
	"github.com/interlock-run/interlock/services/engine/internal/ports"
	"github.com/interlock-run/interlock/services/internal/definition"
	"github.com/interlock-run/interlock/services/internal/halts"
	"github.com/interlock-run/interlock/services/internal/idempotency"
	"github.com/interlock-run/interlock/services/internal/retry"
	"github.com/interlock-run/interlock/services/internal/runnotice"

	"github.com/interlock-run/interlock/services/engine/internal/registry"
	"github.com/interlock-run/interlock/services/internal/sessionread"
	"github.com/interlock-run/interlock/services/internal/snapshot"
)

// Announcer turns a change of a run into the event that is committed with it.
type Announcer interface {
	RunEvent(namespace, actor string, run *workflow.Run, ev *workflow.Event, at time.Time) (store.Event, error)
}

// Changes changes runs: it reads the facts of a decision, steps a family of runs, and commits.
type Changes struct {
	ports     *ports.Ports
	announce  Announcer
	registry  *registry.Registry
	runs      *Runs
	views     *Views
	questions *Questions
	// sessions reads which sessions have ended; ended is its last result, which commits check.
	sessions *sessionread.Reader
	ended    *snapshot.Cache[store.Key, end]
	halts    *halts.Reader
	audience *runnotice.Audience
}

func newChanges(p *ports.Ports, announce Announcer, registry *registry.Registry, runs *Runs, views *Views, questions *Questions) *Changes {
	ch := &Changes{
		ports: p, announce: announce, registry: registry, runs: runs, views: views, questions: questions,
		sessions: sessionread.New(p.Store), halts: halts.New(p.Store), ended: snapshot.New[store.Key, end](65_536),
		audience: runnotice.NewAudience(p.Store, p.Clock),
	}
	p.Store.Gate().OnTurn(ch.ended.Clear)
	return ch
}

// request is one command on one run, and on the family that it moves.
type request struct {
	op      authority.Op
	target  ports.Target
	command workflow.Command

	expected int64
	// key makes the request happen once, see requestKey; it may have no name.
	key idempotency.Key
	// session, when set, drives the run from now on.
	session string
	// settles is the approval whose decision this carries out.
	settles string
	// dry decides, without a commit.
	dry bool
	// tree is the digest of the workspace's files, as the caller observes it; empty for none.
	tree string
	// to is the version that the run moves to; only of migrations.
	to definition.Compiled
	// once leaves a lost race to the caller, who decides again; fresh decides on no record from memory.
	once, fresh bool
	// timer must be as it was read; nil for none. It is cleared unless the change sets it.
	timer *store.Timer
}

func (r request) subject() string {
	if r.target.RunID != "" {
		return "run " + r.target.RunID
	}
	return "the run of session " + r.target.SessionID
}

// refusedFor returns why a request fails before the machine is asked, or nil.
func (r request) refusedFor(refusal *authority.Refusal, run *workflow.Run, m definition.Compiled) error {
	switch {
	case r.op == authority.Answer && m.Process == nil:
		return noProcess(run)
	case r.expected != 0 && r.expected != run.Version:
		e := fault.New(fault.VersionConflict, "run %s is at version %d, not %d; read it and decide again",
			run.ID, run.Version, r.expected)
		e.Metadata = map[string]string{"current_version": fmt.Sprint(run.Version)}
		return e
	case refusal != nil:
		return ports.Refused(refusal)
	default:
		return nil
	}
}

// change decides whether the caller may change a run, steps it, and commits the outcome;
// again from the start when another request was faster. Then it informs the approval
// service of the parked approvals. Every change of a run that exists takes this way.
func (ch *Changes) change(ctx context.Context, caller ports.Caller, r request) (*Outcome, error) {
	fresh := r.dry || r.fresh // no commit of a dry run finds out that it was decided on old records
	try := func() (*committed, error) {
		s := ch.newScene(caller, r.target, fresh)
		fresh = true
		return s.changeOnce(ctx, caller, r)
	}
	var done *committed
	var err error
	if r.once {
		done, err = try()
	} else {
		done, err = retry.Do(ctx, r.subject(), try)
	}
	if err != nil {
		return nil, err
	}
	ch.questions.notify(ctx, done.steps, r.settles)
	return done.outcome, nil
}

// changeOnce makes one try. It loses the race when the refusal may rest on old records.
func (s *scene) changeOnce(ctx context.Context, caller ports.Caller, r request) (*committed, error) {
	if r.timer != nil {
		if stands, err := standing(ctx, s.app.ports.Store, *r.timer); err != nil || !stands {
			return nil, cmp.Or(err, errTimerGone)
		}
	}
	d, err := s.decideOn(ctx, r)
	if err != nil {
		return nil, err
	}
	if d.refusal != nil {
		return s.answerRefused(ctx, d)
	}
	f := newFamily(s.app, caller, s)
	f.dry, f.tree, f.freezable = r.dry, r.tree, workflow.Freezable(r.command) || d.aim.At.Run.Parent != nil
	command, err := f.fillIn(ctx, d.aim.At, d.m, r.command)
	if err != nil {
		return nil, err
	}
	stepped, err := f.move(ctx, d, command, r)
	if err != nil {
		return nil, err
	}
	if r.dry {
		return f.dryRun(ctx, d, stepped)
	}
	return f.commit(ctx, d, stepped, r)
}

// dryRun returns the outcome that the steps would have. It has no steps to carry out.
func (f *family) dryRun(ctx context.Context, d decision, s *step) (*committed, error) {
	after, err := f.after(ctx, d.aim.Asked)
	if err != nil {
		return nil, err
	}
	outcome := outcomeOf(&s.out)
	outcome.View, err = f.view(ctx, after.View())
	return &committed{outcome: outcome}, err
}

// answerRefused returns the outcome of a request that is refused: the first answer, for a
// repeat of one that was not (S6.5). A refusal by a cached record counts as a lost race,
// so that the next try decides again on fresh ones.
func (s *scene) answerRefused(ctx context.Context, d decision) (*committed, error) {
	if d.aim.Asked.Run != nil {
		first, err := s.app.views.firstAnswer(ctx, runKey(s.namespace, d.aim.Asked.Run.ID), d.key)
		if first != nil || err != nil {
			return &committed{outcome: first}, err
		}
	}
	if !s.fresh {
		return nil, &store.ConflictError{}
	}
	return nil, d.refusal
}

// decision is the object of a request, or why it fails.
type decision struct {
	aim authority.Aim
	m   definition.Compiled
	// key of the request in the branch that it means.
	key     idempotency.Key
	refusal error
}

// decideOn decides on a request before the machine is asked.
func (s *scene) decideOn(ctx context.Context, r request) (d decision, err error) {
	if r.session != "" {
		s.Target.Session = r.session
	}
	aim, refusal, err := s.aim(ctx, r.op)
	if refusal != nil {
		d.refusal = ports.Refused(refusal)
	}
	if refusal != nil || err != nil {
		return d, err
	}
	d.aim, d.key = aim, r.key
	if d.key.Name != "" && aim.Asked.Branch != "" {
		d.key.Name += " in " + aim.Asked.Branch // sessions in other branches have keys of their own
	}
	if d.m, err = s.app.registry.Machine(ctx, s.namespace, aim.At.Run.Workflow, aim.At.Run.WorkflowVersion); err != nil {
		return d, err
	}
	refusal, err = s.permit(ctx, r.op, aim)
	d.refusal = r.refusedFor(refusal, aim.At.Run, d.m)
	if err == nil && d.refusal == nil && halting(r.op, r.command) {
		err = s.halted(ctx, aim.At.Run, aim.At.Branch, "")
	}
	return d, err
}
