package attack

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc"

	approvalv1 "github.com/interlock-run/interlock/gen/go/interlock/approval/v1"
	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	peerv1 "github.com/interlock-run/interlock/gen/go/interlock/peer/v1"
	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	"github.com/interlock-run/interlock/pkg/attack"
	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/process"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/pkg/verify"
)

// workspace is where the agent works.
const workspace = "/workspace"

// player plays one schedule and keeps the answers.
type player struct {
	*plane
	ctx     context.Context
	model   *verify.Model
	runs    []*run
	calls   []attack.Call
	asked   []string // ids of approvals
	state   string   // the id of the shared state
	pending map[string]bool
	kill    *attack.Step // for the next step

	// order counts ended steps, in the order in which it did.
	order    int
	acks     []*ack
	lines    []string
	told     []outcome
	ids      map[string]string
	met      map[string]int
	approved int            // acts that people have let through
	under    *ack           // the step under way
	open     map[string]int // entries that could not be, by why
	again    int            // entries that were decided again
	reached  []string       // states of the target that a run was in
	found    []Finding
}

// run is one that was met.
type run struct {
	*enginev1.Run
	// seen is the order of what had ended when a version was first seen.
	seen map[int64]int
}

// ack is the outcome of a step.
type ack struct {
	order int
	step  attack.Step
	at    time.Time
	// latest is the latest time that the clock had shown at that moment: expired leases stay
	// expired.
	latest time.Time
	// died is true when the services ended before they answered. Of a call that was recalled it
	// says that it was decided.
	died, recalled bool
	err            error
	check          *policyv1.CheckToolCallResponse
	report         *policyv1.ReportToolCallResponse
	moved          *enginev1.Run // of an accepted event
	granted        *approvalv1.Approval
	// wrote is the version of the shared state that an accepted edit has made; 0 for none.
	wrote int64
	// before is the version that the run of an accepted event had.
	before int64
	// within is the one in the middle of which it happened; nil for none.
	within *ack
	// lostTrack: a step in the middle of it has died, so that a change may be its own.
	lostTrack bool
}

// newPlayer starts the run that is attacked.
func newPlayer(ctx context.Context, p *plane, model *verify.Model) (*player, error) {
	pl := &player{plane: p, ctx: ctx, model: model, pending: map[string]bool{}, open: map[string]int{}, ids: map[string]string{}, met: map[string]int{}}
	a := &ack{}
	if _, err := pl.begin(&attack.Step{Do: attack.Start, As: attack.Agent, Session: "s1"}, a); err != nil {
		return nil, fmt.Errorf("start the run that is attacked: %w", err)
	}
	var err error
	if pl.state, err = stateOf(ctx, p.honest(attack.Operator)); err != nil {
		return nil, err
	}
	return pl, pl.look()
}

// play plays one step, and its consequences.
func (p *player) play(s *attack.Step) error {
	if s.Do == attack.Kill {
		p.say(s, "")
		if s.Commit > 0 {
			p.kill = s
			return nil
		}
		return p.revive()
	}
	if s.Do == attack.Advance {
		p.clock.advance(time.Duration(s.Seconds) * time.Second)
		p.sweep(p.ctx)
		a := &ack{step: *s}
		p.done(a)
		p.say(s, "")
		p.told = append(p.told, outcome{step: *s, run: 1, done: true})
		return p.look()
	}
	if p.kill != nil {
		p.store.die(p.kill.Commit, p.kill.Applied)
		p.kill = nil
	}
	if s.Race != nil {
		p.store.before(s.Commit, func() { p.found = append(p.found, p.attempt(s.Race)...) })
	}
	p.found = append(p.found, p.attempt(s)...)
	if !p.store.calm() {
		return nil
	}
	return p.revive()
}

// revive opens the services again, and sends the reports again that has not been answered, as
// a harness does.
func (p *player) revive() error {
	if err := p.reopen(p.ctx); err != nil {
		return err
	}
	if err := p.look(); err != nil {
		return err
	}
	if err := p.recall(); err != nil {
		return err
	}
	for _, a := range p.acks {
		if a.died && a.step.Do == attack.Report {
			a.died = false
			again := a.step
			again.Race = nil
			p.found = append(p.found, p.attempt(&again)...)
		}
	}
	return nil
}

