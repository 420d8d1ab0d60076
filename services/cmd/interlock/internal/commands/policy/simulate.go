package policy

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/go-json-experiment/json"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/timestamppb"

	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/facet"
	"github.com/interlock-run/interlock/pkg/rules"
	"github.com/interlock-run/interlock/pkg/session"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/client"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/commands/decisions"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/console"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/input"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/show"
	"github.com/interlock-run/interlock/services/internal/jsonview"
)

type simulateCommand struct {
	client.Connection
	show.Printer
	File      string `arg:"" help:"The policy to try, JSON or YAML by its name." placeholder:"FILE"`
	Decisions string `xor:"calls" required:"" help:"Recorded calls, as \"interlock decisions -o jsonl\" writes them; no server is asked. - is standard input." placeholder:"FILE"`
	Since     string `xor:"calls" required:"" help:"The calls of the server's log since then: 24h, or 2026-01-31T08:00:00Z." placeholder:"TIME"`
	RunID     string `name:"run" help:"Only calls of this run." placeholder:"RUN"`
	Name      string `help:"The policy that it is tried in the place of; the name in the file by default, every policy when that has none." placeholder:"NAME"`
}

// simulation is the JSON of a replay.
type simulation struct {
	Replayed int64 `json:"replayed"`
	// Changes are the calls that would be decided otherwise; not all of them when
	// Truncated.
	Changes   []jsonview.SimulatedChange `json:"changes"`
	Truncated bool                       `json:"truncated"`
	// Undecided calls were not replayed: the log does not have the values that the candidate looks at.
	Undecided int64 `json:"undecided"`
}

func (c *simulateCommand) Run(ctx context.Context, streams console.Streams) error {
	candidate, err := c.candidate(streams)
	if err != nil {
		return err
	}
	view := &simulation{Changes: []jsonview.SimulatedChange{}}
	if c.Decisions != "" {
		err = c.replay(candidate, view, streams)
	} else {
		err = c.askServer(ctx, candidate, view, streams)
	}
	if err != nil {
		return err
	}
	return c.Print(streams.Out, view, view.table)
}

// candidate returns the policy, with the name that it is tried under.
func (c *simulateCommand) candidate(streams console.Streams) (document.Value, error) {
	source, err := input.Document(c.File, streams)
	if err != nil {
		return document.Value{}, err
	}
	v, _ := document.Parse(source.JSON, input.Limits)
	if _, problems := rules.ParsePolicyValue(v); problems.HasErrors() {
		return v, source.Refuse(problems, streams)
	}
	if c.Name != "" {
		v = document.MergeTop(v, document.ObjectValue([]document.Member{{Name: "name", Value: document.StringValue(c.Name)}}))
	}
	return v, nil
}

func (c *simulateCommand) askServer(
	ctx context.Context, candidate document.Value, view *simulation, streams console.Streams,
) error {
	since, err := decisions.Since(c.Since, time.Now())
	if err != nil {
		return fmt.Errorf("--since %w", err)
	}
	return c.Ask(ctx, streams, func(conn grpc.ClientConnInterface) error {
		run, err := client.RunID(ctx, conn, c.RunID)
		if err != nil {
			return err
		}
		resp, err := policyv1.NewPolicyServiceClient(conn).SimulatePolicy(ctx, &policyv1.SimulatePolicyRequest{
			Definition: candidate.AppendJSON(nil), Since: timestamppb.New(since), RunId: run,
		})
		if err != nil {
			return client.InvalidFile(input.Source{Name: c.File}, "", err, streams)
		}
		view.Replayed, view.Truncated, view.Undecided = resp.GetReplayed(), resp.GetTruncated(), resp.GetUndecided()
		for _, change := range resp.GetChanges() {
			view.Changes = append(view.Changes, jsonview.SimulatedChangeOf(change))
		}
		return nil
	})
}

// replay decides recorded calls anew, in memory.
func (c *simulateCommand) replay(candidate document.Value, view *simulation, streams console.Streams) error {
	records, err := c.records(streams)
	if err != nil {
		return err
	}
	policy, _ := rules.ParsePolicyValue(candidate)
	calls := make([]rules.Recorded, len(records))
	for i := range records {
		if calls[i], err = recordedCall(&records[i]); err != nil {
			return err
		}
	}
	set := rules.Compile(policy, 0)
	for i := range records {
		r := &records[i]
		subject := facet.Subject{
			Tool: r.Tool, Shell: calls[i].Shell, Input: r.Input, Tools: policy.Tools, CallerName: r.Principal, RunState: r.State, RunWorkflow: r.Workflow,
		}
		calls[i].Human = knowWho(&subject, r)
		calls[i].Facts = facet.OfRecord(subject)
	}
	for r := range rules.Simulate(set, calls) {
		if r.Unknown {
			view.Undecided++
			continue
		}
		view.Replayed++
		if r.Changed {
			view.Changes = append(view.Changes, jsonview.SimulatedChange{
				Recorded: records[r.Index], Decision: string(r.Decision), Code: string(r.Code), Message: explained(&r.Combined),
			})
		}
	}
	return nil
}

