package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"net/http"
	"regexp"
	"slices"
	"time"

	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	"github.com/interlock-run/interlock/pkg/sdk"
)

// The calls of sdk/conformance/sdk.yaml, by their names there, as calls of the Go SDK.

// text is a string argument.
func text(args map[string]any, name string) string {
	s, _ := args[name].(string)
	return s
}

func (r *tableRunner) call(ctx context.Context, s tableStep, args map[string]any, ran *int) (any, error) {
	c, end := r.clientOf(s)
	defer end()
	switch s.Call {
	case "load":
		run, err := c.Load(ctx, text(args, "workflow"), sdk.LoadOptions{Context: args["context"], Workspace: text(args, "workspace")}, key(args))
		return r.asRun(run), err
	case "get_run":
		run, err := c.GetRun(ctx)
		return r.asRun(run), err
	case "transition":
		run, err := c.Transition(ctx, text(args, "event"), args["data"], key(args))
		return r.asRun(run), err
	case "guard", "guard_items", "check", "report":
		return r.toolCall(ctx, c, s, args, ran)
	case "wait_approval":
		a, err := c.WaitApproval(ctx, text(args, "approval"))
		return r.canonical(a, map[string]any{"granted": a.Granted()}), err
	case "create_session":
		made, err := c.CreateSession(ctx, sdk.NewSession{Name: text(args, "name"), Parent: text(args, "parent"), Agent: text(args, "agent"), Only: args["only"]})
		return r.canonical(made, nil), err
	case "stop_session":
		inPlace, _ := args["in_place"].(bool)
		stopped, err := c.StopSession(ctx, sdk.StopOptions{InPlace: inPlace, End: args["end"] == true, Result: args["result"]})
		return r.canonical(stopped, nil), err
	case "create_state", "read_state", "patch_state", "update_state", "watch_state":
		return r.state(ctx, c, s.Call, args)
	case "human", "person":
		return r.ask(http.MethodPost, r.base+"/"+s.Call, args), nil
	case "down", "up":
		return r.ask(http.MethodPost, r.base+"/"+s.Call, nil), nil
	case "record", "traffic":
		return r.ask(http.MethodGet, r.base+"/"+s.Call, nil), nil
	case "attempts":
		return r.attempts(text(args, "rpc")), nil
	case "connect", "reconnect":
		return map[string]any{}, r.reconnect(args)
	default:
		return r.control(ctx, c, s.Call, args)
	}
}

// key is the caller's idempotency key.
func key(args map[string]any) sdk.ChangeOption {
	return sdk.IdempotencyKey(text(args, "idempotency_key"))
}

// callOptions are further options of a tool call in a step.
func callOptions(args map[string]any) (opts []sdk.CallOption) {
	for name, option := range map[string]func(string) sdk.CallOption{
		"folder": sdk.InFolder, "qualified_tool": sdk.QualifiedTool, "estimated_cost": sdk.EstimatedCost, "call_id": sdk.CallID,
	} {
		if value := text(args, name); value != "" {
			opts = append(opts, option(value))
		}
	}
	for name, option := range map[string]sdk.CallOption{"explain": sdk.Explain(), "dry_run": sdk.DryRun()} {
		if args[name] == true {
			opts = append(opts, option)
		}
	}
	return opts
}

func (r *tableRunner) toolCall(ctx context.Context, c *sdk.Client, s tableStep, args map[string]any, ran *int) (any, error) {
	switch s.Call {
	case "check":
		d, err := c.Check(ctx, text(args, "tool"), args["input"], callOptions(args)...)
		return r.canonical(d, map[string]any{"explanation": explained(d.Explanation)}), err
	case "report":
		saved, _ := args["call"].(map[string]any)
		d := sdk.Decision{
			Decision: sdk.Verdict(text(saved, "decision")), Tool: text(saved, "tool"), CallID: text(saved, "call_id"),
			RunID: text(saved, "run_id"), SessionID: text(saved, "session_id"), DryRun: saved["dry_run"] == true,
		}
		result, _ := args["result"].(map[string]any)
		ok, _ := args["ok"].(bool)
		report, err := c.Report(ctx, d, toolResult(result), ok)
		return r.canonical(report, nil), err
	case "guard_items":
		return r.guardItems(ctx, c, args, ran)
	}
	running := make(chan struct{})
	if s.Cancel != "" {
		var cancel context.CancelFunc
		ctx, cancel = context.WithCancel(ctx)
		defer cancel()
		go r.cancelDuring(ctx, s.Cancel, running, cancel)
	}
	result, err := c.Guard(ctx, text(args, "tool"), args["input"], func(ctx context.Context) (sdk.Result, error) {
		*ran++
		r.ran.Add(1)
		close(running)
		if s.Cancel == "body" {
			<-ctx.Done()
			return sdk.Result{}, ctx.Err()
		}
		if why := text(args, "throws"); why != "" {
			return sdk.Result{}, errTool{why}
		}
		returns, _ := args["returns"].(map[string]any)
		return toolResult(returns), nil
	}, callOptions(args)...)
	return map[string]any{"output": string(result.Output), "notice": result.Notice, "report": r.canonical(result.Report, nil)}, err
}

