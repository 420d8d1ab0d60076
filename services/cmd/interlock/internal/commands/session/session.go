package session

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"google.golang.org/grpc"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	statev1 "github.com/interlock-run/interlock/gen/go/interlock/state/v1"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/client"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/console"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/input"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/setup"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/show"
	"github.com/interlock-run/interlock/services/internal/jsonview"
	"github.com/interlock-run/interlock/services/internal/listing"
	"github.com/interlock-run/interlock/services/internal/protomap"
)

// oneSession names the session of a command.
type oneSession struct {
	client.Connection
	show.Printer
	client.Acting
	Name string `arg:"" name:"session" help:"The session, by name, id or the beginning of one; @last for the newest."`
}

// ask does the work of Ask for a session, and knows which session is meant.
func (c *oneSession) ask(ctx context.Context, io console.Streams, do func(grpc.ClientConnInterface) error) error {
	return c.Ask(ctx, io, func(conn grpc.ClientConnInterface) (err error) {
		if c.Name, err = client.SessionID(ctx, conn, c.Name, c.AsSession); err != nil {
			return err
		}
		return do(conn)
	})
}

// promptFlags bring a prompt for an agent.
type promptFlags struct {
	Prompt     string `xor:"prompt" help:"Prompt that a runner gives to the session's agent." placeholder:"TEXT"`
	PromptFile string `xor:"prompt" help:"File with that prompt; - for standard input." placeholder:"FILE"`
}

func (f promptFlags) read(io console.Streams) (string, error) {
	if f.PromptFile == "" {
		return f.Prompt, nil
	}
	text, err := input.File(f.PromptFile, io.In)
	if err == nil && strings.TrimSpace(string(text)) == "" {
		return "", console.Misusedf("the file of --prompt-file is empty, and without a prompt no runner starts the agent")
	}
	return string(text), err
}

// printSession writes one session.
func printSession(p show.Printer, io console.Streams, session *statev1.Session) error {
	view := jsonview.SessionOf(session)
	return p.Print(io.Out, view, func(w *show.Sheet) { sessionRows(w, &view) })
}

func sessionRows(w *show.Sheet, s *jsonview.Session) {
	t := show.Rows{W: w}
	t.Row("session", s.SessionName)
	t.Row("id", s.SessionID)
	if s.ParentSessionName != nil {
		t.Row("parent", *s.ParentSessionName)
		t.Row("root", s.RootSessionID)
	}
	t.Row("status", statusText(s))
	t.Row("failed", s.Error)
	if s.WorkflowStateID != nil {
		t.Row("state", *s.WorkflowStateID)
	}
	t.Row("state update", reportText(s))
	if s.OpenChildren > 0 {
		t.Row("open children", fmt.Sprint(s.OpenChildren))
	}
	for i := range s.Callbacks {
		t.Row("callback waits", callbackText(&s.Callbacks[i]))
	}
	if s.HasResult {
		t.Row("result", "recorded")
	}
	t.Row("task", s.TaskID)
	for _, name := range slices.Sorted(maps.Keys(s.Labels)) {
		t.Row("label", name+"="+s.Labels[name])
	}
	t.Row("agent", s.Agent)
	t.Row("component", s.StateRef)
	t.Row("subject", s.Subject)
	t.Row("narrowed to", string(s.Only))
	t.Row("may read", strings.Join(s.Grants, ", "))
	t.Time("updated", s.UpdatedAt)
	t.Row("version", fmt.Sprint(s.Version))
}

// statusText returns the status of a session, distinguished from one that may be resumed
// when it has no outstanding work.
func statusText(s *jsonview.Session) string {
	if s.Ended {
		return "ended"
	}
	return s.Status
}

// reportText returns how far a session has got with its report.
func reportText(s *jsonview.Session) string {
	switch {
	case s.StateUpdateStatus == nil:
		return "not asked for yet"
	case s.Attempts > 0:
		return fmt.Sprintf("%s, attempt %d", *s.StateUpdateStatus, s.Attempts)
	default:
		return *s.StateUpdateStatus
	}
}

