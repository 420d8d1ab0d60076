package sdk

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	statev1 "github.com/interlock-run/interlock/gen/go/interlock/state/v1"
)

// Session is one agent's conversation (S11).
type Session struct {
	ID string
	// Name is unique in the namespace.
	Name string
	// ParentID is empty for a root.
	ParentID, RootID string
	Status           SessionStatus
	// StateID is the state that it shares; empty for none.
	StateID string
	// StateUpdate is how far it has got with its report (S11.1).
	StateUpdate UpdateStatus
	// OpenChildren have not called back.
	OpenChildren int
	Labels       map[string]string
	// Agent is the one that it has started from; empty for none.
	Agent string
	// Only has the entries that all calls of it and of those below it must meet: a JSON list; nil for none.
	Only json.RawMessage
	// Human is on whose behalf it works, and so do those below it; nil where that is not known.
	Human *Human
	// Error is why it failed; empty otherwise.
	Error                string
	CreatedAt, UpdatedAt time.Time
}

// NewSession describes a new session.
type NewSession struct {
	// ID is chosen by the server when empty, Name at random.
	ID, Name string
	// Parent by id or name, whose state the session shares; empty for a root. An
	// agent creates sessions below its own.
	Parent string
	// SkipStateUpdate: it need not update that state before it is done.
	SkipStateUpdate bool
	// AcceptEarlyUpdate: updates during its own work are enough (S11.2).
	AcceptEarlyUpdate bool
	// Labels that a runner must have to take its tasks.
	Labels map[string]string
	// Prompt, when not empty, has a runner start the session's agent with it.
	Prompt string
	// StateRef is the component that its executions begin and end with, Subject
	// whose long-term values it uses (S12).
	StateRef, Subject string
	// Agent is the one that it starts from: it brings its policy, and its component; empty for none (S15.10).
	Agent string
	// Only has entries that all calls of it and of those below it must meet: JSON, or a value that encodes to a
	// list (S22.24); nil for none. They narrow, so agents may use them.
	Only any
}

// CreateSession makes a session. The same request again answers the same session,
// so give it a name to find it again.
func (g *sessionGroup) CreateSession(ctx context.Context, s NewSession) (Session, error) {
	if s.ID == "" && s.Name == "" {
		// A repeat must find the session that the first try made.
		s.Name = "session-" + strings.ToLower(newKey())
	}
	only, err := encode("only", s.Only)
	if err != nil {
		return Session{}, err
	}
	req := &statev1.CreateSessionRequest{
		Agent: s.Agent, Only: only, SessionId: s.ID, Name: s.Name, Parent: s.Parent, AcceptEarlyUpdate: s.AcceptEarlyUpdate, Labels: s.Labels,
		StateRef: s.StateRef, Subject: s.Subject, Prompt: s.Prompt, Session: g.session,
	}
	if s.SkipStateUpdate {
		req.StateUpdate = statev1.StateUpdate_STATE_UPDATE_SKIP
	}
	resp, err := retry(ctx, g.sessions.CreateSession, req)
	if err != nil {
		return Session{}, err
	}
	return sessionOf(resp.GetSession()), nil
}

// StopOptions of StopSession. The zero value leaves outstanding tasks to a runner.
type StopOptions struct {
	// InPlace: the caller continues with the agent itself, see Stopped.Prompt.
	InPlace bool
	// End ends the session in spite of outstanding work.
	End bool
	// Error is why the agent failed; empty when it did not.
	Error string
	// Result of the session for its parent: JSON, or a value that encodes to it; nil for none (S15.3).
	Result any
}

// Stopped is the outcome of a session that was stopped.
type Stopped struct {
	Session Session
	// Prompt is the text for the agent before it may stop, when it was stopped in place;
	// empty when it may.
	Prompt string
}

