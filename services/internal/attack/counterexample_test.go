package attack

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	approvalv1 "github.com/interlock-run/interlock/gen/go/interlock/approval/v1"
	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	"github.com/interlock-run/interlock/pkg/attack"
	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/verify"
	"github.com/interlock-run/interlock/pkg/workflow"
)

// shown are examples whose counterexamples are played on the services.
var shown = [][]string{
	{"bugfix.json", "policies/commands-and-files.json"},
	{"ci-pipeline.json"},
	{"deploy-gate.json"},
	{"deploy-pipeline.json"},
	{"incident-response.json"},
	{"migration-review.json"},
	{"release-check.json"},
	{"release-train/release-train.json", "release-train/regression-suite.json"},
	{"review.json"},
	{"tdd.json"},
	{"language/allowed-commands.json"},
	{"language/branched-evaluate.json"},
	{"language/complete-reference.json"},
	{"language/edit-scope.json"},
	{"language/force-state.json"},
	{"language/guard-operators.json"},
	{"language/guard-timing.json"},
	{"language/guarded-approval.json"},
	{"language/invoke.json", "language/test-suite.json"},
	{"language/max-iterations.json"},
	{"language/safe-next.json"},
	{"language/unknown-effects.json"},
}

// Every counterexample happens on the services: the run goes through the same states, every call
// is decided as in the scenario, and the last step breaks the property.
func TestCounterexamplesHappen(t *testing.T) {
	t.Parallel()
	played, told := make([]int, len(shown)), make([]int, len(shown))
	t.Run("of", func(t *testing.T) {
		for i, files := range shown {
			t.Run(files[0], func(t *testing.T) {
				t.Parallel()
				m, properties := load(t, files...)
				for _, d := range append([]verify.Definition{m.Main}, unguarded(t, &m.Main)...) {
					of := *m
					of.Main = d
					asked := properties
					if d.Machine == m.Main.Machine {
						asked = nevers(t, m)
					}
					p, n := playAll(t, &of, asked)
					played[i], told[i] = played[i]+p, told[i]+n
				}
			})
		}
	})
	sum, all := 0, 0
	for i := range shown {
		sum, all = sum+played[i], all+told[i]
	}
	t.Logf("%d of %d counterexamples were played on the services; the others are given evidence that no scenario gains", sum, all)
	if sum < 150 {
		t.Errorf("only %d counterexamples were played", sum)
	}
}

// nevers are properties that exclude every event of a workflow: each is refuted by the
// shortest run in which it does.
func nevers(t *testing.T, m *verify.Model) []workflow.Property {
	t.Helper()
	def := m.Main.Machine.Definition()
	all := map[string]any{}
	plain := strings.NewReplacer("$", "", "/", "-").Replace
	for i := range def.States {
		s := &def.States[i]
		all["never "+plain(s.Name)] = map[string]any{"never": map[string]any{"state": s.Name}, "while": "running"}
		for _, tool := range s.AllowedTools {
			if !strings.ContainsAny(tool, "*@") { // a pattern, or a list of tools
				all["never "+plain(tool)] = map[string]any{"never": map[string]any{"tool": tool}, "while": "running"}
				all["once "+plain(tool)] = map[string]any{"at_most": 1, "tool": tool}
			}
		}
		for _, on := range s.On {
			all["never "+plain(on.Event)] = map[string]any{"never": map[string]any{"event": on.Event}, "while": "running"}
		}
	}
	text, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	v, problem := document.Parse(text, document.Limits{})
	if problem != nil {
		t.Fatal(problem)
	}
	properties, problems := workflow.ParseProperties(v, def)
	if problems.HasErrors() {
		t.Fatal(problems)
	}
	return properties
}

// unguarded are a workflow without one of its guards or approvals each.
func unguarded(t *testing.T, d *verify.Definition) (all []verify.Definition) {
	t.Helper()
	if d.Process != nil {
		return nil
	}
	text := d.Text.AppendJSON(nil)
	for n := 0; ; n++ {
		var def map[string]any
		if err := json.Unmarshal(text, &def); err != nil {
			t.Fatal(err)
		}
		left := n
		states := def["states"].(map[string]any)
		for _, name := range sorted(states) {
			ways, _ := states[name].(map[string]any)["on"].(map[string]any)
			for _, event := range sorted(ways) {
				branches, several := ways[event].([]any)
				if !several {
					branches = []any{ways[event]}
				}
				for _, branch := range branches {
					way, _ := branch.(map[string]any)
					for _, key := range []string{"guard", "guards", "requires_approval"} {
						if _, there := way[key]; there {
							if left == 0 {
								delete(way, key)
							}
							left--
						}
					}
				}
			}
		}
		if left >= 0 {
			return all
		}
		changed, err := json.Marshal(def)
		if err != nil {
			t.Fatal(err)
		}
		v, problem := document.Parse(changed, document.Limits{})
		if problem != nil {
			t.Fatal(problem)
		}
		if parsed, problems := workflow.ParseValue(v); !problems.HasErrors() {
			all = append(all, verify.Definition{Machine: workflow.Compile(parsed, 1), Text: v})
		}
	}
}