// recall finds out which calls were decided without a received answer.
func (p *player) recall() error {
	var log []*policyv1.DecisionRecord
	for _, a := range p.acks {
		if !a.died || a.recalled || a.step.Do != attack.Check {
			continue
		}
		if log == nil {
			var err error
			if log, err = decisions(p.ctx, p.honest(attack.Operator)); err != nil {
				return err
			}
		}
		a.recalled = true
		a.died = slices.ContainsFunc(log, func(d *policyv1.DecisionRecord) bool { return unheard(a, d) })
	}
	return nil
}

// attempt carries out a step, and returns the findings with the answer alone.
func (p *player) attempt(s *attack.Step) []Finding {
	a := &ack{step: *s}
	from := p.stateOf(s)
	a.within, p.under = p.under, a
	said, err := p.perform(s, a)
	p.under = a.within
	a.err = err
	p.done(a)
	if a.died = p.dead(); a.died {
		if a.within != nil {
			a.within.lostTrack = true
		}
		a.check, a.report, a.moved, a.granted, a.wrote = nil, nil, nil, nil, 0
		p.say(s, "killed")
		return nil
	}
	p.learn(a)
	p.tellOf(s, a, from, said)
	switch {
	case err != nil:
		p.say(s, string(fault.ReasonOf(err)))
	default:
		p.say(s, said)
	}
	if s.Do == attack.Check && a.within == nil { // the surrounding step may have changed a run before it
		return nil
	}
	if err := p.look(); err != nil {
		return []Finding{{Kind: Lost, Class: "unreadable", What: "the runs cannot be read: " + err.Error()}}
	}
	return nil
}

// stateOf returns the state of the run that a step names.
func (p *player) stateOf(s *attack.Step) string {
	return p.runOf(p.id(max(1, s.Run))).GetState()
}

// GetState returns the state of the run, empty when there is none.
func (r *run) GetState() string {
	if r == nil {
		return ""
	}
	return r.Run.GetState()
}

// tellOf keeps the outcome of a step, for a scenario.
func (p *player) tellOf(s *attack.Step, a *ack, from, said string) {
	o := outcome{step: *s, run: max(1, s.Run), before: from, done: a.err == nil}
	switch {
	case a.err != nil:
	case s.Do == attack.Check:
		o.decision, o.code, _ = strings.Cut(said, " ")
		if a.check.GetRunId() != p.id(1) {
			o.run = 2
		}
	case s.Do == attack.Report:
		o.done = a.report.GetAccounted()
	case s.Do == attack.Fire, s.Do == attack.Answer, s.Do == attack.Force:
		if o.done = a.moved != nil; !o.done {
			o.rejected = said
		} else if a.moved.GetRunId() != p.id(1) {
			o.run = 2
		}
	}
	p.told = append(p.told, o)
}

// dead reports that the services have died.
func (p *player) dead() bool { return p.store.isDead() }

// done notes that something has ended.
func (p *player) done(a *ack) {
	p.order++
	a.order, a.at, a.latest = p.order, p.clock.Now(), p.clock.latest
	p.acks = append(p.acks, a)
}

// learn keeps the facts of the answer that an attacker learns.
func (p *player) learn(a *ack) {
	switch {
	case a.check != nil:
		step := a.step
		step.Race, step.Commit = nil, 0
		step.Call = cmp.Or(step.Call, a.check.GetCallId())
		if a.step.Call == "" {
			step.Call = "" // its id differs each time
		}
		p.calls = append(p.calls, attack.Call{Step: step, Allowed: a.check.GetDecision() == policyv1.Decision_DECISION_ALLOW && step.Call != ""})
		p.ask(a.check.GetApprovalId())
	case a.report != nil:
		for i := range p.calls {
			if p.calls[i].Step.Call == a.step.Call {
				p.calls[i].Reported = true
			}
		}
	}
}

