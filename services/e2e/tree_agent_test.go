package e2e

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	statev1 "github.com/interlock-run/interlock/gen/go/interlock/state/v1"
	"github.com/interlock-run/interlock/pkg/rpc"
)

// treeAgentVariable makes this test binary an agent of TestTreeOfAgents: a process
// that a runner starts and resumes. Its value is the folder in which all agents of
// the tree note their acts.
const treeAgentVariable = "TREE_AGENT_FOLDER"

const (
	treeChildren = 8
	// early children report while things are still killed; the others work until
	// the folder has a file "enough".
	earlyChildren = 4
	earlyAppends  = 30
)

// treeOp is one line of an agent's notes: an operation that began, or that was
// answered. An operation that a killed agent had begun is finished by the next,
// with the same idempotency key: it is one operation.
type treeOp struct {
	Key     string `json:"key"`
	Time    int64  `json:"time"` // of one clock: that of the machine
	Version int64  `json:"version,omitempty"`
	Read    bool   `json:"read,omitempty"`
}

type treeAgent struct {
	folder, session string
	states          statev1.StateServiceClient
	sessions        statev1.SessionServiceClient
	notes           *os.File
	done, begun     map[string]bool
	reads           map[string]bool // those that read
}

// runTreeAgent is the main function of an agent.
func runTreeAgent(folder string) error {
	a := &treeAgent{folder: folder, session: os.Getenv("INTERLOCK_SESSION"), done: map[string]bool{}, begun: map[string]bool{}, reads: map[string]bool{}}
	conn, err := rpc.Dial(os.Getenv("INTERLOCK_SERVER"), rpc.ClientConfig{Token: os.Getenv("INTERLOCK_TOKEN")})
	if err != nil {
		return err
	}
	defer conn.Close()
	a.states, a.sessions = statev1.NewStateServiceClient(conn), statev1.NewSessionServiceClient(conn)
	if err := a.openNotes(); err != nil {
		return err
	}
	defer a.notes.Close()
	kind := os.Getenv("INTERLOCK_TASK_KIND")
	switch {
	case a.session == "root" && kind == "start":
		return a.plant()
	case a.session == "root":
		return a.receive()
	case kind == "start":
		return a.work()
	default:
		return a.append(a.session+"/report", `[{"op":"add","path":"/children/`+a.session+`","value":"done"}]`)
	}
}

// openNotes reads earlier acts of agents of this session.
func (a *treeAgent) openNotes() error {
	file, err := os.OpenFile(filepath.Join(a.folder, a.session+".notes"), os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		var op treeOp
		if json.Unmarshal(lines.Bytes(), &op) != nil {
			continue // the agent was killed while it wrote
		}
		a.begun[op.Key], a.reads[op.Key] = true, op.Read
		if op.Version != 0 {
			a.done[op.Key] = true
		}
	}
	for key := range a.begun {
		if a.reads[key] {
			delete(a.begun, key) // the value to be read is of no use any more
		}
	}
	a.notes = file
	// The next line must not continue a half line.
	_, err = file.WriteString("\n")
	return err
}

func (a *treeAgent) note(op treeOp) error {
	op.Time = time.Now().UnixNano()
	line, err := json.Marshal(op)
	if err == nil {
		_, err = a.notes.Write(append(line, '\n'))
	}
	return err
}

// plant makes the state and the children.
func (a *treeAgent) plant() error {
	var stateID string
	err := persist(func(ctx context.Context) error {
		resp, err := a.states.CreateState(ctx, &statev1.CreateStateRequest{
			SchemaName: "tree", Data: []byte(`{"log":[],"children":{}}`), Session: "root", IdempotencyKey: "plant",
		})
		stateID = resp.GetState().GetStateId()
		return err
	})
	if err != nil {
		return err
	}
	for i := range treeChildren {
		err := persist(func(ctx context.Context) error {
			_, err := a.sessions.CreateSession(ctx, &statev1.CreateSessionRequest{
				Name: fmt.Sprintf("child%d", i), Parent: "root", WorkflowStateId: stateID, Prompt: "append to the log",
			})
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// work appends to the log, and reads.
func (a *treeAgent) work() error {
	var number int
	if _, err := fmt.Sscanf(a.session, "child%d", &number); err != nil {
		return err
	}
	// An act that an earlier agent had begun when it was killed comes first.
	for key := range a.begun {
		if err := a.log(key); err != nil {
			return err
		}
	}
	for n := 0; ; n++ {
		if n >= earlyAppends && (number < earlyChildren || exists(filepath.Join(a.folder, "enough"))) {
			return nil
		}
		key := fmt.Sprintf("%s/%d", a.session, n)
		if err := a.log(key); err != nil {
			return err
		}
		if n%5 == 0 {
			if err := a.read(key + "/read"); err != nil {
				return err
			}
		}
	}
}

// log appends to the log.
func (a *treeAgent) log(key string) error {
	return a.append(key, `[{"op":"add","path":"/log/-","value":"`+key+`"}]`)
}

// append changes the state once, however often it must be asked for.
func (a *treeAgent) append(key, patch string) error {
	if a.done[key] {
		return nil
	}
	if !a.begun[key] {
		if err := a.note(treeOp{Key: key}); err != nil {
			return err
		}
	}
	var version int64
	err := persist(func(ctx context.Context) error {
		resp, err := a.states.UpdateState(ctx, &statev1.UpdateStateRequest{
			Session: a.session, IdempotencyKey: key, Change: &statev1.UpdateStateRequest_Patch{Patch: []byte(patch)},
		})
		version = resp.GetState().GetVersion()
		return err
	})
	if err != nil {
		return err
	}
	return a.note(treeOp{Key: key, Version: version})
}

func (a *treeAgent) read(key string) error {
	if a.done[key] {
		return nil
	}
	if err := a.note(treeOp{Key: key, Read: true}); err != nil {
		return err
	}
	var version int64
	err := persist(func(ctx context.Context) error {
		resp, err := a.states.GetState(ctx, &statev1.GetStateRequest{Session: a.session, Pointers: []string{"/children"}})
		version = resp.GetState().GetVersion()
		return err
	})
	if err != nil {
		return err
	}
	return a.note(treeOp{Key: key, Version: version, Read: true})
}

// receive notes the callbacks that the root is resumed with.
func (a *treeAgent) receive() error {
	for _, id := range strings.Split(os.Getenv("INTERLOCK_CALLBACK_IDS"), ",") {
		if err := a.note(treeOp{Key: "callback " + id, Version: 1}); err != nil {
			return err
		}
	}
	return nil
}

// persist tries until there is an answer: services and the store are killed all
// the time.
func persist(call func(context.Context) error) error {
	deadline := time.Now().Add(patience)
	for {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		err := call(ctx)
		cancel()
		switch status.Code(err) {
		case codes.Unavailable, codes.Aborted, codes.DeadlineExceeded, codes.Canceled:
			if time.Now().After(deadline) {
				return err
			}
			time.Sleep(20 * time.Millisecond) // of an agent, not of a test: it must not spin
		default:
			return err
		}
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
