package apply

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"google.golang.org/protobuf/types/known/timestamppb"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/process"
	"github.com/interlock-run/interlock/pkg/verify/explore"
	"github.com/interlock-run/interlock/pkg/verify/migrate"
	"github.com/interlock-run/interlock/pkg/workflow"
	diff "github.com/interlock-run/interlock/services/cmd/interlock/internal/commands/workflow"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/show"
	"github.com/interlock-run/interlock/services/internal/definition"
	"github.com/interlock-run/interlock/services/internal/jsonview"
)

// describe adds the differences in words, the runs that move, and new permissions.
func (s *server) describe(ctx context.Context, i *item, enforcement workflow.Enforcement, t terms) error {
	switch {
	case i.action == remove && i.Kind == kindPolicy && !i.remote.noContent:
		i.loosen(t, "the policy is removed, and "+attachedText(i.remote.attached)+" lose it")
		return nil
	case i.local == nil:
		return nil
	case i.action == conflict:
		i.what = differences(i)
		return nil
	}
	switch i.Kind {
	case kindPolicy:
		return s.describePolicy(ctx, i, t)
	case kindSchema:
		i.describeSchema(t)
		return nil
	case kindComponent:
		if i.action == change {
			i.what = differences(i)
		}
		return nil
	}
	return s.describeMachine(ctx, i, enforcement, t)
}

// describeSchema compares a schema with its live version, and finds values that more callers may write.
func (i *item) describeSchema(t terms) {
	if i.restore {
		i.what = append(i.what, "it is retired, and new states get it again")
	}
	if i.remote.live == 0 || i.local.same(i.remote.digest) {
		return
	}
	i.what = append(i.what, differences(i)...)
	before, err := jsonview.MayWriteOf(i.remote.text)
	if err != nil {
		i.what = append(i.what, "warning: the live version is no longer valid: "+err.Error())
		return
	}
	after, _ := jsonview.MayWriteOf(i.local.text) // it was compiled when it was read
	i.loosen(t, writable(before, after)...)
}

// writable returns what more callers may write by the lists of writers after a change.
func writable(before, after []jsonview.MayWrite) (all []string) {
	for _, was := range before {
		at := slices.IndexFunc(after, func(now jsonview.MayWrite) bool { return now.Pointer == was.Pointer })
		if at < 0 {
			only := "nobody"
			if len(was.Writers) > 0 {
				only = "only " + strings.Join(was.Writers, ", ")
			}
			all = append(all, fmt.Sprintf("everyone who may change a state may write %q, and not %s", was.Pointer, only))
			continue
		}
		for _, writer := range after[at].Writers {
			if !slices.Contains(was.Writers, writer) {
				all = append(all, fmt.Sprintf("%s may write %q", writer, was.Pointer))
			}
		}
	}
	return all
}

func attachedText(all []jsonview.Attachment) string {
	if len(all) == 0 {
		return "the workflows that name it"
	}
	var names []string
	for _, a := range sorted(all) {
		names = append(names, attachmentText(a))
	}
	return strings.Join(names, ", ")
}

func attachmentText(a jsonview.Attachment) string {
	if a.Kind == "everyone" {
		return a.Kind
	}
	return a.Kind + " " + a.ID
}

// describePolicy tries a changed policy on the recorded calls.
func (s *server) describePolicy(ctx context.Context, i *item, t terms) error {
	if i.attach {
		for _, a := range sorted(i.local.attach) {
			if !slices.Contains(i.remote.attached, a) {
				i.what = append(i.what, "+ attached to "+attachmentText(a))
			}
		}
		var lost []string
		for _, a := range sorted(i.remote.attached) {
			if !slices.Contains(i.local.attach, a) {
				i.what = append(i.what, "- attached to "+attachmentText(a))
				lost = append(lost, attachmentText(a)+" loses the policy")
			}
		}
		i.loosen(t, lost...)
	}
	if i.action == keep || i.local.same(i.remote.digest) {
		return nil
	}
	if i.action == change {
		i.what = append(i.what, differences(i)...)
	}
	named := document.MergeTop(i.local.value, document.ObjectValue([]document.Member{{Name: "name", Value: document.StringValue(i.Name)}}))
	resp, err := s.policies.SimulatePolicy(ctx, &policyv1.SimulatePolicyRequest{
		Definition: named.AppendJSON(nil), Since: timestamppb.New(time.Now().Add(-s.since)),
	})
	if err != nil {
		return err
	}
	tighter, looser := 0, 0
	for _, c := range resp.GetChanges() {
		if strictness(c.GetDecision()) < strictness(c.GetRecorded().GetDecision()) {
			looser++
		} else {
			tighter++
		}
	}
	line := fmt.Sprintf("simulate, last %s: %s replayed", days(s.since), show.Counted(int(resp.GetReplayed()), "call"))
	if tighter > 0 {
		line += fmt.Sprintf(", %d would be asked or denied", tighter)
	}
	if looser > 0 {
		line += fmt.Sprintf(", %d would be allowed or only asked", looser)
	}
	i.what = append(i.what, line)
	if i.action == add {
		return nil // a new policy only restricts
	}
	var loose []string
	if looser > 0 {
		loose = append(loose, fmt.Sprintf("%s of the last %s would be decided less strictly", show.Counted(looser, "call"), days(s.since)))
	}
	if resp.GetUndecided() > 0 {
		loose = append(loose, fmt.Sprintf("%s could not be replayed: the log does not have the values that the policy looks at", show.Counted(int(resp.GetUndecided()), "call")))
	}
	if resp.GetTruncated() {
		loose = append(loose, "not all calls were replayed: there are too many")
	}
	i.loosen(t, loose...)
	return nil
}