// ask notes an approval.
func (p *player) ask(id string) {
	if id != "" && !slices.Contains(p.asked, id) {
		p.asked, p.pending[id] = append(p.asked, id), true
	}
}

// look reads the runs as they stand.
func (p *player) look() error {
	service := enginev1.NewRunServiceClient(p.honest(attack.Operator))
	page, err := service.ListRuns(p.ctx, &enginev1.ListRunsRequest{PageSize: 1000, View: enginev1.RunView_RUN_VIEW_FULL})
	if err != nil {
		return err
	}
	all := page.GetRuns()
	slices.SortFunc(all, func(a, b *enginev1.Run) int { return strings.Compare(a.GetRunId(), b.GetRunId()) })
	for _, now := range all {
		r := p.runOf(now.GetRunId())
		if r == nil {
			r = &run{seen: map[int64]int{}}
			p.runs = append(p.runs, r)
			r.Run = &enginev1.Run{RunId: now.GetRunId()}
		}
		for v := r.GetVersion() + 1; v <= now.GetVersion(); v++ {
			r.seen[v] = p.order
		}
		r.Run = now
		p.ask(now.GetApproval().GetApprovalId())
		if a := now.GetApproval(); a != nil {
			p.pending[a.GetApprovalId()] = a.GetPending()
		}
	}
	return nil
}

func (p *player) runOf(id string) *run {
	for _, r := range p.runs {
		if r.GetRunId() == id {
			return r
		}
	}
	return nil
}

// view returns the knowledge of the attacker.
func (p *player) view() *attack.View {
	v := &attack.View{Calls: p.calls}
	for _, r := range p.runs {
		seen := attack.Run{
			State: r.GetState(), Status: r.GetStatus().String(), Session: r.GetSessionId(), Tools: r.GetRules().GetAllowedTools(),
			Commands: r.GetRules().GetAllowedCommands(), Process: r.GetWorkflowMeta().GetProcess(),
		}
		for _, e := range r.GetRules().GetLegalEvents() {
			seen.Events = append(seen.Events, e.GetEvent())
		}
		for _, b := range r.GetFork().GetBranches() {
			seen.Branches = append(seen.Branches, b.GetName())
		}
		v.Runs = append(v.Runs, seen)
	}
	for _, id := range p.asked {
		v.Approvals = append(v.Approvals, attack.Approval{Pending: p.pending[id]})
	}
	return v
}

// id returns that of a run, by the order in which it was met.
func (p *player) id(n int) string {
	switch {
	case n == 0:
		return ""
	case n <= len(p.runs):
		return p.runs[n-1].GetRunId()
	default:
		return "run_00000000000000000000000000"
	}
}

func (p *player) approval(n int) string {
	if n >= 1 && n <= len(p.asked) {
		return p.asked[n-1]
	}
	return "apr_00000000000000000000000000"
}

// version returns the one that a step expects; 0 for any.
func (p *player) version(s *attack.Step) int64 {
	r := p.runOf(p.id(max(1, s.Run)))
	switch {
	case r == nil, !s.Stale && !s.Current:
		return 0
	case s.Stale:
		return max(1, r.GetVersion()-1)
	default:
		return r.GetVersion()
	}
}

// session returns that of a step: named, or the one of an agent without a bound token.
func (p *player) session(s *attack.Step) string {
	if s.Session == "" && s.Run == 0 {
		return "s1"
	}
	return s.Session
}

// bytesOf returns the bytes that a text of a step stands for.
func bytesOf(s *attack.Step, text string) []byte {
	if s.Garbled {
		return append([]byte(text), 0xff)
	}
	if text == "" {
		return nil
	}
	return []byte(text)
}

// perform makes the call of a step, and returns its outcome in a word.
func (p *player) perform(s *attack.Step, a *ack) (string, error) {
	conn := p.as(s.As)
	switch s.Do {
	case attack.Check:
		return p.check(conn, s, a)
	case attack.Report:
		return p.tell(conn, s, a)
	case attack.Fire:
		return p.fire(conn, s, a)
	case attack.Answer:
		return p.answer(conn, s, a)
	case attack.Decide, attack.Settle, attack.Consume, attack.Void:
		return p.decide(conn, s, a)
	case attack.Start:
		return p.begin(s, a)
	case attack.Pause, attack.Resume, attack.Cancel, attack.Force, attack.Bind, attack.Interrupt:
		return p.leave(conn, s, a)
	default:
		return p.meddle(conn, s, a)
	}
}

