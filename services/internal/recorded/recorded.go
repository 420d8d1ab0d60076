// Package recorded reads runs as they were recorded, with all that they were decided by: to
// export them, to check them, and to make receipts of them.
package recorded

import (
	"context"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/rules"
	"github.com/interlock-run/interlock/pkg/toolcall"

	"github.com/interlock-run/interlock/pkg/verify/conform"
	"github.com/interlock-run/interlock/pkg/workflow"
	"github.com/interlock-run/interlock/services/internal/definition"
	"github.com/interlock-run/interlock/services/internal/jsonview"
	"github.com/interlock-run/interlock/services/internal/traced"
)

// Format is the form of exported runs.
const Format = "interlock-run/1"

// Run is a run with all that it was decided by.
type Run struct {
	Format    string                    `json:"format"`
	RunID     string                    `json:"run_id"`
	Workflow  string                    `json:"workflow"`
	SessionID string                    `json:"session_id,omitzero"`
	Workspace string                    `json:"workspace,omitzero"`
	Version   int64                     `json:"run_version,omitzero"` // before its history was read
	Versions  []Version                 `json:"definitions"`
	Invoked   []Version                 `json:"invoked,omitempty"`
	Policies  []Version                 `json:"policies"`
	History   []jsonview.HistoryEntry   `json:"history"`
	Decisions []jsonview.DecisionRecord `json:"decisions"`

	// Partition of the log that has the decisions, and Log all records of it, in their order:
	// only where Raw asked for them.
	Partition string                     `json:"-"`
	Log       []*policyv1.DecisionRecord `json:"-"`
	View      jsonview.Run               `json:"-"`
}

// Version is one version of a workflow or of a policy.
type Version struct {
	Name       string         `json:"name"`
	Version    int64          `json:"version"`
	Definition jsontext.Value `json:"definition"`
}

// Sources are the services that have the records.
type Sources struct {
	Runs      enginev1.RunServiceClient
	Workflows enginev1.WorkflowServiceClient
	Decisions policyv1.DecisionServiceClient
	Policies  policyv1.PolicyServiceClient
}

// Read reads an exported run.
func Read(name string, text []byte) (*Run, error) {
	var r Run
	if err := json.Unmarshal(text, &r); err != nil {
		return nil, fmt.Errorf("%s is not an exported run: %w", name, err)
	}
	if r.Format != Format {
		return nil, fmt.Errorf("%s is not an exported run of this version: its format is %q, not %q", name, r.Format, Format)
	}
	if why := r.mixed(); why != "" {
		return nil, fmt.Errorf("%s is not one exported run: %s", name, why)
	}
	return &r, nil
}

// mixed describes why the parts of an exported run are not those of one run, from its beginning
// on and without a gap, or is empty. A statement about one that has been cut, or put together
// of several, would be about a run that did not exist.
func (r *Run) mixed() string {
	if r.RunID == "" {
		return "it names no run"
	}
	for i, v := range r.Versions {
		same := func(other Version) bool { return other.Version == v.Version }
		compiled, err := definition.Flags{}.Compile(v.Definition, v.Version)
		if err != nil {
			return fmt.Sprintf("version %d of the definition: %v", v.Version, err)
		}
		if v.Name != r.Workflow || compiled.Name() != r.Workflow || slices.ContainsFunc(r.Versions[:i], same) {
			return fmt.Sprintf("version %d of workflow %q, %q, is not one of workflow %q, once", v.Version, v.Name, compiled.Name(), r.Workflow)
		}
	}
	for i, v := range r.Policies {
		same := func(other Version) bool { return other.Name == v.Name && other.Version == v.Version }
		if slices.ContainsFunc(r.Policies[:i], same) {
			return fmt.Sprintf("version %d of policy %q is there twice", v.Version, v.Name)
		}
	}
	changes := int64(0)
	for i := range r.History {
		e := &r.History[i]
		if e.ToolResult != nil {
			continue
		}
		if changes++; e.RunVersion != changes {
			return fmt.Sprintf("version %d of its history comes where version %d must be", e.RunVersion, changes)
		}
		if (e.Type == workflow.EventStarted) != (changes == 1) {
			return fmt.Sprintf("version %d of its history is %q", changes, e.Type)
		}
	}
	if changes == 0 {
		return "it has no history"
	}
	last := int64(0)
	for i := range r.Decisions {
		d := &r.Decisions[i]
		switch {
		case d.RunID != r.RunID:
			return fmt.Sprintf("decision %d is of run %q", d.Sequence, d.RunID)
		case d.Sequence <= last:
			return fmt.Sprintf("decision %d comes after decision %d", d.Sequence, last)
		case !slices.Contains([]toolcall.Decision{toolcall.Allow, toolcall.Ask, toolcall.Deny}, toolcall.Decision(d.Decision)):
			return fmt.Sprintf("decision %d is %q", d.Sequence, d.Decision)
		}
		last = d.Sequence
	}
	return ""
}

