package workspace

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"google.golang.org/grpc"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	identityv1 "github.com/interlock-run/interlock/gen/go/interlock/identity/v1"
	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/client"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/console"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/show"
	"github.com/interlock-run/interlock/services/gateway"
	"github.com/interlock-run/interlock/services/internal/background"
	"github.com/interlock-run/interlock/services/internal/datadir"
	"github.com/interlock-run/interlock/services/internal/jsonview"
)

// Status shows the server of a workspace, the agents that are set up in it, and whether rules are enforced on them.
type Status struct {
	show.Printer
	Dir  string `arg:"" optional:"" help:"The workspace." default:"." type:"path"`
	Line bool   `help:"Print one line, for the status line of a coding agent, which writes its session to standard input as JSON."`
	Data string `name:"data-dir" help:"Data folder of the server on this machine; by default that of the workspace." env:"INTERLOCK_DATA" type:"path" placeholder:"DIR"`
}

// Agent is a coding agent that is set up in a workspace.
type Agent struct {
	Name     string `json:"name"`
	File     string `json:"file"`
	Workflow string `json:"workflow,omitzero"`
	Observe  bool   `json:"observe,omitzero"`
}

// State is the standing of a workspace: its server, the agents that are set up, and whether rules are enforced on them.
type State struct {
	Workspace string  `json:"workspace"`
	Data      string  `json:"data_dir"`
	Running   bool    `json:"running"`
	PID       int     `json:"pid,omitzero"`
	Console   string  `json:"console,omitzero"`
	Log       string  `json:"log,omitzero"`
	Agents    []Agent `json:"agents"`
	Enforcing bool    `json:"enforcing"`
	Why       string  `json:"why"`
	// Halts are those in force; none where they cannot be read.
	Halts []jsonview.Halt `json:"halts,omitempty"`
}

// Run prints the state, and returns console.ErrNo where no server runs.
func (c *Status) Run(ctx context.Context, streams console.Streams) error {
	state, err := Look(ctx, streams, c.Dir, c.Data)
	if err != nil {
		return err
	}
	if c.Line {
		fmt.Fprintln(streams.Out, show.Text(state.lineOf(ctx, streams)))
		return nil
	}
	if state.Running {
		state.Halts = haltsOf(ctx, streams, datadir.Dir(state.Data))
	}
	if err := c.Print(streams.Out, state, func(w *show.Sheet) { state.table(w) }); err != nil {
		return err
	}
	if !state.Running {
		return console.ErrNo
	}
	return nil
}

// Look returns the state of a workspace. data is the data folder; empty for that of the workspace.
func Look(ctx context.Context, streams console.Streams, dir, data string) (*State, error) {
	dir = workspaceName(dir)
	folder, err := folderOf(dir, data)
	if err != nil {
		return nil, err
	}
	state := &State{Workspace: dir, Data: string(folder), Agents: []Agent{}}
	server, err := background.Find(ctx, folder)
	switch {
	case errors.Is(err, background.ErrUnknown):
		state.Running = folder.Locked() // and its process is not known
	case err != nil:
		return nil, err
	default:
		state.Running, state.PID = server.PID != 0, server.PID
	}
	if state.Running {
		state.Console = gateway.ForBrowsers(server.Endpoints.HTTP) + gateway.ConsolePath
	}
	if _, err := os.Stat(background.LogFile(folder)); err == nil {
		state.Log = background.LogFile(folder)
	}
	for _, use := range Uses(dir) {
		if strings.HasSuffix(use.File, "mcp.json") { // of an agent whose hooks are in another file
			continue
		}
		state.Agents = append(state.Agents, Agent{use.agent, use.File, use.Workflow, use.Observe})
	}
	state.judge(ctx, streams, folder)
	return state, nil
}