// cancelDuring cancels a call once its tool runs, or once an RPC of it hangs.
func (r *tableRunner) cancelDuring(ctx context.Context, when string, running <-chan struct{}, cancel context.CancelFunc) {
	if when == "body" {
		<-running
	} else {
		hangs := func(one any) bool { return one.(map[string]any)["hangs"] == true }
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for !slices.ContainsFunc(r.attempts(when), hangs) {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
		}
	}
	cancel()
}

// attempts are the RPCs of a name that have passed.
func (r *tableRunner) attempts(rpc string) []any {
	out := []any{}
	all, _ := r.ask(http.MethodGet, r.base+"/attempts", nil).([]any)
	for _, one := range all {
		if one.(map[string]any)["rpc"] == rpc {
			out = append(out, one)
		}
	}
	return out
}

func (r *tableRunner) guardItems(ctx context.Context, c *sdk.Client, args map[string]any, ran *int) (any, error) {
	take := -1
	if n, named := args["take"].(json.Number); named {
		count, _ := n.Int64()
		take = int(count)
	}
	seq := sdk.GuardSeq(ctx, c, text(args, "tool"), args["input"], func(context.Context) iter.Seq2[string, error] {
		return func(yield func(string, error) bool) {
			*ran++
			r.ran.Add(1)
			items, _ := args["yields"].([]any)
			for _, one := range items {
				if !yield(one.(string), nil) {
					return
				}
			}
			if why := text(args, "throws"); why != "" {
				yield("", errTool{why})
			}
		}
	}, callOptions(args)...)
	out := []any{}
	if take == 0 {
		return out, nil
	}
	for item, err := range seq {
		if err != nil {
			return out, err
		}
		if out = append(out, item); len(out) == take {
			break
		}
	}
	return out, nil
}

// toolResult is a result in the words of the table.
func toolResult(of map[string]any) sdk.Result {
	result := sdk.Result{
		Output: []byte(text(of, "output")), OutcomeUnknown: of["outcome_unknown"] == true,
		Background: text(of, "background"), BackgroundEnded: text(of, "background_ended"),
	}
	if n, ok := of["bytes"].(json.Number); ok {
		result.Bytes, _ = n.Int64()
	}
	files, _ := of["files_changed"].([]any)
	for _, file := range files {
		result.FilesChanged = append(result.FilesChanged, file.(string))
	}
	return result
}

// explained is an explanation in the words of the table; nil for none.
func explained(e *policyv1.Explanation) any {
	if e == nil {
		return nil
	}
	would := []any{}
	for _, one := range e.GetWouldAllow() {
		would = append(would, one)
	}
	return map[string]any{"would_allow": would}
}