// knowWho adds the caller and the human of a record, and returns the account of the human; empty where the record does not have
// one that an issuer or an operator vouches for.
func knowWho(subject *facet.Subject, r *jsonview.DecisionRecord) string {
	id := r.Identity
	if id == nil {
		return ""
	}
	subject.CallerRole, subject.CallerToken, subject.CallerVia, subject.Agent, subject.AgentVersion = id.Role, id.Token, id.Via, id.Agent, id.AgentVersion
	h := id.Human
	if h == nil || !auth.Source(h.Source).AtLeast(auth.Issuer) || !h.Expires.IsZero() && !r.Time.Before(h.Expires) {
		return ""
	}
	subject.Human = &facet.Human{Name: h.Name, Issuer: h.Issuer, Source: h.Source, Age: -1}
	return rules.HumanAccount(session.Alike(h.Name), h.Issuer)
}

// explained describes why a call is decided as it is, also when it is allowed.
func explained(c *rules.Combined) string {
	if text := c.Message(); text != "" || len(c.Policies) == 0 {
		return text
	}
	return c.Policies[0].Explain()
}

// records reads the recorded calls: one JSON object a line, or a list of them.
func (c *simulateCommand) records(streams console.Streams) ([]jsonview.DecisionRecord, error) {
	in := io.Reader(streams.In)
	if c.Decisions != "-" {
		file, err := os.Open(c.Decisions)
		if err != nil {
			return nil, err
		}
		defer file.Close()
		in = file
	}
	var all []jsonview.DecisionRecord
	err := eachRecord(bufio.NewReader(in), func(r jsonview.DecisionRecord) {
		if c.RunID == "" || r.RunID == c.RunID {
			all = append(all, r)
		}
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w; export it with `interlock decisions -o jsonl`", c.Decisions, err)
	}
	// An export has the newest first. Calls are replayed in the order of their time, and
	// those of one moment in the order that they are given in.
	slices.SortStableFunc(all, func(a, b jsonview.DecisionRecord) int { return cmp.Compare(a.Sequence, b.Sequence) })
	return all, nil
}

func eachRecord(in *bufio.Reader, take func(jsonview.DecisionRecord)) error {
	for line := 1; ; line++ {
		text, err := in.ReadBytes('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		last := err != nil
		if trimmed := bytes.TrimSpace(text); line == 1 && bytes.HasPrefix(trimmed, []byte("[")) {
			return eachOfList(io.MultiReader(bytes.NewReader(text), in), take)
		} else if len(trimmed) > 0 {
			var r jsonview.DecisionRecord
			if err := json.Unmarshal(trimmed, &r); err != nil {
				return fmt.Errorf("line %d is not a decision: %w", line, err)
			}
			if !complete(&r) {
				return fmt.Errorf("line %d is not a decision", line)
			}
			take(r)
		}
		if last {
			return nil
		}
	}
}

func eachOfList(in io.Reader, take func(jsonview.DecisionRecord)) error {
	var all []jsonview.DecisionRecord
	if err := json.UnmarshalRead(in, &all); err != nil {
		return fmt.Errorf("it is not a list of decisions: %w", err)
	}
	for i, r := range all {
		if !complete(&r) {
			return fmt.Errorf("element %d of it is not a decision", i)
		}
		take(r)
	}
	return nil
}

// complete reports a record that has the required fields.
func complete(r *jsonview.DecisionRecord) bool {
	return r.Tool != "" && !r.Time.IsZero() && slices.Contains(jsonview.Decisions(), r.Decision)
}

// recordedCall returns a record as it is replayed. A run without a session has the limits
// of sessions for itself.
func recordedCall(r *jsonview.DecisionRecord) (rules.Recorded, error) {
	call := rules.Call{
		Tool: r.Tool, Shell: r.Capability == rules.Shell, Input: r.Input, Principal: r.Principal, Session: r.SessionID,
		Approved: r.Decision == string(toolcall.Allow) && r.ApprovalID != "", Now: r.Time,
	}
	if !toolcall.Own(r.Tool) {
		call.Capability = r.Capability
	}
	if call.Session == "" {
		call.Session = r.Partition
	}
	if r.EstimatedCostUSD != "" {
		cost, ok := rules.ParseCost(r.EstimatedCostUSD)
		if !ok {
			return rules.Recorded{}, fmt.Errorf("decision %d of %s: %q is not an amount in US dollars",
				r.Sequence, r.Partition, r.EstimatedCostUSD)
		}
		call.EstimatedCost = cost
	}
	return rules.Recorded{
		Call: call, Decision: toolcall.Decision(r.Decision), Code: toolcall.Code(r.Code), Policy: r.Policy,
	}, nil
}

func (v *simulation) table(w *show.Sheet) {
	if len(v.Changes) > 0 {
		fmt.Fprintln(w, "TIME\tRUN\tTOOL\tWAS\tWOULD BE\tWHY")
	}
	for i := range v.Changes {
		c := &v.Changes[i]
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n",
			w.Time(c.Recorded.Time), show.Text(c.Recorded.RunID), show.Text(c.Recorded.Tool),
			decisions.Text(c.Recorded.Decision, c.Recorded.Code), decisions.Text(c.Decision, c.Code), show.Text(c.Message))
	}
	more := ""
	if v.Truncated {
		more = ", and more: give --run or a later --since to see them all"
	}
	fmt.Fprintf(w, "%s replayed: %d would be decided otherwise%s\n",
		show.Counted(int(v.Replayed), "call"), len(v.Changes), more)
	if v.Undecided > 0 {
		fmt.Fprintf(w, "%s not replayed: the log does not have the values that the policy looks at; meta.capture_output of the workflow, or --log-inputs all, keeps the input\n",
			show.Counted(int(v.Undecided), "call"))
	}
}