func callbackText(c *jsonview.Callback) string {
	text := c.CallbackID + " of " + c.SessionName
	if c.StateUpdateStatus != nil {
		text += ", state update " + *c.StateUpdateStatus
	}
	if c.Error != "" {
		text += ": " + c.Error
	}
	return text
}

type createCommand struct {
	client.Connection
	show.Printer
	client.Acting
	promptFlags
	Name              string            `arg:"" help:"Name of the session, which no other has."`
	ID                string            `name:"id" help:"Its id; minted by default." placeholder:"ID"`
	Parent            string            `xor:"parent" help:"Its parent, by id or name, whose state it shares; by default the session in INTERLOCK_SESSION, if any." placeholder:"NAME"`
	Root              bool              `xor:"parent" help:"It has no parent, regardless of INTERLOCK_SESSION."`
	SkipStateUpdate   bool              `help:"It need not update the state before it is done."`
	NoCallback        bool              `help:"Its parent is not called back: it looks for the result itself."`
	AcceptEarlyUpdate bool              `help:"An update before its first stop counts as its report."`
	Labels            map[string]string `name:"label" mapsep:"none" help:"Label that runners must have to take its tasks. May be repeated." placeholder:"KEY=VALUE"`
	StateRef          string            `help:"Component that its executions begin and end with, by slug or id; by default that of its agent." placeholder:"SLUG"`
	Agent             string            `help:"Agent that it starts from: its component is bound, its policy attached and its workflow started." placeholder:"NAME"`
	Only              string            `help:"Entries that all calls of it and of those below it must meet: a JSON list, written as the calls of a state; @FILE reads a file." placeholder:"JSON|@FILE"`
	Subject           string            `help:"Whose long-term values of components it uses; by default its root's." placeholder:"NAME"`
}

// createdSession is the JSON of a created session. Created is false when it was
// there already.
type createdSession struct {
	jsonview.Session
	Created bool `json:"created"`
}

func (c *createCommand) Run(ctx context.Context, io console.Streams) error {
	prompt, err := c.read(io)
	if err != nil {
		return err
	}
	if c.Parent == "" && !c.Root {
		c.Parent = os.Getenv("INTERLOCK_SESSION") // the agent that starts another (S15.4)
	}
	if state := os.Getenv("WORKFLOW_STATE_ID"); state != "" && c.Parent == "" && !c.Root {
		return console.Misusedf("WORKFLOW_STATE_ID names the state %s, which a session without a parent does not share: "+
			"give --parent or INTERLOCK_SESSION with the session that shares it, or --root for a session without it", state)
	}
	only, err := input.Text(c.Only, io)
	if err != nil {
		return err
	}
	req := &statev1.CreateSessionRequest{
		Only:      only,
		SessionId: c.ID, Name: c.Name, Parent: c.Parent, AcceptEarlyUpdate: c.AcceptEarlyUpdate, NoCallback: c.NoCallback, Labels: c.Labels,
		StateRef: c.StateRef, Agent: c.Agent, Subject: c.Subject, Prompt: prompt, Session: c.AsSession,
	}
	if c.SkipStateUpdate {
		req.StateUpdate = statev1.StateUpdate_STATE_UPDATE_SKIP
	}
	return c.Ask(ctx, io, func(conn grpc.ClientConnInterface) error {
		resp, err := statev1.NewSessionServiceClient(conn).CreateSession(ctx, req)
		if err != nil {
			return err
		}
		if err := setUp(ctx, conn, resp.GetSession()); err != nil {
			return err
		}
		view := createdSession{jsonview.SessionOf(resp.GetSession()), resp.GetCreated()}
		return c.Print(io.Out, view, func(w *show.Sheet) { sessionRows(w, &view.Session) })
	})
}

