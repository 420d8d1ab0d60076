// Package report records the results of tool calls.
package report

import (
	"context"
	"errors"
	"fmt"
	"time"

	"google.golang.org/grpc"

	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/client"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/commands/decisions"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/commands/run"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/console"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/input"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/show"
	"github.com/interlock-run/interlock/services/internal/jsonview"
	"github.com/interlock-run/interlock/services/internal/listing"
)

// Command records the result of a tool call.
type Command struct {
	client.Connection
	show.Printer
	run.BranchFlag
	CallID  string   `arg:"" name:"call" help:"Id of the call, as the check returned it; @last for the newest allowed call, or that of --run and --tool."`
	RunID   string   `name:"run" xor:"run" help:"Id of the run, or its beginning; @last for the newest. By default as the log has it." placeholder:"RUN"`
	Session string   `xor:"run" help:"Instead, the session that made the call, by id or name. It need not drive a run." placeholder:"SESSION"`
	Tool    string   `help:"Name of the tool. By default as the log has it." placeholder:"NAME"`
	Failed  bool     `help:"The tool failed; it succeeded by default."`
	Cost    string   `name:"cost-usd" help:"The cost of the call." placeholder:"USD"`
	Bytes   int64    `name:"result-bytes" help:"Size of the result, in bytes. That of --result by default." placeholder:"N"`
	Result  string   `help:"The result of the tool; @FILE reads a file. Kept only where the workflow captures output." placeholder:"TEXT"`
	Files   []string `name:"file" help:"File that the call changed and its input does not name; may be repeated." placeholder:"FILE"`
}

// Run prints the consequences of the result.
func (c *Command) Run(ctx context.Context, io console.Streams) error {
	output, err := input.Text(c.Result, io)
	if err != nil {
		return err
	}
	if c.Bytes == 0 {
		c.Bytes = int64(len(output))
	}
	var view reportView
	err = c.Ask(ctx, io, func(conn grpc.ClientConnInterface) error {
		if err := c.resolve(ctx, conn); err != nil {
			return err
		}
		resp, err := policyv1.NewPolicyEnforcerServiceClient(conn).ReportToolCall(ctx, &policyv1.ReportToolCallRequest{
			RunId: c.RunID, SessionId: c.Session, Branch: c.Branch, CallId: c.CallID, Tool: c.Tool, Ok: !c.Failed,
			FilesChanged: c.Files, ResultBytes: c.Bytes, CostUsd: c.Cost, Output: output,
		})
		view = reportView{
			CallID: c.CallID, Accounted: resp.GetAccounted(), Interrupt: jsonview.InterruptedOf(resp.GetInterrupt()), Warning: resp.GetWarning(),
		}
		if resp.GetRun() != nil {
			view.Run = new(jsonview.RunOf(resp.GetRun()))
		}
		return err
	})
	if err != nil {
		return err
	}
	return c.Print(io.Out, view, view.table)
}

// reportView is the JSON of the consequences of a result.
type reportView struct {
	CallID    string                `json:"call_id"`
	Run       *jsonview.Run         `json:"run,omitzero"`
	Accounted bool                  `json:"accounted"`
	Interrupt *jsonview.Interrupted `json:"interrupt,omitzero"`
	Warning   string                `json:"warning,omitzero"`
}

func (v reportView) table(w *show.Sheet) {
	verb := "reported"
	if !v.Accounted {
		verb = "unaccounted"
	}
	if v.Run == nil {
		fmt.Fprintln(w, verb)
	} else {
		fmt.Fprintf(w, "%s\t%s\t%s\n", verb, show.Text(v.Run.State), w.Word(v.Run.Status))
	}
	if !v.Accounted {
		fmt.Fprintln(w, "No such call was allowed: the report is kept, but has no effect.")
	}
	if v.Interrupt != nil {
		fmt.Fprintln(w, show.Text(v.Interrupt.Notice))
	}
	if v.Warning != "" {
		fmt.Fprintln(w, show.Text(v.Warning))
	}
}

// errFound ends the search of the log.
var errFound = errors.New("found")

// searched is how many of the newest calls are searched for the one that is reported.
const searched = 10_000

// resolve finds omitted flags in the log.
func (c *Command) resolve(ctx context.Context, conn grpc.ClientConnInterface) (err error) {
	if c.RunID, err = client.RunID(ctx, conn, c.RunID); err != nil {
		return err
	}
	if c.CallID != client.Last && c.RunID+c.Session != "" && c.Tool != "" {
		return nil
	}
	terms := []listing.Term{
		{Key: "run_id", Value: c.RunID}, {Key: "session_id", Value: c.Session}, {Key: "tool", Value: c.Tool}, {Key: "decision", Value: "ALLOW"},
	}
	if c.CallID == client.Last {
		newest, err := decisions.Newest(ctx, conn, time.Now(), terms...)
		switch {
		case err != nil:
			return unreadable(err)
		case newest == nil:
			return fmt.Errorf("%s: no call was allowed yet", client.Last)
		}
		c.found(newest)
		return nil
	}
	left := searched
	err = decisions.Each(ctx, conn, &policyv1.ListDecisionsRequest{Filter: listing.Filter(terms...)}, func(r *policyv1.DecisionRecord) error {
		left--
		switch {
		case c.CallID == r.GetCallId():
			c.found(r)
			return errFound
		case left == 0:
			return errFound
		}
		return nil
	})
	switch {
	case errors.Is(err, errFound) && c.Tool != "" && c.RunID+c.Session != "":
		return nil
	case err != nil && !errors.Is(err, errFound):
		return unreadable(err)
	default:
		return console.Misusedf("the newest %d calls of the log have no allowed call %s: give --tool, and --run or --session", searched, c.CallID)
	}
}

// found takes the omitted flags from the record of the call.
func (c *Command) found(r *policyv1.DecisionRecord) {
	c.CallID, c.Tool, c.RunID, c.Session = r.GetCallId(), r.GetTool(), r.GetRunId(), ""
	if c.RunID == "" {
		c.Session = r.GetSessionId()
	}
}

// unreadable explains that the log cannot be read.
func unreadable(err error) error {
	if fault.ReasonOf(err) == fault.PermissionDenied {
		return console.Misusedf("this token may not read the log, where calls are found: give the id, --tool, and --run or --session")
	}
	return err
}