// playAll plays the counterexamples of properties, each in a plane of its own.
func playAll(t *testing.T, m *verify.Model, properties []workflow.Property) (played, told int) {
	t.Helper()
	report := verify.Check(m, properties, verify.Options{MaxStates: 20_000})
	var a *Attacker
	for i := range report.Results {
		r := &report.Results[i]
		if r.Counterexample == nil {
			continue
		}
		told++
		v, problems := document.FromYAML(r.Counterexample.Scenario)
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		only := child(child(v, "cases"), "0")
		if !child(child(only, "given"), "evidence").IsZero() {
			continue
		}
		if a == nil {
			var err error
			if a, err = New(t.Context(), Config{Model: m, Dir: scratch(t)}); err != nil {
				t.Fatal(err)
			}
		}
		played++
		if err := a.happens(t, only, r.Counterexample.Stands); err != nil {
			t.Errorf("%s: %v\n%s", r.Property.Name, err, r.Counterexample.Scenario)
		}
	}
	return played, told
}

func child(v document.Value, name string) document.Value {
	found, _ := document.Lookup(v, "/"+name)
	return found
}

// actor plays the steps of a scenario on the services.
type actor struct {
	*testing.T
	*plane
	run    string
	branch string
	calls  map[string]string // the last call of each tool
	n      int
}

// happens plays a case, and compares where the run stands after each step. The last step fails
// its expectation, as it does in `interlock test`.
func (a *Attacker) happens(t *testing.T, only document.Value, stands [][]string) error {
	t.Helper()
	everybody := map[string]auth.Principal{}
	steps := child(only, "steps")
	for _, step := range steps.Elements() {
		for _, how := range []string{"approve", "reject"} {
			if who := child(step, how); !who.IsZero() {
				name, role := child(who, "by").Str(), child(who, "role").Str()
				everybody[role+" "+name] = auth.Principal{Name: name, Role: auth.Role(cmp.Or(role, "approver"))}
			}
		}
	}
	a.played++
	dir := filepath.Join(a.cfg.Dir, fmt.Sprint("scenario-", a.played))
	p, err := open(t.Context(), dir, a.image, Faults{People: everybody})
	if err != nil {
		return err
	}
	defer func() { _ = p.close(); _ = os.RemoveAll(dir) }()
	x := &actor{T: t, plane: p, calls: map[string]string{}}
	if err := x.start(&a.cfg.Model.Main, child(child(only, "given"), "context")); err != nil {
		return err
	}
	if len(stands) != steps.Len()+1 {
		return fmt.Errorf("it has %d steps, and says %d times where the run stands", steps.Len(), len(stands))
	}
	for i, step := range steps.Elements() {
		answer, err := x.act(step)
		if err != nil {
			return fmt.Errorf("step %d, %s: %w", i+1, step, err)
		}
		if got := x.stands(); !slices.Equal(got, stands[i+1]) {
			return fmt.Errorf("step %d, %s: the run stands in %q, and not in %q", i+1, step, got, stands[i+1])
		}
		want := child(child(step, "expect"), "decision")
		if answer == "" {
			continue
		}
		switch last := i == steps.Len()-1; {
		case !last && answer != cmp.Or(want.Str(), "ALLOW"):
			return fmt.Errorf("step %d, %s: %s", i+1, step, answer)
		case last && answer == want.Str():
			return fmt.Errorf("step %d, %s: %s, and the property would be kept", i+1, step, answer)
		}
	}
	return nil
}

func (x *actor) start(d *verify.Definition, given document.Value) error {
	conn := x.as(attack.Agent)
	if d.Process != nil {
		resp, err := enginev1.NewProcessServiceClient(conn).StartProcess(x.Context(), &enginev1.StartProcessRequest{
			Process: d.Machine.Name(), SessionId: "s1", Workspace: workspace,
		})
		x.run = resp.GetRun().GetRunId()
		return err
	}
	resp, err := enginev1.NewRunServiceClient(conn).StartRun(x.Context(), &enginev1.StartRunRequest{
		Workflow: d.Machine.Name(), SessionId: "s1", Context: jsonOf(given), Workspace: workspace,
	})
	x.run = resp.GetRun().GetRunId()
	return err
}

func jsonOf(v document.Value) []byte {
	if v.IsZero() {
		return nil
	}
	return v.AppendJSON(nil)
}

