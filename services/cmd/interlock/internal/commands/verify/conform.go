package verify

import (
	"context"
	"fmt"
	"os"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"google.golang.org/grpc"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/rules"
	"github.com/interlock-run/interlock/pkg/verify"
	"github.com/interlock-run/interlock/pkg/workflow"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/commands/decisions"
	runs "github.com/interlock-run/interlock/services/cmd/interlock/internal/commands/run"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/console"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/input"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/show"
	"github.com/interlock-run/interlock/services/internal/definition"
	"github.com/interlock-run/interlock/services/internal/jsonview"
	"github.com/interlock-run/interlock/services/internal/traced"
)

// recordFormat is the form of exported runs.
const recordFormat = "interlock-run/1"

// record is a run with all that it was decided by.
type record struct {
	Format    string                    `json:"format"`
	RunID     string                    `json:"run_id"`
	Workflow  string                    `json:"workflow"`
	SessionID string                    `json:"session_id,omitzero"`
	Workspace string                    `json:"workspace,omitzero"`
	Versions  []recordedVersion         `json:"definitions"`
	Invoked   []recordedVersion         `json:"invoked,omitempty"`
	Policies  []recordedVersion         `json:"policies"`
	History   []jsonview.HistoryEntry   `json:"history"`
	Decisions []jsonview.DecisionRecord `json:"decisions"`
}

// recordedVersion is one version of a workflow or of a policy.
type recordedVersion struct {
	Name       string         `json:"name"`
	Version    int64          `json:"version"`
	Definition jsontext.Value `json:"definition"`
}

// conform checks a recorded run.
func (c *Command) conform(ctx context.Context, io console.Streams) error {
	if len(c.Files) > 0 {
		return console.Misusedf("--run checks a run by what it was decided by: leave the files out")
	}
	r, err := c.recorded(ctx, io)
	if err != nil {
		return err
	}
	if c.Save != "" {
		text, err := json.Marshal(r, indented)
		if err != nil {
			return fmt.Errorf("encode the run: %w", err)
		}
		if err := os.WriteFile(c.Save, append(text, '\n'), 0o600); err != nil {
			return fmt.Errorf("write the run: %w", err)
		}
	}
	trace, err := r.trace()
	if err != nil {
		return err
	}
	out := verify.Conform(trace)
	if c.Format == "json" {
		differences := make([]string, 0, len(out.Differences))
		for _, d := range out.Differences {
			differences = append(differences, d.String())
		}
		err = show.JSON(io.Out, struct {
			RunID       string         `json:"run_id"`
			OK          bool           `json:"ok"`
			History     int            `json:"history"`
			Decisions   int            `json:"decisions"`
			Open        map[string]int `json:"open"`
			Differences []string       `json:"differences"`
		}{r.RunID, len(differences) == 0, out.History, out.Decisions, out.Open, differences})
	} else {
		printConformance(io, r.RunID, &out)
	}
	switch {
	case err != nil:
		return err
	case len(out.Differences) > 0:
		return console.ErrNo
	default:
		return nil
	}
}

func printConformance(io console.Streams, run string, out *verify.Conformance) {
	for _, d := range out.Differences {
		fmt.Fprintf(io.Out, "%s: %s\n", show.Text(run), show.Text(d.String()))
	}
	verdict := "conforms"
	if len(out.Differences) > 0 {
		verdict = "does not conform"
	}
	fmt.Fprintf(io.Out, "%s: %s: %s and %s decided again\n", show.Text(run), verdict, show.Counted(out.History,
		"change"), show.Counted(out.Decisions, "decision"))
	whys := make([]string, 0, len(out.Open))
	for why := range out.Open {
		whys = append(whys, why)
	}
	slices.Sort(whys)
	for _, why := range whys {
		fmt.Fprintf(io.Out, "  not decided again: %d, because %s\n", out.Open[why], why)
	}
}

// recorded is the run of an exported file, or of a server.
func (c *Command) recorded(ctx context.Context, io console.Streams) (*record, error) {
	if _, err := os.Stat(c.Run_); err == nil || c.Run_ == "-" {
		return readRecord(c.Run_, io)
	}
	r := &record{Format: recordFormat}
	err := c.Do(ctx, io, auth.Operator, func(conn grpc.ClientConnInterface) error { return r.load(ctx, conn, c.Run_) })
	return r, err
}

// readRecord reads an exported run.
func readRecord(file string, io console.Streams) (*record, error) {
	text, err := input.File(file, io.In)
	if err != nil {
		return nil, err
	}
	var r record
	if err := json.Unmarshal(text, &r); err != nil {
		return nil, fmt.Errorf("%s is not an exported run: %w", file, err)
	}
	if r.Format != recordFormat {
		return nil, fmt.Errorf("%s is not an exported run of this version: its format is %q, not %q", file, r.Format, recordFormat)
	}
	return &r, nil
}

