package owntools

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	statev1 "github.com/interlock-run/interlock/gen/go/interlock/state/v1"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/services/gateway/internal/mcp/arguments"
	"github.com/interlock-run/interlock/services/gateway/internal/mcp/caller"
	"github.com/interlock-run/interlock/services/gateway/internal/mcp/reply"
	"github.com/interlock-run/interlock/services/internal/jsonview"
)

// sharedView is a shared state as its tools answer it: the document as it is
// written, numbers to the last digit.
type sharedView struct {
	StateID string          `json:"state_id"`
	Version int64           `json:"version"`
	Data    jsontext.Value  `json:"data,omitzero"`
	Parts   []jsonview.Part `json:"parts,omitzero"`
	Lock    *jsonview.Lock  `json:"lock,omitzero"`
}

func viewShared(st *statev1.State) sharedView {
	v := jsonview.StateOf(st)
	return sharedView{StateID: v.StateID, Version: v.Version, Data: v.CurrentData, Lock: v.Lock}
}

func (t *sharedTools) stateCreate(ctx context.Context, c caller.Caller, args arguments.Values) *sdk.CallToolResult {
	if c.StateID != "" {
		return reply.Refusal{Code: string(fault.FailedPrecondition), StateID: c.StateID, Message: fmt.Sprintf(
			"This connection works on the state %s, which its header %s (or WORKFLOW_STATE_ID) names, so it cannot create one. "+
				"Read that one with %sstate_read.", c.StateID, caller.StateHeader, t.cfg.StatePrefix)}.Result()
	}
	req := &statev1.CreateStateRequest{
		SchemaName: args.Text("schema_name"), SchemaVersion: args.Integer("schema_version"), Data: args.JSON("initial_data"),
		Session: c.SessionID, IdempotencyKey: newCallID(),
	}
	res, err := t.cfg.States.CreateState(ctx, req)
	if err != nil {
		r := adviseUnquoting(t.refuseState(err, "Not created"), req.GetData())
		if reply.IsNotFound(err) {
			r.Next = t.schemasText(ctx)
		}
		return r.Result()
	}
	st := res.GetState()
	return reply.Answer(fmt.Sprintf("Created the state %s of schema %s version %d, at version %d. Sessions that are started below this one from now on share it.",
		st.GetStateId(), st.GetSchemaName(), st.GetSchemaVersion(), st.GetVersion()), viewShared(st))
}

// schemasText names the schemas that a state can conform to.
func (t *sharedTools) schemasText(ctx context.Context) string {
	const most = 50
	res, err := t.cfg.Schemas.ListSchemas(ctx, &statev1.ListSchemasRequest{PageSize: most})
	switch {
	case err != nil:
		return "Ask an operator for the name of the schema."
	case len(res.GetSchemas()) == 0:
		return "No schema is registered: an operator can register one."
	}
	var names []string
	for _, schema := range res.GetSchemas() {
		names = append(names, fmt.Sprintf("%s (version %d)", schema.GetName(), schema.GetVersion()))
	}
	if res.GetNextPageToken() != "" {
		names = append(names, "...")
	}
	return "Registered schemas: " + strings.Join(names, ", ") + "."
}

func (t *sharedTools) stateRead(ctx context.Context, c caller.Caller, args arguments.Values) *sdk.CallToolResult {
	res, err := t.cfg.States.GetState(ctx, &statev1.GetStateRequest{
		StateId: c.StateID, Session: c.SessionID, Pointers: args.Texts("pointers"), Version: args.Integer("version"),
	})
	if err != nil {
		return t.refuseShared(ctx, c, err, "Not read").Result()
	}
	st := res.GetState()
	view := viewShared(st)
	lines := []string{fmt.Sprintf("State %s of schema %s version %d is at version %d.", st.GetStateId(), st.GetSchemaName(), st.GetSchemaVersion(), st.GetVersion())}
	if asked := args.Integer("version"); asked > 0 {
		lines[0] = fmt.Sprintf("State %s of schema %s version %d, as it was at version %d:", st.GetStateId(), st.GetSchemaName(), st.GetSchemaVersion(), st.GetVersion())
	}
	if view.Lock != nil {
		lines = append(lines, fmt.Sprintf("It is locked by %q until %s: changes are refused until then.", view.Lock.Holder, view.Lock.ExpiresAt.UTC().Format(time.RFC3339)))
	}
	if warning := st.GetWarning(); warning != "" {
		lines = append(lines, "Warning: "+warning+".")
	}
	for _, part := range res.GetParts() {
		view.Parts = append(view.Parts, jsonview.PartOf(part))
		lines = append(lines, partText(part))
	}
	if len(res.GetParts()) == 0 {
		lines = append(lines, string(st.GetData()))
	}
	return reply.Answer(strings.Join(lines, "\n"), view)
}