// setUp sets a session up as its agent demands (S15.10).
func setUp(ctx context.Context, conn grpc.ClientConnInterface, session *statev1.Session) error {
	if session.GetAgent() == "" {
		return nil
	}
	agent, err := statev1.NewAgentServiceClient(conn).GetAgent(ctx, &statev1.GetAgentRequest{Name: session.GetAgent()})
	if err != nil {
		return err
	}
	return setup.Session(ctx, enginev1.NewRunServiceClient(conn), session.GetName(), agent.GetAgent().GetSpec())
}

type getCommand struct{ oneSession }

func (c *getCommand) Run(ctx context.Context, io console.Streams) error {
	return c.ask(ctx, io, func(conn grpc.ClientConnInterface) error {
		resp, err := statev1.NewSessionServiceClient(conn).GetSession(ctx, &statev1.GetSessionRequest{
			SessionId: c.Name, Session: c.AsSession,
		})
		if err != nil {
			return err
		}
		return printSession(c.Printer, io, resp.GetSession())
	})
}

type listCommand struct {
	client.Connection
	show.Printer
	client.Acting
	Root   string `help:"Only the tree of this root session, by id or name." placeholder:"NAME"`
	Parent string `help:"Only the children of this session, by id or name." placeholder:"NAME"`
	Status string `help:"Only sessions of this status: running, finished or ended." placeholder:"STATUS"`
	client.Page
}

func (c *listCommand) Run(ctx context.Context, io console.Streams) error {
	status, err := client.Choice(
		"status", c.Status, statev1.SessionStatus_value, "SESSION_STATUS_", jsonview.SessionStatuses(),
	)
	if err != nil {
		return err
	}
	return c.Ask(ctx, io, func(conn grpc.ClientConnInterface) error {
		before, err := c.Term(ctx, conn, func(ctx context.Context, conn grpc.ClientConnInterface, given string) (string, error) {
			return client.SessionID(ctx, conn, given, c.AsSession)
		})
		if err != nil {
			return err
		}
		all, err := listSessions(ctx, conn, c.Limit, &statev1.ListSessionsRequest{
			Session: c.AsSession,
			Filter: listing.Filter(
				listing.Term{Key: "root", Value: c.Root}, listing.Term{Key: "parent", Value: c.Parent},
				listing.Term{Key: "status", Value: protomap.Word(statev1.SessionStatus(status), "SESSION_STATUS_")}, before,
			),
		})
		if err != nil {
			return err
		}
		const columns = "SESSION\tPARENT\tSTATUS\tSTATE UPDATE\tUPDATED"
		return show.Table(c.Printer, io.Out, columns, all, func(s *jsonview.Session) []any {
			parent := ""
			if s.ParentSessionName != nil {
				parent = *s.ParentSessionName
			}
			return []any{s.SessionName, parent, statusText(s), reportText(s), s.UpdatedAt}
		})
	})
}

// listSessions returns the sessions that a request selects, page by page.
func listSessions(
	ctx context.Context, conn grpc.ClientConnInterface, limit int, req *statev1.ListSessionsRequest,
) ([]jsonview.Session, error) {
	sessions := statev1.NewSessionServiceClient(conn)
	return client.Collect(limit, jsonview.SessionOf, func(token string, size int32) ([]*statev1.Session, string, error) {
		req.PageToken, req.PageSize = token, size
		page, err := sessions.ListSessions(ctx, req)
		return page.GetSessions(), page.GetNextPageToken(), err
	})
}

type stopCommand struct {
	oneSession
	End            bool   `help:"End the session, with all outstanding work."`
	Error          string `help:"Why the agent failed." placeholder:"TEXT"`
	Result         string `help:"Result of the agent's work: any JSON, at most 64 KiB; @FILE reads a file, - standard input." placeholder:"JSON|@FILE"`
	IdempotencyKey string `help:"Makes a repeat of this command answer the first outcome." placeholder:"KEY"`
}