// strictness orders decisions.
func strictness(d policyv1.Decision) int {
	return slices.Index([]policyv1.Decision{policyv1.Decision_DECISION_ALLOW, policyv1.Decision_DECISION_ASK, policyv1.Decision_DECISION_DENY}, d)
}

func days(d time.Duration) string {
	if d%(24*time.Hour) == 0 {
		return show.Counted(int(d/(24*time.Hour)), "day")
	}
	return d.String()
}

// describeMachine compares a workflow or process with its live version, and with those that runs have.
func (s *server) describeMachine(ctx context.Context, i *item, enforcement workflow.Enforcement, t terms) error {
	if i.restore {
		i.what = append(i.what, "it is retired, and starts runs again")
	}
	text := i.local.text
	if i.Kind == kindWorkflow {
		text = enforcement.Write(text)
	}
	to, err := definition.Flags{}.Compile(text, i.remote.live+1)
	if err != nil {
		return fmt.Errorf("%s: %w", i.local.file, err)
	}
	changed := i.remote.live != 0 && !i.local.same(i.remote.digest)
	if changed {
		i.what = append(i.what, differences(i)...)
		plan, err := migration(i.remote.text, i.remote.live, i.remote.digest, &to, i.local.digests[0])
		if err != nil {
			return err
		}
		i.loosen(t, gains(plan)...)
	}
	if i.action == add || t.migrate == "never" {
		return nil
	}
	runs, err := s.running(ctx, i.Name)
	if err != nil {
		return err
	}
	byVersion := make(map[int64][]*enginev1.Run)
	for _, run := range runs {
		if changed || run.GetWorkflowVersion() != i.remote.live {
			byVersion[run.GetWorkflowVersion()] = append(byVersion[run.GetWorkflowVersion()], run)
		}
	}
	for from, runs := range byVersion {
		m, err := s.move(ctx, i, from, runs, &to, t)
		if err != nil {
			return err
		}
		i.moves = append(i.moves, m)
	}
	slices.SortFunc(i.moves, func(a, b move) int { return int(a.From - b.From) })
	return nil
}

// move finds out which runs of one version can move.
func (s *server) move(ctx context.Context, i *item, from int64, runs []*enginev1.Run, to *definition.Compiled, t terms) (move, error) {
	text, digest := i.remote.text, i.remote.digest
	if from != i.remote.live {
		resp, err := s.workflows.GetWorkflow(ctx, &enginev1.GetWorkflowRequest{Name: i.Name, Version: from})
		if err != nil {
			return move{}, err
		}
		text, digest = resp.GetWorkflow().GetDefinition(), resp.GetWorkflow().GetDigest()
	}
	m := move{From: from, Runs: len(runs)}
	plan, err := migration(text, from, digest, to, i.local.digests[0])
	if err != nil {
		return m, err
	}
	m.Verdict = jsonview.MigrationPlanIn(plan).Verdict
	m.Proved = m.Verdict == "PROVED"
	for _, run := range runs {
		at := slices.IndexFunc(plan.Stays, func(st migrate.Stay) bool { return st.State == run.GetState() })
		if at >= 0 {
			m.Stay = append(m.Stay, fmt.Sprintf("%s in state %q has no place: %s", run.GetRunId(), run.GetState(), plan.Stays[at].Why))
			continue
		}
		if t.migrate != "all" {
			moved, err := s.movedBefore(ctx, run.GetRunId())
			if err != nil {
				return m, err
			}
			if moved && m.Proved {
				m.Stay = append(m.Stay, run.GetRunId()+" has moved before, so the proof does not speak of it: --migrate all moves it")
			}
			if moved || !m.Proved {
				continue
			}
		}
		m.Movable++
	}
	return m, nil
}

