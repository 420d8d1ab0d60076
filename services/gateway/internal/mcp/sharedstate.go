package mcp

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	statev1 "github.com/interlock-run/interlock/gen/go/interlock/state/v1"
	"github.com/interlock-run/interlock/pkg/fault"
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

func (s *Server) stateCreate(ctx context.Context, c caller, args arguments) *sdk.CallToolResult {
	if c.StateID != "" {
		return refusal{Code: string(fault.FailedPrecondition), StateID: c.StateID, Message: fmt.Sprintf(
			"This connection works on the state %s, which its header %s (or WORKFLOW_STATE_ID) names, so it creates none. "+
				"Read that one with %sstate_read.", c.StateID, StateHeader, s.cfg.ToolPrefix)}.result()
	}
	key, err := mint()
	if err != nil {
		return refuseFault(err, "").result()
	}
	req := &statev1.CreateStateRequest{
		SchemaName: args.str("schema_name"), SchemaVersion: args.integer("schema_version"), Data: args.json("initial_data"),
		Session: c.SessionID, IdempotencyKey: key,
	}
	res, err := s.cfg.States.CreateState(ctx, req)
	if err != nil {
		r := s.refuseState(err, "Not created").quoted(req.GetData())
		if isNotFound(err) {
			r.next = s.schemasText(ctx)
		}
		return r.result()
	}
	st := res.GetState()
	return answer(fmt.Sprintf("Created the state %s of schema %s version %d, at version %d. Sessions that are started below this one from now on share it.",
		st.GetStateId(), st.GetSchemaName(), st.GetSchemaVersion(), st.GetVersion()), viewShared(st))
}

// schemasText names the schemas that a state can conform to.
func (s *Server) schemasText(ctx context.Context) string {
	const most = 50
	res, err := s.cfg.Schemas.ListSchemas(ctx, &statev1.ListSchemasRequest{PageSize: most})
	switch {
	case err != nil:
		return "Ask an operator for the name of the schema."
	case len(res.GetSchemas()) == 0:
		return "No schema is registered: an operator registers one with `interlock schema register`."
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

func (s *Server) stateRead(ctx context.Context, c caller, args arguments) *sdk.CallToolResult {
	res, err := s.cfg.States.GetState(ctx, &statev1.GetStateRequest{
		StateId: c.StateID, Session: c.SessionID, Pointers: args.texts("pointers"), Version: args.integer("version"),
	})
	if err != nil {
		return s.refuseShared(ctx, c, err, "Not read").result()
	}
	st := res.GetState()
	view := viewShared(st)
	lines := []string{fmt.Sprintf("State %s of schema %s version %d is at version %d.", st.GetStateId(), st.GetSchemaName(), st.GetSchemaVersion(), st.GetVersion())}
	if asked := args.integer("version"); asked > 0 {
		lines[0] = fmt.Sprintf("State %s of schema %s version %d, as it was at version %d:", st.GetStateId(), st.GetSchemaName(), st.GetSchemaVersion(), st.GetVersion())
	}
	if view.Lock != nil {
		lines = append(lines, fmt.Sprintf("It is locked by %q until %s: changes are refused until then.", view.Lock.Holder, view.Lock.ExpiresAt.UTC().Format(time.RFC3339)))
	}
	for _, part := range res.GetParts() {
		view.Parts = append(view.Parts, jsonview.PartOf(part))
		lines = append(lines, partText(part))
	}
	if len(res.GetParts()) == 0 {
		lines = append(lines, string(st.GetData()))
	}
	return answer(strings.Join(lines, "\n"), view)
}

func partText(part *statev1.Part) string {
	name := part.GetPointer()
	if name == "" {
		name = "(all)"
	}
	if !part.GetFound() {
		return name + ": there is nothing here."
	}
	return name + ": " + string(part.GetValue())
}

func (s *Server) stateUpdate(ctx context.Context, c caller, args arguments) *sdk.CallToolResult {
	change := &statev1.UpdateStateRequest_Data{Data: args.json("data")}
	return s.changeShared(ctx, c, args, "Replaced", &statev1.UpdateStateRequest{Change: change})
}

func (s *Server) statePatch(ctx context.Context, c caller, args arguments) *sdk.CallToolResult {
	change := &statev1.UpdateStateRequest_Patch{Patch: args.json("operations")}
	return s.changeShared(ctx, c, args, "Patched", &statev1.UpdateStateRequest{Change: change})
}

// changeShared makes a change as the caller's session.
func (s *Server) changeShared(ctx context.Context, c caller, args arguments, done string, req *statev1.UpdateStateRequest) *sdk.CallToolResult {
	key, err := mint()
	if err != nil {
		return refuseFault(err, "").result()
	}
	req.StateId, req.Session, req.IdempotencyKey = c.StateID, c.SessionID, key
	req.ExpectedVersion, req.WithData = args.integer("expected_version"), true
	res, err := s.cfg.States.UpdateState(ctx, req)
	if err != nil {
		return s.refuseShared(ctx, c, err, "Not changed").quoted(req.GetData()).result()
	}
	st := res.GetState()
	return answer(fmt.Sprintf("%s: the state %s is at version %d now.", done, st.GetStateId(), st.GetVersion()), viewShared(st))
}

func (s *Server) stateSchema(ctx context.Context, c caller, _ arguments) *sdk.CallToolResult {
	res, err := s.cfg.States.GetState(ctx, &statev1.GetStateRequest{StateId: c.StateID, Session: c.SessionID})
	if err != nil {
		return s.refuseShared(ctx, c, err, "Not read").result()
	}
	st := res.GetState()
	found, err := s.cfg.Schemas.GetSchema(ctx, &statev1.GetSchemaRequest{Name: st.GetSchemaName(), Version: st.GetSchemaVersion()})
	if err != nil {
		return refuseFault(err, "Not read").result()
	}
	schema := jsonview.SchemaOf(found.GetSchema())
	lines := []string{fmt.Sprintf("Schema %s version %d, of the state %s, which is at version %d:", schema.Name, schema.Version, st.GetStateId(), st.GetVersion())}
	if schema.Description != "" {
		lines = append(lines, schema.Description)
	}
	return answer(strings.Join(append(lines, string(schema.JSONSchema)), "\n"), map[string]any{
		"schema_name": schema.Name, "schema_version": schema.Version, "json_schema": schema.JSONSchema,
		"state_id": st.GetStateId(), "version": st.GetVersion(),
	})
}