func (c *stopCommand) Run(ctx context.Context, io console.Streams) error {
	var result []byte
	if c.Result != "" {
		var err error
		if result, err = input.JSON("result", strings.TrimPrefix(c.Result, "@"), io); err != nil {
			return err
		}
	}
	return c.ask(ctx, io, func(conn grpc.ClientConnInterface) error {
		resp, err := statev1.NewSessionServiceClient(conn).StopSession(ctx, &statev1.StopSessionRequest{
			SessionId: c.Name, Session: c.AsSession, End: c.End, Error: c.Error, IdempotencyKey: c.IdempotencyKey, Result: result,
		})
		if err != nil {
			return err
		}
		return printSession(c.Printer, io, resp.GetSession())
	})
}

type resultCommand struct{ oneSession }

func (c *resultCommand) Run(ctx context.Context, io console.Streams) error {
	return c.ask(ctx, io, func(conn grpc.ClientConnInterface) error {
		resp, err := statev1.NewSessionServiceClient(conn).GetSessionResult(ctx, &statev1.GetSessionResultRequest{
			SessionId: c.Name, Session: c.AsSession,
		})
		if err != nil {
			return err
		}
		view := jsonview.SessionResultOf(resp)
		return c.Print(io.Out, view, func(w *show.Sheet) { fmt.Fprintln(w, show.Indented(view.Result)) })
	})
}

type resumeCommand struct {
	oneSession
	promptFlags
	IdempotencyKey string `help:"Makes a repeat of this command answer the first outcome." placeholder:"KEY"`
}

func (c *resumeCommand) Run(ctx context.Context, io console.Streams) error {
	prompt, err := c.read(io)
	if err != nil {
		return err
	}
	return c.ask(ctx, io, func(conn grpc.ClientConnInterface) error {
		resp, err := statev1.NewSessionServiceClient(conn).ResumeSession(ctx, &statev1.ResumeSessionRequest{
			SessionId: c.Name, Session: c.AsSession, Prompt: prompt, IdempotencyKey: c.IdempotencyKey,
		})
		if err != nil {
			return err
		}
		return printSession(c.Printer, io, resp.GetSession())
	})
}

type deleteCommand struct {
	client.Connection
	Name    string `arg:"" name:"session" help:"The session, by name, id or the beginning of one."`
	Cascade bool   `help:"Also all sessions below it, and the state that a root has created."`
}

func (c *deleteCommand) Run(ctx context.Context, io console.Streams) error {
	return c.Ask(ctx, io, func(conn grpc.ClientConnInterface) (err error) {
		if c.Name, err = client.SessionID(ctx, conn, c.Name, ""); err != nil {
			return err
		}
		resp, err := statev1.NewSessionServiceClient(conn).DeleteSession(ctx, &statev1.DeleteSessionRequest{
			SessionId: c.Name, Cascade: c.Cascade,
		})
		if err != nil {
			return err
		}
		for _, name := range resp.GetSessions() {
			fmt.Fprintln(io.Out, "deleted ", show.Text(name))
		}
		return nil
	})
}

// grantFlags name readers and states.
type grantFlags struct {
	client.Connection
	show.Printer
	Name    string `arg:"" name:"session" help:"The session, by id or name."`
	StateID string `arg:"" name:"state" help:"Id of the state."`
}

func (c *grantFlags) grant(ctx context.Context, io console.Streams, revoke bool) error {
	return c.Ask(ctx, io, func(conn grpc.ClientConnInterface) (err error) {
		if c.Name, err = client.SessionID(ctx, conn, c.Name, ""); err != nil {
			return err
		}
		if c.StateID, err = client.StateID(ctx, conn, c.StateID, ""); err != nil {
			return err
		}
		resp, err := statev1.NewSessionServiceClient(conn).GrantStateAccess(ctx, &statev1.GrantStateAccessRequest{
			SessionId: c.Name, StateId: c.StateID, Revoke: revoke,
		})
		if err != nil {
			return err
		}
		return printSession(c.Printer, io, resp.GetSession())
	})
}

type grantCommand struct{ grantFlags }

func (c *grantCommand) Run(ctx context.Context, io console.Streams) error {
	return c.grant(ctx, io, false)
}

type revokeCommand struct{ grantFlags }

func (c *revokeCommand) Run(ctx context.Context, io console.Streams) error {
	return c.grant(ctx, io, true)
}