func partText(part *statev1.Part) string {
	name := cmp.Or(part.GetPointer(), "(all)")
	if !part.GetFound() {
		return name + ": there is no value here."
	}
	return name + ": " + string(part.GetValue())
}

func (t *sharedTools) stateUpdate(ctx context.Context, c caller.Caller, args arguments.Values) *sdk.CallToolResult {
	change := &statev1.UpdateStateRequest_Data{Data: args.JSON("data")}
	return t.changeShared(ctx, c, args, "Replaced", &statev1.UpdateStateRequest{Change: change})
}

func (t *sharedTools) statePatch(ctx context.Context, c caller.Caller, args arguments.Values) *sdk.CallToolResult {
	change := &statev1.UpdateStateRequest_Patch{Patch: args.JSON("operations")}
	return t.changeShared(ctx, c, args, "Patched", &statev1.UpdateStateRequest{Change: change})
}

// changeShared makes a change as the caller's session.
func (t *sharedTools) changeShared(ctx context.Context, c caller.Caller, args arguments.Values, done string, req *statev1.UpdateStateRequest) *sdk.CallToolResult {
	req.StateId, req.Session, req.IdempotencyKey = c.StateID, c.SessionID, newCallID()
	req.ExpectedVersion, req.WithData = args.Integer("expected_version"), true
	res, err := t.cfg.States.UpdateState(ctx, req)
	if err != nil {
		return adviseUnquoting(t.refuseShared(ctx, c, err, "Not changed"), req.GetData()).Result()
	}
	st := res.GetState()
	text := fmt.Sprintf("%s: the state %s is at version %d now.", done, st.GetStateId(), st.GetVersion())
	if warning := st.GetWarning(); warning != "" {
		text += " Warning: " + warning + "."
	}
	return reply.Answer(text, viewShared(st))
}

func (t *sharedTools) stateSchema(ctx context.Context, c caller.Caller, _ arguments.Values) *sdk.CallToolResult {
	res, err := t.cfg.States.GetState(ctx, &statev1.GetStateRequest{StateId: c.StateID, Session: c.SessionID})
	if err != nil {
		return t.refuseShared(ctx, c, err, "Not read").Result()
	}
	st := res.GetState()
	found, err := t.cfg.Schemas.GetSchema(ctx, &statev1.GetSchemaRequest{Name: st.GetSchemaName(), Version: st.GetSchemaVersion()})
	if err != nil {
		return reply.Fault(err, "Not read").Result()
	}
	schema := jsonview.SchemaOf(found.GetSchema())
	lines := []string{fmt.Sprintf("Schema %s version %d, of the state %s, which is at version %d:", schema.Name, schema.Version, st.GetStateId(), st.GetVersion())}
	if schema.Description != "" {
		lines = append(lines, schema.Description)
	}
	return reply.Answer(strings.Join(append(lines, string(schema.JSONSchema)), "\n"), map[string]any{
		"schema_name": schema.Name, "schema_version": schema.Version, "json_schema": schema.JSONSchema,
		"state_id": st.GetStateId(), "version": st.GetVersion(),
	})
}

