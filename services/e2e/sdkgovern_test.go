package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	approvalv1 "github.com/interlock-run/interlock/gen/go/interlock/approval/v1"
	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	statev1 "github.com/interlock-run/interlock/gen/go/interlock/state/v1"
	"github.com/interlock-run/interlock/pkg/sdk"
	"github.com/interlock-run/interlock/services/internal/jsonview"
)

// clientOf returns the client that makes a step, and a function that ends it.
func (r *tableRunner) clientOf(s tableStep) (*sdk.Client, func()) {
	c, end := r.client, func() {}
	token, _ := r.fill(s.Token).(string)
	if s.Role != "" {
		token = r.roles[s.Role]
	}
	if token != "" || s.Namespace != "" {
		opts := r.options(token)
		if token == "" {
			opts.Token = r.token
		}
		if s.Namespace != "" {
			opts.Namespace = strings.Replace(s.Namespace, "other", r.other, 1)
		}
		c = must[*sdk.Client](r.t)(sdk.Dial(r.server, opts))
		end = func() { c.Close() }
	}
	other := c
	if human, _ := r.fill(s.For).(string); human != "" {
		other = other.ForHuman(human)
	}
	if s.As != "" {
		other = other.ForSession(s.As)
	}
	return other, end
}

// recorded is the one record of the decision that a step has got, as an operator of the namespace reads it.
func (r *tableRunner) recorded(ctx context.Context, s tableStep, result any) any {
	decided, _ := result.(map[string]any)
	call, run := text(decided, "call_id"), text(decided, "run_id")
	c, end := r.clientOf(tableStep{Role: "operator", As: s.As, Namespace: s.Namespace})
	defer end()
	record, err := c.ExplainDecision(ctx, call, run)
	if err != nil {
		return fmt.Sprintf("the record of call %q: %v", call, err)
	}
	return r.canonical(record, nil)
}

// govern makes the calls that are about who may do what.
func (r *tableRunner) govern(ctx context.Context, c *sdk.Client, call string, args map[string]any) (any, error) {
	id := text(args, "id")
	switch call {
	case "who_am_i":
		me, err := c.WhoAmI(ctx)
		return r.canonical(me, nil), err
	case "get_session":
		s, err := c.GetSession(ctx, id)
		return r.canonical(s, nil), err
	case "delete_session":
		return map[string]any{}, c.DeleteSession(ctx, id, args["cascade"] == true)
	case "narrow_session":
		s, err := c.NarrowSession(ctx, id, args["only"], args["replace"] == true)
		return r.canonical(s, nil), err
	case "mint_session_token":
		t, err := c.MintSessionToken(ctx, id, sdk.NewToken{
			Session: text(args, "session"), Branch: text(args, "branch"), Name: text(args, "name"), TTL: time.Duration(wholeOf(args, "ttl_seconds")) * time.Second, Only: args["only"],
		})
		return r.canonical(t, nil), err
	case "list_session_tokens":
		list, err := c.ListSessionTokens(ctx, id)
		return r.canonical(list, nil), err
	case "revoke_session_tokens":
		list, err := c.RevokeSessionTokens(ctx, id, text(args, "token_id"))
		return r.canonical(list, nil), err
	case "create_agent":
		a, err := c.CreateAgent(ctx, &statev1.AgentSpec{Name: text(args, "name"), ModelRef: "model", Instructions: "Work.", Policy: text(args, "policy")})
		return map[string]any{"name": a.GetSpec().GetName()}, err
	case "delete_agent":
		return map[string]any{}, c.DeleteAgent(ctx, text(args, "name"), 0)
	case "list_refusals":
		list, err := c.ListRefusals(ctx)
		return r.canonical(list, nil), err
	case "approval_statement":
		st, err := c.ApprovalStatement(ctx, text(args, "approval"), sdk.ApprovalVote{Approve: args["approve"] == true, Note: text(args, "note")})
		return statementWords(st), err
	default:
		return r.rules(ctx, c, call, args)
	}
}

func statementWords(st *approvalv1.GetApprovalStatementResponse) any {
	return map[string]any{"shown": st.GetShown(), "presence": st.GetPresence(), "statement": string(st.GetStatement())}
}