func (p *player) check(conn grpc.ClientConnInterface, s *attack.Step, a *ack) (string, error) {
	resp, err := policyv1.NewPolicyEnforcerServiceClient(conn).CheckToolCall(p.ctx, &policyv1.CheckToolCallRequest{
		RunId: p.id(s.Run), SessionId: p.session(s), Branch: s.Branch, Tool: s.Tool, QualifiedTool: s.Qualified, Input: bytesOf(s, s.Input), CallId: s.Call,
	})
	if err != nil {
		return "", err
	}
	a.check = resp
	return strings.TrimSpace(word(resp.GetDecision().String()) + " " + word(resp.GetCode().String())), nil
}

// word returns the end of the name of an enumeration's value.
func word(name string) string {
	for _, prefix := range []string{"DECISION_CODE_", "DECISION_", "REJECTION_CODE_", "APPROVAL_STATUS_", "APPROVER_ROLE_", "RUN_STATUS_"} {
		name = strings.TrimPrefix(name, prefix)
	}
	if name == "UNSPECIFIED" {
		return ""
	}
	return name
}

func (p *player) tell(conn grpc.ClientConnInterface, s *attack.Step, a *ack) (string, error) {
	resp, err := policyv1.NewPolicyEnforcerServiceClient(conn).ReportToolCall(p.ctx, &policyv1.ReportToolCallRequest{
		RunId: p.id(s.Run), SessionId: p.session(s), Branch: s.Branch, CallId: s.Call, Tool: s.Tool, Ok: !s.Failed, FilesChanged: s.Files,
		ResultBytes: s.Bytes, Output: []byte(s.Output), OutcomeUnknown: s.Unknown,
	})
	if err != nil {
		return "", err
	}
	a.report = resp
	said := "unaccounted"
	if resp.GetAccounted() {
		said = "accounted"
	}
	if resp.GetInterrupt() != nil {
		said += " interrupt"
	}
	return strings.TrimSpace(said + " " + strings.Join(resp.GetEvidence(), ",")), nil
}

func (p *player) fire(conn grpc.ClientConnInterface, s *attack.Step, a *ack) (string, error) {
	a.before = p.present(s)
	resp, err := enginev1.NewRunServiceClient(conn).TransitionRun(p.ctx, &enginev1.TransitionRunRequest{
		RunId: p.id(s.Run), SessionId: p.session(s), Branch: s.Branch, Event: s.Event, Data: bytesOf(s, s.Data), ExpectedVersion: p.version(s),
		IdempotencyKey: s.Key,
	})
	if err != nil {
		return "", err
	}
	p.ask(resp.GetApprovalId())
	return p.moved(resp.GetAccepted(), resp.GetRun(), resp.GetRejection(), a), nil
}

// present returns the version of the run that a step names.
func (p *player) present(s *attack.Step) int64 {
	r := p.runOf(p.id(max(1, s.Run)))
	if r == nil {
		return 0
	}
	return r.GetVersion()
}

func (p *player) moved(accepted bool, run *enginev1.Run, refused *enginev1.Rejection, a *ack) string {
	if !accepted {
		return word(refused.GetCode().String())
	}
	a.moved = run
	if r := p.runOf(run.GetRunId()); r != nil {
		a.before = r.GetVersion()
	}
	return "taken, in " + run.GetState() + " " + word(run.GetStatus().String())
}

func (p *player) answer(conn grpc.ClientConnInterface, s *attack.Step, a *ack) (string, error) {
	resp, err := enginev1.NewProcessServiceClient(conn).AnswerQuestion(p.ctx, &enginev1.AnswerQuestionRequest{
		RunId: p.id(s.Run), SessionId: p.session(s), Answer: s.Event, ExpectedVersion: p.version(s), IdempotencyKey: s.Key,
	})
	if err != nil {
		return "", err
	}
	p.ask(resp.GetApprovalId())
	return p.moved(resp.GetAccepted(), resp.GetRun(), resp.GetRejection(), a), nil
}