// StopSession reports that the agent of the client's session has stopped. One that must
// update the state of its tree and has not is asked to; then its parent is called back
// (S11.2).
func (g *sessionGroup) StopSession(ctx context.Context, opts StopOptions, change ...ChangeOption) (Stopped, error) {
	if g.session == "" {
		return Stopped{}, errNoSession("stopping")
	}
	result, err := encode("result", opts.Result)
	if err != nil {
		return Stopped{}, err
	}
	resp, err := retry(ctx, g.sessions.StopSession, &statev1.StopSessionRequest{
		Result:    result,
		SessionId: g.session, Session: g.session, IdempotencyKey: keyOf(change),
		InPlace: opts.InPlace, End: opts.End, Error: clip(opts.Error),
	})
	if err != nil {
		return Stopped{}, err
	}
	return Stopped{Session: sessionOf(resp.GetSession()), Prompt: resp.GetPrompt()}, nil
}

// clip returns a text as the contracts take an error: 4096 characters at most.
func clip(text string) string {
	const most = 4096
	text = strings.ToValidUTF8(text, "\uFFFD")
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most-3]) + "..."
	}
	return text
}

func sessionOf(s *statev1.Session) Session {
	return Session{
		ID: s.GetSessionId(), Name: s.GetName(), ParentID: s.GetParentSessionId(), RootID: s.GetRootSessionId(),
		Status: SessionStatus(word(s.GetStatus(), "SESSION_STATUS_")), StateID: s.GetWorkflowStateId(),
		StateUpdate:  UpdateStatus(word(s.GetStateUpdateStatus(), "STATE_UPDATE_STATUS_")),
		OpenChildren: int(s.GetOpenChildren()), Labels: s.GetLabels(), Error: s.GetError(),
		Agent: s.GetAgent(), Only: s.GetOnly(), Human: humanOf(s.GetHuman()),
		CreatedAt: timeOf(s.GetCreatedAt()), UpdatedAt: timeOf(s.GetUpdatedAt()),
	}
}

// GetSession returns a session by id or name, by default the client's.
func (g *sessionGroup) GetSession(ctx context.Context, id string) (Session, error) {
	resp, err := retry(ctx, g.sessions.GetSession, &statev1.GetSessionRequest{SessionId: first(id, g.session), Session: g.session})
	return sessionOf(resp.GetSession()), err
}

// ListSessions returns the sessions that the caller may see, newest first.
func (g *sessionGroup) ListSessions(ctx context.Context) ([]Session, error) {
	return page(ctx, 0, func(ctx context.Context, size int32, token string) ([]Session, string, error) {
		resp, err := retry(ctx, g.sessions.ListSessions, &statev1.ListSessionsRequest{PageSize: size, PageToken: token, Session: g.session})
		return each(resp.GetSessions(), sessionOf), resp.GetNextPageToken(), err
	})
}

// ResumeSession resumes a session that has stopped: a runner starts its agent again with the prompt.
func (g *sessionGroup) ResumeSession(ctx context.Context, id, prompt string, opts ...ChangeOption) (Session, error) {
	resp, err := retry(ctx, g.sessions.ResumeSession, &statev1.ResumeSessionRequest{
		SessionId: first(id, g.session), Session: g.session, Prompt: prompt, IdempotencyKey: keyOf(opts),
	})
	return sessionOf(resp.GetSession()), err
}

// DeleteSession deletes a session that has ended, by id or name; with cascade, those below it too.
func (g *sessionGroup) DeleteSession(ctx context.Context, id string, cascade bool) error {
	_, err := retry(ctx, g.sessions.DeleteSession, &statev1.DeleteSessionRequest{SessionId: id, Cascade: cascade})
	return err
}

// SessionResult returns the result of a session's agent as JSON; false when it has given none.
func (g *sessionGroup) SessionResult(ctx context.Context, id string) (json.RawMessage, bool, error) {
	resp, err := retry(ctx, g.sessions.GetSessionResult, &statev1.GetSessionResultRequest{SessionId: first(id, g.session), Session: g.session})
	return resp.GetResult(), resp.GetGiven(), err
}