// haltsOf returns the halts in force in a server, as the caller or an observer at a terminal reads them; none for others.
func haltsOf(ctx context.Context, streams console.Streams, folder datadir.Dir) (all []jsonview.Halt) {
	at := client.Connection{Data: string(folder), Token: os.Getenv(client.TokenVariable)}
	if at.Token == "" {
		at.As = string(auth.Observer)
	}
	_ = at.Do(ctx, streams, auth.Observer, func(conn grpc.ClientConnInterface) error {
		got, err := identityv1.NewHaltServiceClient(conn).ListHalts(ctx, &identityv1.ListHaltsRequest{})
		all = jsonview.Each(got.GetHalts(), jsonview.HaltOf)
		return err
	})
	return all
}

// judge determines whether rules are enforced, on the agent with the fewest where several are set up.
func (s *State) judge(ctx context.Context, streams console.Streams, folder datadir.Dir) {
	switch {
	case len(s.Agents) == 0:
		s.Why = "no agent is set up here: run `interlock` or `interlock init`"
	case !s.Running:
		s.Enforcing, s.Why = true, "no server runs, so every call is blocked: start `interlock up --detach`"
	default:
		for _, agent := range s.Agents {
			standing := StandingOf(ctx, streams, folder, agent.Workflow, agent.Observe)
			if s.Enforcing, s.Why = standing.Enforcing, standing.Why; !s.Enforcing {
				return
			}
		}
	}
}

// Line returns the state in one line.
func (s *State) Line() string {
	if s.Enforcing {
		return "Interlock: enforcing: " + s.Why
	}
	return "Interlock: NOT enforcing, because " + s.Why
}

// longestSession bounds the JSON of a status line.
const longestSession = 1 << 20

// lineOf returns the state in one line, with the run of the session that standard input names.
func (s *State) lineOf(ctx context.Context, streams console.Streams) string {
	var of struct {
		Session string `json:"session_id"`
	}
	if !streams.Interactive() {
		text, err := io.ReadAll(io.LimitReader(streams.In, longestSession))
		if err != nil || json.Unmarshal(text, &of) != nil {
			return s.Line()
		}
	}
	if of.Session == "" || !s.Running {
		return s.Line()
	}
	at := client.Connection{Data: s.Data, As: string(auth.Agent)}
	line := s.Line()
	_ = at.Do(ctx, streams, auth.Agent, func(conn grpc.ClientConnInterface) error { // without a run, the line is that of the workspace
		got, err := enginev1.NewRunServiceClient(conn).GetRun(ctx, &enginev1.GetRunRequest{SessionId: of.Session})
		if run := got.GetRun(); err == nil {
			line = fmt.Sprintf("Interlock: %s, %s, %s", run.GetWorkflow(), run.GetState(), jsonview.StatusName(run.GetStatus()))
		}
		return err
	})
	return line
}

func (s *State) table(w *show.Sheet) {
	t := show.Rows{W: w}
	switch {
	case s.PID != 0:
		t.Row("server", fmt.Sprintf("running, process %d", s.PID))
	case s.Running:
		t.Row("server", "running, in a process that this system does not name")
	default:
		t.Row("server", "not running: start `interlock up --detach`")
	}
	t.Row("console", s.Console)
	t.Row("data", s.Data)
	t.Row("log", s.Log)
	for _, agent := range s.Agents {
		what := "no workflow"
		switch {
		case agent.Workflow != "":
			what = "workflow " + agent.Workflow
		case agent.Observe:
			what = "observes"
		}
		t.Row("agent", fmt.Sprintf("%s: %s (%s)", agent.Name, what, agent.File))
	}
	for i := range s.Halts {
		h := &s.Halts[i]
		t.Row("halted", fmt.Sprintf("%s, by %s: %s (%s)", strings.TrimSpace(h.Kind+" "+h.Name), h.CreatedBy, h.Reason, h.HaltID))
	}
	word := "no"
	if s.Enforcing {
		word = "yes"
	}
	t.Row("enforcing", word+": "+s.Why)
}