func (p *player) begin(s *attack.Step, a *ack) (string, error) {
	conn := p.as(s.As)
	m := &p.model.Main
	if m.Process != nil {
		resp, err := enginev1.NewProcessServiceClient(conn).StartProcess(p.ctx, &enginev1.StartProcessRequest{
			Process: m.Machine.Name(), SessionId: s.Session, Workspace: workspace,
		})
		return "started " + resp.GetRun().GetState(), err
	}
	resp, err := enginev1.NewRunServiceClient(conn).StartRun(p.ctx, &enginev1.StartRunRequest{
		Workflow: m.Machine.Name(), SessionId: s.Session, Context: bytesOf(s, s.Data), Workspace: workspace,
	})
	_ = a
	return "started " + resp.GetRun().GetState(), err
}

func (p *player) leave(conn grpc.ClientConnInterface, s *attack.Step, a *ack) (string, error) {
	runs, id := enginev1.NewRunServiceClient(conn), p.id(max(1, s.Run))
	switch s.Do {
	case attack.Pause:
		resp, err := runs.PauseRun(p.ctx, &enginev1.PauseRunRequest{RunId: id, Reason: "attack"})
		return word(resp.GetRun().GetStatus().String()), err
	case attack.Resume:
		resp, err := runs.ResumeRun(p.ctx, &enginev1.ResumeRunRequest{RunId: id})
		return word(resp.GetRun().GetStatus().String()), err
	case attack.Cancel:
		resp, err := runs.CancelRun(p.ctx, &enginev1.CancelRunRequest{RunId: id, Reason: "attack"})
		return word(resp.GetRun().GetStatus().String()), err
	case attack.Force:
		resp, err := runs.ForceState(p.ctx, &enginev1.ForceStateRequest{RunId: id, Branch: s.Branch, State: cmp.Or(s.Event, "x"), Context: bytesOf(s, s.Data)})
		if err != nil {
			return "", err
		}
		return p.moved(resp.GetAccepted(), resp.GetRun(), resp.GetRejection(), a), nil
	case attack.Bind:
		resp, err := runs.BindBranch(p.ctx, &enginev1.BindBranchRequest{RunId: id, Branch: s.Branch, SessionId: s.Session})
		return word(resp.GetRun().GetStatus().String()), err
	default:
		resp, err := peerv1.NewRunPeerServiceClient(conn).InterruptRun(p.ctx, &peerv1.InterruptRunRequest{RunId: id, CallId: cmp.Or(s.Call, "never"), FilesChanged: s.Files})
		return fmt.Sprint("fired ", resp.GetFired()), err
	}
}

// ids differ from one time to the next.
var ids = regexp.MustCompile(`\b(apr|run|call|ses|evt|task)_[0-9a-z]{26}\b`)

// say adds to the transcript.
func (p *player) say(s *attack.Step, outcome string) {
	line := s.String()
	if outcome != "" {
		line += " -> " + outcome
	}
	p.lines = append(p.lines, ids.ReplaceAllStringFunc(line, p.number))
}

func (p *player) number(id string) string {
	if p.ids[id] == "" {
		prefix, _, _ := strings.Cut(id, "_")
		p.met[prefix]++
		p.ids[id] = fmt.Sprintf("%s_%d", prefix, p.met[prefix])
	}
	return p.ids[id]
}

// isProcess reports that a definition is a process.
func isProcess(d *verify.Definition) bool { return process.Is(d.Text) }

// vouches reports that the report of a caller counts as observed.
func vouches(who string) bool {
	role := people[who].Role
	return role == auth.Runtime || role == auth.Operator || role == auth.Service
}

// free reports a tool that is Interlock's own, and never counted nor logged.
func free(tool string) bool { return toolcall.Own(tool) || toolcall.Loads(tool) }

var errSetup = errors.New("the attack could not be set up")
