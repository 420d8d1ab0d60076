package e2e

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/anishathalye/porcupine"

	statev1 "github.com/interlock-run/interlock/gen/go/interlock/state/v1"
	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/randtest"
	"github.com/interlock-run/interlock/pkg/rpc"
)

// TestTreeOfAgents starts a root and eight children as real processes under
// `interlock runner`, which change one state at once while services, the store and
// the runners are killed. Afterwards the history is contiguous, each child's change
// is there exactly once, every callback arrived at the parent, and the agents'
// observations are linearizable (S10.3, S11). TREE_KILLS says how often something is killed.
func TestTreeOfAgents(t *testing.T) {
	t.Parallel()
	kills := 10
	if n, err := strconv.Atoi(os.Getenv("TREE_KILLS")); err == nil {
		kills = n
	}
	g := &grove{separate: startSeparate(t), folder: t.TempDir()}
	g.prepare(t)
	random := randtest.New(t, 2)
	for range kills {
		before := g.answered(t)
		victim := g.victims()[random.IntN(len(g.victims()))]
		t.Logf("kill %s after %d answers", victim.name, before)
		victim.kill(t)
		eventually(t, "the agents continue without "+victim.name, func() error {
			if now := g.answered(t); now < before+20 {
				return fmt.Errorf("%d answers, %d before", now, before)
			}
			return nil
		})
	}
	if err := os.WriteFile(filepath.Join(g.folder, "enough"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	eventually(t, "nothing is outstanding", func() error {
		resp, err := g.sessions.GetSession(t.Context(), &statev1.GetSessionRequest{SessionId: "root"})
		if s := resp.GetSession(); err == nil && (s.GetStatus() != statev1.SessionStatus_SESSION_STATUS_FINISHED || s.GetOpenChildren() > 0 || s.GetTaskId() != "") {
			err = fmt.Errorf("the root is %v", s)
		}
		return err
	})
	resp, err := g.sessions.StopSession(t.Context(), &statev1.StopSessionRequest{SessionId: "root"})
	if err != nil || resp.GetSession().GetStatus() != statev1.SessionStatus_SESSION_STATUS_ENDED {
		t.Errorf("the root does not end: %v, %v", resp.GetSession(), err)
	}
	g.check(t)
}

// grove is a tree of agents and all that it stands on.
type grove struct {
	*separate
	folder   string
	runners  [2]*process
	sessions statev1.SessionServiceClient
	states   statev1.StateServiceClient
}

// victim is something that can be killed, and comes again.
type victim struct {
	name string
	kill func(testing.TB)
}

func (g *grove) prepare(t *testing.T) {
	t.Helper()
	conn, err := rpc.Dial(strings.Join(g.separate.states, ","), rpc.ClientConfig{Token: g.tokens[auth.Operator]})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	g.sessions, g.states = statev1.NewSessionServiceClient(conn), statev1.NewStateServiceClient(conn)
	schema := `{"type":"object","required":["log","children"],"additionalProperties":false,"properties":{
		"log":{"type":"array","items":{"type":"string"}},"children":{"type":"object","additionalProperties":{"const":"done"}}}}`
	_, err = statev1.NewSchemaServiceClient(conn).RegisterSchema(t.Context(), &statev1.RegisterSchemaRequest{Name: "tree", JsonSchema: []byte(schema)})
	if err != nil {
		t.Fatal(err)
	}
	if _, err = g.sessions.CreateSession(t.Context(), &statev1.CreateSessionRequest{Name: "root", Prompt: "grow a tree"}); err != nil {
		t.Fatal(err)
	}
	for i := range g.runners {
		g.startRunner(t, i)
	}
}

func (g *grove) startRunner(t testing.TB, i int) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	g.runners[i] = start(t, "interlock", "runner", "--exec", "exec env "+treeAgentVariable+"="+g.folder+" "+self,
		"--name", "runner"+strconv.Itoa(i), "--max", strconv.Itoa(treeChildren), "--server", strings.Join(g.separate.states, ","),
		"--token", g.tokens[auth.Operator], "--agent-token", g.tokens[auth.Agent])
}

func (g *grove) victims() []victim {
	all := []victim{
		{"redis", func(t testing.TB) {
			g.redis.Kill()
			if err := g.redis.Restart(); err != nil {
				t.Fatal(err)
			}
		}},
		{"nats", func(testing.TB) { g.natsServer.Stop(); g.natsServer.Start() }},
	}
	for i := range g.state {
		all = append(all, victim{"state-store " + strconv.Itoa(i), func(t testing.TB) {
			g.state[i].kill()
			g.state[i] = g.service(t, "interlock-state-store", append(g.stateArgs(), "--grpc", g.separate.states[i])...)
			g.state[i].serving(t, "grpc")
		}})
	}
	for i := range g.runners {
		all = append(all, victim{"runner " + strconv.Itoa(i), func(t testing.TB) {
			g.runners[i].kill()
			g.startRunner(t, i)
		}})
	}
	return all
}

// notes are the agents' notes, by session.
func (g *grove) notes(t testing.TB) map[string][]treeOp {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(g.folder, "*.notes"))
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]treeOp{}
	for _, name := range files {
		file, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(file)
		for lines.Scan() {
			var op treeOp
			if json.Unmarshal(lines.Bytes(), &op) == nil {
				session := strings.TrimSuffix(filepath.Base(name), ".notes")
				out[session] = append(out[session], op)
			}
		}
		file.Close()
	}
	return out
}