// rules makes the calls about policies, exceptions and halts.
func (r *tableRunner) rules(ctx context.Context, c *sdk.Client, call string, args map[string]any) (any, error) {
	scope, _ := args["scope"].(map[string]any)
	switch call {
	case "attach_policy":
		return map[string]any{}, c.AttachPolicy(ctx, text(args, "name"), attachments(args["to"])...)
	case "detach_policy":
		return map[string]any{}, c.DetachPolicy(ctx, text(args, "name"), attachments(args["from"])...)
	case "policy_usage":
		usages, err := c.PolicyUsage(ctx, text(args, "name"), sdk.UsageOf{Principal: text(args, "principal"), Human: text(args, "human")})
		out := []any{}
		for _, u := range usages {
			out = append(out, map[string]any{"used": json.Number(fmt.Sprint(u.GetUsed())), "max": json.Number(fmt.Sprint(u.GetMax())), "subject": u.GetSubject()})
		}
		return out, err
	case "add_exception":
		e, err := c.AddException(ctx, sdk.NewException{
			Policy: text(args, "policy"), Rule: text(args, "rule"), Reason: text(args, "reason"), Until: time.Now().Add(time.Duration(wholeOf(args, "minutes")) * time.Minute),
			Scope: sdk.ExceptionScope{
				Principal: text(scope, "principal"), Human: text(scope, "human"), Group: text(scope, "group"), Session: text(scope, "session"), When: scope["when"],
			},
		})
		return r.canonical(e, nil), err
	case "list_exceptions":
		list, err := c.ListExceptions(ctx, text(args, "policy"))
		return r.canonical(list, nil), err
	case "confirm_exception":
		e, err := c.ConfirmException(ctx, text(args, "exception"))
		return r.canonical(e, nil), err
	case "end_exception":
		return map[string]any{}, c.EndException(ctx, text(args, "exception"))
	case "create_halt":
		h, err := c.CreateHalt(ctx, sdk.HaltScope{Kind: text(args, "kind"), Name: text(args, "name")}, text(args, "reason"))
		return r.canonical(h, nil), err
	case "lift_halt":
		h, err := c.LiftHalt(ctx, text(args, "halt"), text(args, "reason"))
		return r.canonical(h, nil), err
	case "create_freeze":
		f, err := c.CreateFreeze(ctx, text(args, "workflow"), time.Now().Add(time.Duration(wholeOf(args, "minutes"))*time.Minute), text(args, "reason"))
		return r.canonical(f, nil), err
	case "lift_freeze":
		f, err := c.LiftFreeze(ctx, text(args, "freeze"), text(args, "reason"))
		return r.canonical(f, nil), err
	case "list_freezes":
		list, err := c.ListFreezes(ctx)
		return r.canonical(list, nil), err
	case "list_halts":
		list, err := c.ListHalts(ctx)
		return r.canonical(list, nil), err
	default:
		return r.scheduled(ctx, c, call, args)
	}
}

// scheduled makes the calls about schedules.
func (r *tableRunner) scheduled(ctx context.Context, c *sdk.Client, call string, args map[string]any) (any, error) {
	name := text(args, "name")
	spec := &enginev1.ScheduleSpec{Name: name, Workflow: text(args, "workflow"), Cron: text(args, "cron"), Zone: text(args, "zone")}
	spec.Missed, spec.Overlap = jsonview.ScheduleRules(text(args, "missed"), text(args, "overlap"))
	one := func(s *enginev1.Schedule, err error) (any, error) { return scheduleWords(s), err }
	switch call {
	case "create_schedule":
		return one(c.CreateSchedule(ctx, spec, args["paused"] == true))
	case "get_schedule":
		return one(c.GetSchedule(ctx, name, wholeOf(args, "version")))
	case "update_schedule":
		return one(c.UpdateSchedule(ctx, spec, wholeOf(args, "expected_version")))
	case "pause_schedule":
		return one(c.PauseSchedule(ctx, name))
	case "resume_schedule":
		return one(c.ResumeSchedule(ctx, name))
	case "list_schedules":
		out := []any{}
		list, err := c.ListSchedules(ctx)
		for _, s := range list {
			out = append(out, scheduleWords(s))
		}
		return out, err
	case "trigger_schedule":
		run, session, err := c.TriggerSchedule(ctx, name, key(args))
		return map[string]any{"run_id": run, "session_id": session}, err
	case "schedule_times":
		list, err := c.ScheduleTimes(ctx, name, int(wholeOf(args, "count")))
		return r.canonical(list, nil), err
	case "delete_schedule":
		return map[string]any{}, c.DeleteSchedule(ctx, name, wholeOf(args, "expected_version"))
	default:
		return nil, fmt.Errorf("no call %s", call)
	}
}

// wholeOf returns a member that is a number; 0 without it.
func wholeOf(args map[string]any, name string) int64 {
	written, _ := args[name].(json.Number)
	n, _ := written.Int64()
	return n
}

func scheduleWords(s *enginev1.Schedule) any {
	seen := jsonview.ScheduleOf(s)
	last := map[string]any{}
	if seen.Last != nil {
		last = map[string]any{"result": seen.Last.Result, "run_id": seen.Last.RunID}
	}
	return map[string]any{
		"last": last,
		"spec": map[string]any{
			"name": seen.Name, "workflow": seen.Workflow, "cron": seen.Cron, "zone": seen.Zone, "missed": seen.Missed, "overlap": seen.Overlap,
		},
		"version": json.Number(fmt.Sprint(seen.Version)), "status": seen.Status, "created_by": seen.CreatedBy, "last_run_id": seen.LastRunID,
		"counts": map[string]any{"started": json.Number(fmt.Sprint(seen.Counts.Started))},
	}
}

func attachments(list any) (out []*sdk.Attachment) {
	places, _ := list.([]any)
	for _, one := range places {
		place := one.(map[string]any)
		out = append(out, sdk.AttachTo(text(place, "kind"), text(place, "id")))
	}
	return out
}

// Each category of the table of governance has cases, of which some are refused and some name who it was.
func TestGovernanceHasAllCategories(t *testing.T) {
	t.Parallel()
	cases, refused, named := map[string]int{}, map[string]int{}, map[string]int{}
	for _, c := range readTable(t, "governance").Cases {
		cases[c.Category]++
		for _, s := range c.Steps {
			if s.Recorded != nil {
				named[c.Category]++
			}
			if s.Expect != nil && (s.Expect.Error != nil || strings.Contains(fmt.Sprint(s.Expect.Result), "DENY")) {
				refused[c.Category]++
			}
		}
	}
	want := []string{"audit", "delegation", "fail mode", "halt", "identity", "limits over a tree", "narrowing", "per-user policy", "tenants"}
	for _, category := range want {
		if cases[category] < 5 || refused[category] < 3 || named[category] < 1 {
			t.Errorf("category %q has %d cases, %d refusals and %d records", category, cases[category], refused[category], named[category])
		}
		delete(cases, category)
	}
	for category := range cases {
		t.Errorf("%q is no category: %q", category, want)
	}
}
