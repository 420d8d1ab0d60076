package main

import (
	"bytes"
	"context"
	"fmt"
	"strconv"

	"google.golang.org/grpc"

	statev1 "github.com/interlock-run/interlock/gen/go/interlock/state/v1"
)

// stateSchema is what shared states of trees of agents look like.
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

// stateOf is a document of about this many bytes.
func stateOf(size int) []byte {
	var b bytes.Buffer
	b.WriteString(`{"status":"in_progress","summary":"","metadata":{"ticket":9007199254740993},"tasks":[`)
	for i := 0; b.Len() < size-120; i++ {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"name":"task-%d","status":"running","result":"nothing to say yet","assigned_to":"agent-%d"}`, i, i%9)
	}
	b.WriteString(`]}`)
	return b.Bytes()
}

// states measures patches of one field of shared states, spread over as many as
// there are callers and all of one, and compares them with the bare server's transition.
func (b *bencher) states(ctx context.Context, backend string) error {
	title := "Patches of one field of a shared state over gRPC on " + backend + ", validated. bare = the bare server's transition, about as many bytes as a patch of 1 KB writes"
	return b.perCallers(backend, title, func(s *stage, callers int) ([]*load, error) { return b.stateGroup(ctx, s, callers) })
}

func (b *bencher) stateGroup(ctx context.Context, s *stage, callers int) ([]*load, error) {
	servers, err := s.serveTo(callers, roleBare, roleInterlock)
	if err != nil {
		return nil, err
	}
	bare, interlock := servers[0], servers[1]
	operator, err := s.operator(interlock.child, "")
	if err != nil {
		return nil, err
	}
	storePID, err := s.storePID(ctx)
	if err != nil {
		return nil, err
	}
	runs := make([]string, callers)
	for i := range runs {
		runs[i] = "bare" + strconv.Itoa(i)
	}
	loads := []*load{{name: "bare transition", server: bare.pid, open: transitions(ctx, bare.pool, runs)}}
	for _, size := range []struct {
		name  string
		bytes int
	}{{"1 KB", 1 << 10}, {"100 KB", 100 << 10}} {
		ids, err := createStates(ctx, operator, stateOf(size.bytes), callers+1)
		if err != nil {
			return nil, err
		}
		spread := &load{name: "patch " + size.name + ", spread", base: "bare transition", open: patches(ctx, interlock.pool, own(ids[:callers]))}
		hot := &load{name: "patch " + size.name + ", one state", base: "bare transition", open: patches(ctx, interlock.pool, func(int, int) string { return ids[callers] })}
		if callers == 64 {
			hot.goals = []goal{{fair: true, bound: 4}}
			if size.bytes == 1<<10 {
				spread.goals = []goal{{bound: 0.6}}
				hot.goals = append(hot.goals, goal{bound: 0.35})
			}
		}
		loads = append(loads, spread, hot)
	}
	for _, l := range loads {
		l.callers, l.calls, l.store = callers, 1, storePID
		if l.server == 0 {
			l.server = interlock.pid
		}
	}
	return loads, measure(ctx, loads, b.rounds, b.round)
}

// createStates registers the schema and makes n states, each of a root session of
// its own, whose name is the state's id.
func createStates(ctx context.Context, conn grpc.ClientConnInterface, data []byte, n int) ([]string, error) {
	_, err := statev1.NewSchemaServiceClient(conn).RegisterSchema(ctx, &statev1.RegisterSchemaRequest{Name: "bench", JsonSchema: []byte(stateSchema)})
	if err != nil {
		return nil, err
	}
	ids := make([]string, n)
	for i := range ids {
		created, err := statev1.NewStateServiceClient(conn).CreateState(ctx, &statev1.CreateStateRequest{SchemaName: "bench", Data: data})
		if err != nil {
			return nil, err
		}
		ids[i] = created.GetState().GetRootSessionId()
	}
	return ids, nil
}

// patches is Update by the session that a caller's nth call names, of one field of
// its state.
func patches(ctx context.Context, p pool, session func(caller, n int) string) func(int) (op, error) {
	return func(caller int) (op, error) {
		client, n := statev1.NewStateServiceClient(p.of(caller)), 0
		return func() error {
			n++
			status := "done"
			if n%2 == 0 {
				status = "running"
			}
			_, err := client.UpdateState(ctx, &statev1.UpdateStateRequest{
				Session: session(caller, n),
				Change: &statev1.UpdateStateRequest_Patch{Patch: []byte(
					`[{"op":"replace","path":"/tasks/` + strconv.Itoa(caller%5) + `/status","value":"` + status + `"}]`)},
			})
			return err
		}, nil
	}
}