// act takes a step, and returns the decision of a call.
func (x *actor) act(step document.Value) (string, error) {
	x.n++
	runs := enginev1.NewRunServiceClient(x.as(attack.Agent))
	for name, v := range step.Members() {
		switch name {
		case "data", "expect":
			continue
		case "branch":
			x.branch = v.Str()
			return "", nil
		case "event":
			resp, err := runs.TransitionRun(x.Context(), &enginev1.TransitionRunRequest{
				SessionId: "s1", Branch: x.branch, Event: v.Str(), Data: jsonOf(child(step, "data")),
			})
			return "", refusal(err, resp.GetAccepted() || resp.GetApprovalId() != "", resp.GetRejection())
		case "answer":
			resp, err := enginev1.NewProcessServiceClient(x.as(attack.Agent)).AnswerQuestion(x.Context(), &enginev1.AnswerQuestionRequest{
				SessionId: "s1", Answer: v.Str(),
			})
			return "", refusal(err, resp.GetAccepted() || resp.GetApprovalId() != "", resp.GetRejection())
		case "force_state":
			// Operators may force the states of every workflow that allows it at all.
			resp, err := enginev1.NewRunServiceClient(x.as(attack.Operator)).ForceState(x.Context(), &enginev1.ForceStateRequest{RunId: x.run, Branch: x.branch, State: child(v, "state").Str()})
			return "", refusal(err, resp.GetAccepted(), resp.GetRejection())
		case "call":
			return x.call(v)
		case "report":
			return "", x.report(v)
		case "approve", "reject":
			return "", x.decide(v, name == "approve")
		case "advance":
			d, err := time.ParseDuration(v.Str())
			x.clock.advance(d)
			x.sweep(x.Context())
			return "", err
		case "pause":
			_, err := runs.PauseRun(x.Context(), &enginev1.PauseRunRequest{RunId: x.run})
			return "", err
		case "resume":
			_, err := runs.ResumeRun(x.Context(), &enginev1.ResumeRunRequest{RunId: x.run})
			return "", err
		}
	}
	return "", fmt.Errorf("nobody knows how to take this step")
}

// refusal is an error, or a refused act.
func refusal(err error, accepted bool, why *enginev1.Rejection) error {
	if err == nil && !accepted {
		return fmt.Errorf("refused: %s", why)
	}
	return err
}

func (x *actor) call(v document.Value) (string, error) {
	tool := child(v, "tool").Str()
	x.calls[tool] = fmt.Sprint("call-", x.n)
	resp, err := policyv1.NewPolicyEnforcerServiceClient(x.as(attack.Agent)).CheckToolCall(x.Context(), &policyv1.CheckToolCallRequest{
		SessionId: "s1", Branch: x.branch, Tool: tool, Input: jsonOf(child(v, "input")), CallId: x.calls[tool],
	})
	return word(resp.GetDecision().String()), err
}

func (x *actor) report(v document.Value) error {
	request := &policyv1.ReportToolCallRequest{
		SessionId: "s1", Branch: x.branch, Tool: child(v, "tool").Str(), Ok: child(v, "ok").String() != "false", Output: jsonOf(child(v, "output")),
	}
	request.CallId = cmp.Or(x.calls[request.GetTool()], fmt.Sprint("call-", x.n))
	for _, file := range child(v, "files_changed").Elements() {
		request.FilesChanged = append(request.FilesChanged, file.Str())
	}
	_, err := policyv1.NewPolicyEnforcerServiceClient(x.as(attack.Runtime)).ReportToolCall(x.Context(), request)
	return err
}

// decide votes on the approvals that wait for people.
func (x *actor) decide(who document.Value, approve bool) error {
	page, err := approvalv1.NewApprovalServiceClient(x.honest(attack.Operator)).ListApprovals(x.Context(), &approvalv1.ListApprovalsRequest{
		Filter: `status="PENDING"`,
	})
	if err != nil {
		return err
	}
	if len(page.GetApprovals()) != 1 {
		return fmt.Errorf("%d approvals wait", len(page.GetApprovals()))
	}
	asked := page.GetApprovals()[0]
	_, err = approvalv1.NewApprovalServiceClient(x.as(child(who, "role").Str()+" "+child(who, "by").Str())).DecideApproval(x.Context(),
		&approvalv1.DecideApprovalRequest{ApprovalId: asked.GetApprovalId(), Approve: approve, Digest: asked.GetDigest()})
	return err
}

// stands are the states of the run: of its branches where there are some.
func (x *actor) stands() (states []string) {
	got, err := enginev1.NewRunServiceClient(x.honest(attack.Operator)).GetRun(x.Context(), &enginev1.GetRunRequest{RunId: x.run})
	if err != nil {
		x.Fatal(err)
	}
	for _, b := range got.GetRun().GetFork().GetBranches() {
		if b.GetStatus() == enginev1.BranchStatus_BRANCH_STATUS_ACTIVE {
			states = append(states, b.GetState())
		}
	}
	if len(states) == 0 {
		states = []string{got.GetRun().GetState()}
	}
	return states
}