// control makes the calls for people and operators, and those of runs.
func (r *tableRunner) control(ctx context.Context, c *sdk.Client, call string, args map[string]any) (any, error) {
	run := text(args, "run")
	asRun := func(run *sdk.Run, err error) (any, error) { return r.asRun(run), err }
	asApproval := func(a sdk.Approval, err error) (any, error) {
		return r.canonical(a, map[string]any{"granted": a.Granted()}), err
	}
	asDefinition := func(d sdk.Definition, err error) (any, error) { return r.canonical(d, nil), err }
	switch call {
	case "ping":
		pong, err := c.Ping(ctx)
		return r.canonical(pong, nil), err
	case "list_approvals":
		list, err := c.ListApprovals(ctx, sdk.ApprovalFilter{Status: sdk.ApprovalStatus(text(args, "status")), RunID: run})
		return r.canonical(list, nil), err
	case "get_approval":
		return asApproval(c.GetApproval(ctx, text(args, "approval")))
	case "decide_approval":
		return asApproval(c.DecideApproval(ctx, text(args, "approval"), sdk.ApprovalVote{Approve: args["approve"] == true, Note: text(args, "note")}, key(args)))
	case "approval_stats":
		stats, err := c.ApprovalStats(ctx, time.Time{})
		return r.canonical(stats, nil), err
	case "cancel_approval":
		return asApproval(c.CancelApproval(ctx, text(args, "approval"), text(args, "reason")))
	case "wait_run":
		until, _ := args["until"].(map[string]any)
		if until == nil {
			return asRun(c.WaitRun(ctx, run, nil))
		}
		return asRun(c.WaitRun(ctx, run, func(at *sdk.Run) bool { return at.State == text(until, "state") }))
	case "list_runs":
		seconds, _ := args["stale_for"].(json.Number)
		silent, _ := seconds.Int64()
		list, err := c.ListRuns(ctx, sdk.RunFilter{
			Workflow: text(args, "workflow"), Status: sdk.RunStatus(text(args, "status")), StaleFor: time.Duration(silent) * time.Second,
		})
		return r.canonical(list, nil), err
	case "pause_run":
		return asRun(c.PauseRun(ctx, run, text(args, "reason"), key(args)))
	case "resume_run":
		return asRun(c.ResumeRun(ctx, run, key(args)))
	case "cancel_run":
		return asRun(c.CancelRun(ctx, run, text(args, "reason"), key(args)))
	case "get_run_history":
		list, err := c.GetRunHistory(ctx, run)
		return r.canonical(list, nil), err
	case "register_workflow":
		return asDefinition(c.RegisterWorkflow(ctx, args["definition"], key(args)))
	case "register_policy":
		return asDefinition(c.RegisterPolicy(ctx, text(args, "name"), args["definition"], key(args)))
	case "register_schema":
		return asDefinition(c.RegisterSchema(ctx, text(args, "name"), args["definition"], key(args)))
	case "list_decisions":
		list, err := c.ListDecisions(ctx, sdk.DecisionFilter{Decision: sdk.Verdict(text(args, "decision")), Tool: text(args, "tool"), Principal: text(args, "principal")})
		return r.canonical(list, nil), err
	case "explain_decision":
		d, err := c.ExplainDecision(ctx, text(args, "call_id"), run)
		return r.canonical(d, map[string]any{"explanation": explained(d.Explanation)}), err
	case "list_open_calls":
		list, err := c.ListOpenCalls(ctx, run)
		return r.canonical(list, nil), err
	case "settle_call":
		settled, err := c.SettleCall(ctx, run, text(args, "call_id"), sdk.Outcome(text(args, "outcome")), text(args, "note"))
		return r.canonical(settled, nil), err
	case "report_cost":
		var costs []sdk.Cost
		list, _ := args["costs"].([]any)
		for _, one := range list {
			costs = append(costs, sdk.Cost{ID: text(one.(map[string]any), "id"), USD: text(one.(map[string]any), "usd")})
		}
		total, err := c.ReportCost(ctx, text(args, "source"), costs...)
		return map[string]any{"total_usd": total}, err
	default:
		return r.govern(ctx, c, call, args)
	}
}

func (r *tableRunner) state(ctx context.Context, c *sdk.Client, call string, args map[string]any) (any, error) {
	id := text(args, "id")
	switch call {
	case "create_state":
		data := args["data"]
		if source := text(args, "json"); source != "" {
			data = json.RawMessage(source)
		}
		st, err := c.CreateState(ctx, text(args, "schema"), data, key(args))
		return r.canonical(st, nil), err
	case "read_state":
		var pointers []string
		list, _ := args["pointers"].([]any)
		for _, one := range list {
			pointers = append(pointers, one.(string))
		}
		st, err := c.ReadState(ctx, id, pointers...)
		parts := map[string]any{}
		for pointer, part := range st.Parts {
			parts[pointer] = string(part)
		}
		return r.canonical(st, map[string]any{"parts_size": json.Number(fmt.Sprint(len(st.Parts))), "parts_json": parts}), err
	case "patch_state":
		st, err := c.PatchState(ctx, id, sdkOps(args["ops"]), key(args))
		return r.canonical(st, nil), err
	case "update_state":
		st, err := r.update(ctx, c, args)
		return r.canonical(st, nil), err
	default: // watch_state
		after, _ := args["after"].(json.Number).Int64()
		take, _ := args["take"].(json.Number).Int64()
		out := []any{}
		for change, err := range c.WatchState(ctx, id, after) {
			if err != nil {
				return nil, err
			}
			if out = append(out, r.canonical(change, nil)); int64(len(out)) == take {
				break
			}
		}
		return out, nil
	}
}

func (r *tableRunner) update(ctx context.Context, c *sdk.Client, args map[string]any) (sdk.State, error) {
	switch why := text(args, "throws"); {
	case why != "":
		return c.UpdateState(ctx, "", func(json.RawMessage) (json.RawMessage, error) { return nil, errTool{why} })
	case args["patching"] != nil:
		return c.UpdateState(ctx, "", func(doc json.RawMessage) (json.RawMessage, error) {
			// Another session is faster each time.
			if _, err := c.PatchState(ctx, "", sdkOps(args["patching"])); err != nil {
				return nil, err
			}
			return regexp.MustCompile(`"n":\s*\d+`).ReplaceAll(doc, []byte(`"n":1`)), nil
		})
	default:
		return sdk.UpdateStateAs(ctx, c, "", func(w *work) error {
			w.N++
			return nil
		})
	}
}

func sdkOps(list any) (ops sdk.Patch) {
	for _, one := range list.([]any) {
		op := one.(map[string]any)
		path := text(op, "path")
		switch text(op, "op") {
		case "add":
			ops = append(ops, sdk.Add(path, op["value"]))
		case "replace":
			ops = append(ops, sdk.Replace(path, op["value"]))
		case "test":
			ops = append(ops, sdk.Test(path, op["value"]))
		}
	}
	return ops
}