// movedBefore reports that a run has begun in another version of its workflow: no proof speaks of it (S17.2).
func (s *server) movedBefore(ctx context.Context, id string) (bool, error) {
	var version, result int64
	for {
		page, err := s.runs.GetRunHistory(ctx, &enginev1.GetRunHistoryRequest{RunId: id, PageSize: mostEntries, AfterVersion: version, AfterResult: result})
		if err != nil {
			return false, err
		}
		if slices.ContainsFunc(page.GetEntries(), func(e *enginev1.HistoryEntry) bool { return e.GetType() == enginev1.HistoryType_HISTORY_TYPE_MIGRATED }) {
			return true, nil
		}
		if version, result = page.GetNextAfterVersion(), page.GetNextAfterResult(); version == 0 && result == 0 {
			return false, nil
		}
	}
}

// mostEntries is the size of a page of a history.
const mostEntries = 1000

// migration compares two versions of a workflow or process.
func migration(text []byte, number int64, digest string, to *definition.Compiled, toDigest string) (*migrate.Plan, error) {
	from, err := definition.Flags{}.Compile(text, number)
	if err != nil {
		return nil, fmt.Errorf("version %d: %w", number, err)
	}
	if (from.Process == nil) != (to.Process == nil) {
		return nil, errors.New("a workflow cannot become a process, nor a process a workflow: give one of them another name")
	}
	plan := migrate.New(&migrate.Migration{
		From: from.Machine, To: to.Machine, Processes: [2]*process.Process{from.Process, to.Process}, Digests: [2]string{digest, toDigest},
	}, explore.Bounds{MaxStates: mostPairs})
	return &plan, nil
}

// mostPairs bounds the comparison of two versions, as `interlock migrate` does.
const mostPairs = 20_000

// gains returns the new permissions of a plan in words; for a plan without a proof, the reason.
func gains(p *migrate.Plan) (all []string) {
	switch jsonview.MigrationPlanIn(p).Verdict {
	case "PROVED":
		return nil
	case "NOT_PROVED":
		all = append(all, "it is not proved that there are no new permissions: "+p.Reason)
	}
	for i := range p.Gains {
		all = append(all, p.Gains[i].String())
	}
	return all
}

// differences returns how the file differs from the server's text, in words.
func differences(i *item) []string {
	if i.remote.live == 0 {
		return nil
	}
	before, problem := document.Parse(i.remote.text, document.Limits{})
	if problem != nil {
		return []string{"the server's text cannot be read: " + problem.Message}
	}
	if i.Kind == kindWorkflow {
		was, p1 := workflow.ParseValue(before)
		is, p2 := workflow.ParseValue(i.local.value)
		if !p1.HasErrors() && !p2.HasErrors() {
			d := jsonview.WorkflowDiffOf(i.remote.live, 0, jsonview.Definition{Parsed: was, Document: before}, jsonview.Definition{Parsed: is, Document: i.local.value})
			return diff.Describe(&d)
		}
	}
	return patchLines(document.Diff(before, i.local.value))
}

// patchLines returns a patch in words.
func patchLines(patch *document.Patch) (lines []string) {
	var ops []struct {
		Op    string `json:"op"`
		Path  string `json:"path"`
		From  string `json:"from"`
		Value any    `json:"value"`
	}
	if err := json.Unmarshal(patch.AppendJSON(nil), &ops); err != nil {
		return []string{patch.String()}
	}
	for _, op := range ops {
		value, _ := json.Marshal(op.Value)
		switch op.Op {
		case "add":
			lines = append(lines, fmt.Sprintf("+ %s: %s", op.Path, bytes.TrimSpace(value)))
		case "remove":
			lines = append(lines, "- "+op.Path)
		case "replace":
			lines = append(lines, fmt.Sprintf("~ %s: %s", op.Path, bytes.TrimSpace(value)))
		default:
			lines = append(lines, fmt.Sprintf("~ %s: %s from %s", op.Path, op.Op, op.From))
		}
	}
	return lines
}