// refuseState makes a refusal of the state-store's error, with the advice for the agent.
func (t *sharedTools) refuseState(err error, lead string) *reply.Refusal {
	r := reply.Fault(err, lead)
	f := fault.From(err)
	r.StateID = f.Metadata["state_id"]
	r.CurrentVersion, _ = strconv.ParseInt(f.Metadata["current_version"], 10, 64) // 0 when it is not given
	read, schema := t.cfg.StatePrefix+"state_read", t.cfg.StatePrefix+"state_schema"
	switch f.Reason {
	case fault.VersionConflict:
		r.Next = "Read it with " + read + " and decide again"
		if r.CurrentVersion > 0 {
			r.Next += fmt.Sprintf(", with expected_version %d", r.CurrentVersion)
		}
		r.Next += "."
	case fault.SchemaViolation:
		r.Next = "Correct the problems above and try again."
		if r.CurrentVersion > 0 {
			r.Next += " " + schema + " shows the schema, " + read + " the state."
		}
	case fault.NotAWriter:
		r.Next = "Leave that out, or let a writer of the list write it; " + schema + " shows the schema."
	case fault.PatchFailed:
		r.Next = "Read it with " + read + ", then patch again."
	case fault.Locked:
		r.LockedBy, r.LockedUntil = f.Metadata["holder"], f.Metadata["until"]
		r.Next = "In the meantime " + read + " still reads it."
	case fault.SessionEnded:
		r.Next = "The session or program that started this session can resume it."
	case fault.DeadlineExceeded, fault.CommitUncertain:
		r.Next = "It may or may not have been done: look with " + read + " before trying again."
	case fault.FailedPrecondition:
		if r.StateID != "" {
			r.Next = "Read it with " + read + "."
		}
	default:
	}
	return r
}

// refuseShared does the work of refuseState for a session that is to have a state, which
// it may not have.
func (t *sharedTools) refuseShared(ctx context.Context, c caller.Caller, err error, lead string) *reply.Refusal {
	r := t.refuseState(err, lead)
	switch fault.ReasonOf(err) {
	case fault.NotFound, fault.PermissionDenied:
		t.explain(ctx, c, r)
	default:
	}
	return r
}

// explain adds why a session has no state to work on, where it has none.
func (t *sharedTools) explain(ctx context.Context, c caller.Caller, r *reply.Refusal) {
	res, err := t.cfg.Sessions.GetSession(ctx, &statev1.GetSessionRequest{SessionId: c.SessionID})
	known := res.GetSession()
	create := t.cfg.StatePrefix + "state_create(schema_name=..., initial_data=...)"
	switch {
	case reply.IsNotFound(err):
		r.Code = reply.CodeNoSession
		r.Message = fmt.Sprintf("There is no session %q, so it shares no workflow state.", c.SessionID)
		r.Next = "If no other session started you, " + create + " makes it the root of a tree of sessions. " +
			"Otherwise ask your parent for the name of your session. " + nameSession
	case err != nil: // the refusal suffices
	case c.StateID != "":
		r.StateID = c.StateID
		r.Next = fmt.Sprintf("The header %s (or WORKFLOW_STATE_ID) names this state. Leave it out to work on the state of your own session.", caller.StateHeader)
	case known.GetWorkflowStateId() != "":
	case known.GetParentSessionId() == "":
		r.Code, r.Message = reply.CodeNoState, fmt.Sprintf("The session %q has created no workflow state yet.", c.SessionID)
		r.Next = "Create it with " + create + "."
	default:
		r.Code = reply.CodeNoState
		r.Message = fmt.Sprintf("The session %q shares no workflow state: its parent %q had none when it started this session.", c.SessionID, known.GetParentSessionName())
		r.Next = "The root of its tree creates the state, and sessions that are started afterwards share it. Inform your parent."
	}
}

// adviseUnquoting adds the likely mend where a string was given in the place of a document.
func adviseUnquoting(r *reply.Refusal, given []byte) *reply.Refusal {
	if fault.Reason(r.Code) == fault.SchemaViolation && bytes.HasPrefix(given, []byte(`"`)) {
		r.Next = "The document was given as a string: give the JSON itself. " + r.Next
	}
	return r
}
