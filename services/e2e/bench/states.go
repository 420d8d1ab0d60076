package main

import (
	"bytes"
	"context"
	"fmt"
	"strconv"

	"google.golang.org/grpc"

	statev1 "github.com/interlock-run/interlock/gen/go/interlock/state/v1"
)

// stateSchema is a typical schema of shared states of trees of agents.
const stateSchema = `{
  "$schema": "http://json-schema.org/draft-07/schema#", "type": "object", "required": ["status", "tasks"],
  "properties": {
    "status": {"type": "string", "enum": ["pending", "in_progress", "review", "completed", "failed"]},
    "tasks": {"type": "array", "items": {"type": "object", "required": ["name", "status"], "properties": {
      "name": {"type": "string"}, "status": {"type": "string", "enum": ["pending", "running", "done", "failed"]},
      "result": {"type": "string"}, "assigned_to": {"type": "string"}}}},
    "summary": {"type": "string"}, "metadata": {"type": "object"}
  }
}`

// stateOf returns a document of about this many bytes.
func stateOf(size int) []byte {
	var b bytes.Buffer
	b.WriteString(`{"status":"in_progress","summary":"","metadata":{"ticket":9007199254740993},"tasks":[`)
	for i := 0; b.Len() < size-120; i++ {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"name":"task-%d","status":"running",`, i)
		fmt.Fprintf(&b, `"result":"nothing to say yet","assigned_to":"agent-%d"}`, i%9)
	}
	b.WriteString(`]}`)
	return b.Bytes()
}

// Sizes of documents.
const (
	smallDocument = 1 << 10
	largeDocument = 100 << 10
)

// patchLoads returns patches of one field of shared states, spread over as many as there are
// callers and all of one.
func (s *stage) patchLoads(ctx context.Context, interlock connected, callers int) ([]*load, error) {
	operator, err := s.operator(interlock.child, "")
	if err != nil {
		return nil, err
	}
	small, err := createStates(ctx, operator, stateOf(smallDocument), callers+1)
	if err != nil {
		return nil, err
	}
	large, err := createStates(ctx, operator, stateOf(largeDocument), callers)
	if err != nil {
		return nil, err
	}
	hot := func(int, int) string { return small[callers] }
	return []*load{
		{
			name: "patch of 1 KB", open: patches(ctx, interlock.pool, own(small)),
			against: []pair{with(barePatch, goal{bound: 0.6})},
		},
		{
			name: "patch of 1 KB, one state", open: patches(ctx, interlock.pool, hot),
			against: []pair{with(barePatch, goal{bound: 0.35}, goal{fair: true, bound: 4})},
		},
		{
			name: "patch of 100 KB", open: patches(ctx, interlock.pool, own(large)),
			against: []pair{with(barePatch), with(etcdDocument)},
		},
	}, nil
}

// createStates registers the schema and makes n states, each of a root session of
// its own, whose name is the state's id.
func createStates(ctx context.Context, conn grpc.ClientConnInterface, data []byte, n int) ([]string, error) {
	schemas, states := statev1.NewSchemaServiceClient(conn), statev1.NewStateServiceClient(conn)
	_, err := schemas.RegisterSchema(ctx, &statev1.RegisterSchemaRequest{Name: "bench", JsonSchema: []byte(stateSchema)})
	if err != nil {
		return nil, err
	}
	ids := make([]string, n)
	for i := range ids {
		created, err := states.CreateState(ctx, &statev1.CreateStateRequest{SchemaName: "bench", Data: data})
		if err != nil {
			return nil, err
		}
		ids[i] = created.GetState().GetRootSessionId()
	}
	return ids, nil
}

// patches returns UpdateState by the session that a caller's nth call names, of one field of
// its state.
func patches(ctx context.Context, p pool, session func(caller, n int) string) func(int) (op, error) {
	return func(caller int) (op, error) {
		client, n := statev1.NewStateServiceClient(p.of(caller)), 0
		return func() error {
			n++
			_, err := client.UpdateState(ctx, patchRequest(session(caller, n), caller, n))
			return err
		}, nil
	}
}

// patchRequest returns the nth patch of a caller: a task is done, and is not.
func patchRequest(session string, caller, n int) *statev1.UpdateStateRequest {
	status := "done"
	if n%2 == 0 {
		status = "running"
	}
	return &statev1.UpdateStateRequest{
		Session: session,
		Change: &statev1.UpdateStateRequest_Patch{Patch: []byte(
			`[{"op":"replace","path":"/tasks/` + strconv.Itoa(caller%5) + `/status","value":"` + status + `"}]`)},
	}
}