// answered counts the operations that were answered so far.
func (g *grove) answered(t testing.TB) int {
	n := 0
	for _, ops := range g.notes(t) {
		for _, op := range ops {
			if op.Version != 0 {
				n++
			}
		}
	}
	return n
}

func (g *grove) check(t *testing.T) {
	t.Helper()
	notes := g.notes(t)
	root, err := g.sessions.GetSession(t.Context(), &statev1.GetSessionRequest{SessionId: "root"})
	if err != nil {
		t.Fatal(err)
	}
	got, err := g.states.GetState(t.Context(), &statev1.GetStateRequest{StateId: root.GetSession().GetWorkflowStateId()})
	if err != nil {
		t.Fatal(err)
	}
	g.checkHistory(t, got.GetState(), notes)
	g.checkCallbacks(t, notes)
	if history := operations(notes); !porcupine.CheckOperations(versions, history) {
		t.Errorf("%d operations are not linearizable", len(history))
	} else {
		t.Logf("%d operations are linearizable; the state is at version %d", len(history), got.GetState().GetVersion())
	}
}

// checkHistory compares the document and its history with the answers to the
// agents.
func (g *grove) checkHistory(t *testing.T, state *statev1.State, notes map[string][]treeOp) {
	t.Helper()
	var doc struct {
		Log      []string
		Children map[string]string
	}
	if err := json.Unmarshal(state.GetData(), &doc); err != nil {
		t.Fatal(err)
	}
	if len(doc.Children) != treeChildren {
		t.Errorf("%d children have reported: %v", len(doc.Children), doc.Children)
	}
	want := map[string]bool{}
	for _, ops := range notes {
		for _, op := range ops {
			if op.Version != 0 && !op.Read && !strings.HasPrefix(op.Key, "callback ") {
				want[op.Key] = true
			}
		}
	}
	for _, key := range doc.Log {
		if !want[key] {
			t.Errorf("%s is in the log twice, or was never answered", key)
		}
		delete(want, key)
	}
	for child := range doc.Children {
		delete(want, child+"/report")
	}
	if len(want) != 0 {
		t.Errorf("answered and lost: %v", want)
	}
	if updates := int64(len(doc.Log) + len(doc.Children)); state.GetVersion() != updates+1 {
		t.Errorf("version %d after %d updates", state.GetVersion(), updates)
	}
	var next int64
	for after := int64(0); ; {
		page, err := g.states.GetStateHistory(t.Context(), &statev1.GetStateHistoryRequest{StateId: state.GetStateId(), AfterVersion: after})
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range page.GetVersions() {
			if next++; v.GetVersion() != next {
				t.Fatalf("version %d follows %d in the history", v.GetVersion(), next-1)
			}
		}
		if after = page.GetNextAfterVersion(); after == 0 {
			break
		}
	}
	if next != state.GetVersion() {
		t.Errorf("the history ends at version %d, the state is at %d", next, state.GetVersion())
	}
}

// checkCallbacks: every child has called back, as one that has reported.
func (g *grove) checkCallbacks(t *testing.T, notes map[string][]treeOp) {
	t.Helper()
	for i := range treeChildren {
		child := fmt.Sprintf("child%d", i)
		resp, err := g.sessions.GetSession(t.Context(), &statev1.GetSessionRequest{SessionId: child})
		if err != nil {
			t.Fatal(err)
		}
		s := resp.GetSession()
		if s.GetStateUpdateStatus() != statev1.StateUpdateStatus_STATE_UPDATE_STATUS_COMPLETED {
			t.Errorf("%s: %v", child, s)
		}
		if !slices.ContainsFunc(notes["root"], func(op treeOp) bool { return strings.HasPrefix(op.Key, "callback "+s.GetSessionId()+".") }) {
			t.Errorf("the callback of %s did not arrive", child)
		}
	}
}

// versions is the model of a state by its version alone: a change answers the next
// one, a read the current one.
var versions = porcupine.Model{
	Init: func() any { return int64(1) },
	Step: func(state, input, output any) (bool, any) {
		version, read, answer := state.(int64), input.(bool), output.(int64)
		if read {
			return answer == version, version
		}
		return answer == version+1, version + 1
	},
}

// operations are the notes as porcupine takes them.
func operations(notes map[string][]treeOp) []porcupine.Operation {
	var history []porcupine.Operation
	client := 0
	for session, ops := range notes {
		if session == "root" {
			continue
		}
		client++
		began, answered := map[string]int64{}, map[string]bool{}
		for _, op := range ops {
			if op.Version == 0 {
				if began[op.Key] == 0 {
					began[op.Key] = op.Time
				}
				continue
			}
			if answered[op.Key] {
				continue // an agent whose lease had lapsed got the same answer
			}
			answered[op.Key] = true
			history = append(history, porcupine.Operation{
				ClientId: client, Input: op.Read, Call: began[op.Key], Output: op.Version, Return: op.Time,
			})
		}
	}
	return history
}