// Load reads a run; raw adds the log of its whole family as it is stored.
func Load(ctx context.Context, from Sources, id string, raw bool) (*Run, error) {
	r := &Run{Format: Format}
	run, err := from.Runs.GetRun(ctx, &enginev1.GetRunRequest{RunId: id})
	if err != nil {
		return nil, err
	}
	r.View = jsonview.RunOf(run.GetRun())
	r.RunID, r.Workflow, r.SessionID, r.Version = r.View.RunID, r.View.Workflow, r.View.SessionID, r.View.Version
	if err := r.loadHistory(ctx, from); err != nil {
		return nil, err
	}
	if err := r.loadDecisions(ctx, from, raw); err != nil {
		return nil, err
	}
	return r, r.loadVersions(ctx, from)
}

func (r *Run) loadHistory(ctx context.Context, from Sources) error {
	next := &enginev1.GetRunHistoryRequest{RunId: r.RunID, PageSize: 1000}
	var entries []*enginev1.HistoryEntry
	for more := true; more; more = next.GetAfterVersion() > 0 || next.GetAfterResult() > 0 {
		page, err := from.Runs.GetRunHistory(ctx, next)
		if err != nil {
			return err
		}
		entries = append(entries, page.GetEntries()...)
		next.AfterVersion, next.AfterResult = page.GetNextAfterVersion(), page.GetNextAfterResult()
	}
	r.History = jsonview.HistoryOf(entries)
	return nil
}

// loadDecisions reads the decisions of the run, and with raw the records of all its family.
func (r *Run) loadDecisions(ctx context.Context, from Sources, raw bool) error {
	filter := "run_id=" + r.RunID
	for {
		next := &policyv1.ListDecisionsRequest{Filter: filter, PageSize: 1000, Raw: raw}
		var all []*policyv1.DecisionRecord
		for more := true; more; more = next.GetPageToken() != "" {
			page, err := from.Decisions.ListDecisions(ctx, next)
			if err != nil {
				return err
			}
			all = append(all, page.GetDecisions()...)
			next.PageToken = page.GetNextPageToken()
		}
		slices.SortFunc(all, func(a, b *policyv1.DecisionRecord) int { return int(a.GetSequence() - b.GetSequence()) })
		if len(all) > 0 {
			r.Partition = all[0].GetPartition()
		}
		if raw && r.Partition != "" && filter != "run_id="+r.Partition { // an invoked run is in the log of its root
			filter = "run_id=" + r.Partition
			continue
		}
		r.Log = all
		break
	}
	for _, d := range r.Log {
		if d.GetRunId() == r.RunID { // and not those of runs below it
			r.Decisions = append(r.Decisions, jsonview.DecisionRecordOf(d))
		}
	}
	return nil
}

func (r *Run) loadVersions(ctx context.Context, from Sources) error {
	for i := range r.History {
		version := r.History[i].WorkflowVersion
		if version == 0 || slices.ContainsFunc(r.Versions, func(v Version) bool { return v.Version == version }) {
			continue
		}
		got, err := from.Workflows.GetWorkflow(ctx, &enginev1.GetWorkflowRequest{Name: r.Workflow, Version: version})
		if err != nil {
			return fmt.Errorf("read version %d of workflow %s: %w", version, r.Workflow, err)
		}
		r.Versions = append(r.Versions, Version{r.Workflow, version, got.GetWorkflow().GetDefinition()})
	}
	for i := range r.Decisions {
		d := &r.Decisions[i]
		known := func(v Version) bool { return v.Name == d.Policy && v.Version == d.PolicyVersion }
		if d.Policy == "" || slices.ContainsFunc(r.Policies, known) {
			continue
		}
		got, err := from.Policies.GetPolicy(ctx, &policyv1.GetPolicyRequest{Name: d.Policy, Version: d.PolicyVersion})
		if err != nil {
			continue // it is counted as not given
		}
		r.Policies = append(r.Policies, Version{d.Policy, d.PolicyVersion, got.GetPolicy().GetDefinition()})
	}
	return nil
}

// Trace returns the run as it is checked.
func (r *Run) Trace() (*conform.Trace, error) {
	t := &conform.Trace{
		RunID: r.RunID, SessionID: r.SessionID, Workspace: r.Workspace, Version: r.Version, Definitions: map[int64]*workflow.Machine{},
		Invoked: map[string]*workflow.Machine{}, Policies: map[conform.PolicyVersion]*rules.Set{},
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
		t.Policies[conform.PolicyVersion{Name: v.Name, Version: v.Version}] = rules.Compile(policy, v.Version)
	}
	for i := range r.History {
		if e, ok := traced.Change(&r.History[i]); ok {
			t.History = append(t.History, e)
		}
	}
	for i := range r.Decisions {
		if r.Decisions[i].RunID != r.RunID {
			return nil, fmt.Errorf("decision %d is of run %q, not of %s", r.Decisions[i].Sequence, r.Decisions[i].RunID, r.RunID)
		}
		t.Decisions = append(t.Decisions, traced.Decision(&r.Decisions[i]))
	}
	return t, nil
}