// FromFile is an exported run as it is replayed.
func FromFile(file string, io console.Streams) (*verify.Trace, error) {
	r, err := readRecord(file, io)
	if err != nil {
		return nil, err
	}
	return r.trace()
}

// FromServer is a run of a server as it is replayed.
func FromServer(ctx context.Context, conn grpc.ClientConnInterface, id string) (*verify.Trace, error) {
	r := &record{Format: recordFormat}
	if err := r.load(ctx, conn, id); err != nil {
		return nil, err
	}
	return r.trace()
}

// load reads a run and all that it was decided by from a server.
func (r *record) load(ctx context.Context, conn grpc.ClientConnInterface, id string) error {
	one := runs.One{RunID: id}
	if err := one.Resolve(ctx, conn); err != nil {
		return err
	}
	service := enginev1.NewRunServiceClient(conn)
	run, err := service.GetRun(ctx, &enginev1.GetRunRequest{RunId: one.RunID})
	if err != nil {
		return err
	}
	view := jsonview.RunOf(run.GetRun())
	r.RunID, r.Workflow, r.SessionID = view.RunID, view.Workflow, view.SessionID
	entries, err := runs.HistoryAfter(ctx, service, r.RunID, 0)
	if err != nil {
		return err
	}
	r.History = jsonview.HistoryOf(entries)
	err = decisions.Each(ctx, conn, &policyv1.ListDecisionsRequest{Filter: "run_id=" + r.RunID},
		func(d *policyv1.DecisionRecord) error {
			if d.GetRunId() == r.RunID { // and not those of runs below it
				r.Decisions = append(r.Decisions, jsonview.DecisionRecordOf(d))
			}
			return nil
		})
	if err != nil {
		return err
	}
	slices.SortFunc(r.Decisions, func(a, b jsonview.DecisionRecord) int { return int(a.Sequence - b.Sequence) })
	return r.loadVersions(ctx, conn)
}

func (r *record) loadVersions(ctx context.Context, conn grpc.ClientConnInterface) error {
	workflows, policies := enginev1.NewWorkflowServiceClient(conn), policyv1.NewPolicyServiceClient(conn)
	for i := range r.History {
		version := r.History[i].WorkflowVersion
		if version == 0 || slices.ContainsFunc(r.Versions, func(v recordedVersion) bool { return v.Version == version }) {
			continue
		}
		got, err := workflows.GetWorkflow(ctx, &enginev1.GetWorkflowRequest{Name: r.Workflow, Version: version})
		if err != nil {
			return fmt.Errorf("read version %d of workflow %s: %w", version, r.Workflow, err)
		}
		r.Versions = append(r.Versions, recordedVersion{r.Workflow, version, got.GetWorkflow().GetDefinition()})
	}
	for i := range r.Decisions {
		d := &r.Decisions[i]
		known := func(v recordedVersion) bool { return v.Name == d.Policy && v.Version == d.PolicyVersion }
		if d.Policy == "" || slices.ContainsFunc(r.Policies, known) {
			continue
		}
		got, err := policies.GetPolicy(ctx, &policyv1.GetPolicyRequest{Name: d.Policy, Version: d.PolicyVersion})
		if err != nil {
			continue // it is counted as not given
		}
		r.Policies = append(r.Policies, recordedVersion{d.Policy, d.PolicyVersion, got.GetPolicy().GetDefinition()})
	}
	return nil
}

// trace is the run as it is checked.
func (r *record) trace() (*verify.Trace, error) {
	t := &verify.Trace{
		RunID: r.RunID, SessionID: r.SessionID, Workspace: r.Workspace, Definitions: map[int64]*workflow.Machine{},
		Invoked: map[string]*workflow.Machine{}, Policies: map[verify.PolicyVersion]*rules.Set{},
	}
	for _, v := range r.Versions {
		compiled, err := definition.Flags{}.Compile(v.Definition, v.Version)
		if err != nil {
			return nil, fmt.Errorf("version %d of the definition: %w", v.Version, err)
		}
		t.Definitions[v.Version] = compiled.Machine
	}
	for _, v := range r.Policies {
		value, problems := document.ParseAll(v.Definition, document.Limits{})
		if problems.HasErrors() {
			return nil, fmt.Errorf("version %d of policy %s: %w", v.Version, v.Name, problems.Err())
		}
		policy, problems := rules.ParsePolicyValue(value)
		if problems.HasErrors() {
			return nil, fmt.Errorf("version %d of policy %s: %w", v.Version, v.Name, problems.Err())
		}
		policy.Name = v.Name
		t.Policies[verify.PolicyVersion{Name: v.Name, Version: v.Version}] = rules.Compile(policy, v.Version)
	}
	for i := range r.History {
		if e, ok := traced.Change(&r.History[i]); ok {
			t.History = append(t.History, e)
		}
	}
	for i := range r.Decisions {
		t.Decisions = append(t.Decisions, traced.Decision(&r.Decisions[i]))
	}
	return t, nil
}
