package rpc

import (
	"context"
	"encoding/json"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	statev1 "github.com/interlock-run/interlock/gen/go/interlock/state/v1"
	"github.com/interlock-run/interlock/pkg/rpc"
	"github.com/interlock-run/interlock/pkg/session"
	"github.com/interlock-run/interlock/services/internal/ledger"
	"github.com/interlock-run/interlock/services/internal/listing"
	"github.com/interlock-run/interlock/services/internal/protomap"
	"github.com/interlock-run/interlock/services/statestore/internal/app"
	"github.com/interlock-run/interlock/services/statestore/internal/member"
	"github.com/interlock-run/interlock/services/statestore/internal/opening"
	"github.com/interlock-run/interlock/services/statestore/internal/sessions"
)

// Sessions serves SessionService.
type Sessions struct {
	statev1.UnimplementedSessionServiceServer
	App *app.App
}

// The core's words in the contract's.
var (
	statuses        = protomap.Enums[session.Status, statev1.SessionStatus](statev1.SessionStatus_value, "SESSION_STATUS_")
	updateStatuses  = protomap.Enums[session.UpdateStatus, statev1.StateUpdateStatus](statev1.StateUpdateStatus_value, "STATE_UPDATE_STATUS_")
	taskKinds       = protomap.Enums[session.Kind, statev1.TaskKind](statev1.TaskKind_value, "TASK_KIND_")
	taskStatuses    = protomap.Enums[string, statev1.TaskStatus](statev1.TaskStatus_value, "TASK_STATUS_")
	persistenceMode = protomap.LowerEnums[string, statev1.Persistence](statev1.Persistence_value, "PERSISTENCE_")
	changeTypes     = protomap.LowerEnums[string, statev1.StateChangeType](statev1.StateChangeType_value, "STATE_CHANGE_TYPE_")
)

// CreateSession implements SessionService.
func (s *Sessions) CreateSession(ctx context.Context, req *statev1.CreateSessionRequest) (*statev1.CreateSessionResponse, error) {
	by := caller(ctx, req.GetSession())
	var err error
	if by.For, err = rpc.OnBehalfOf(ctx); err != nil {
		return nil, err
	}
	m, created, err := s.App.Opener.Create(ctx, by, opening.Request{
		ID: req.GetSessionId(), Name: req.GetName(), Parent: req.GetParent(), StateID: req.GetWorkflowStateId(),
		Skip: req.GetStateUpdate() == statev1.StateUpdate_STATE_UPDATE_SKIP, AcceptEarly: req.GetAcceptEarlyUpdate(), NoCallback: req.GetNoCallback(),
		Labels: req.GetLabels(), StateRef: req.GetStateRef(), Agent: req.GetAgent(), Subject: req.GetSubject(), Prompt: req.GetPrompt(), Only: req.GetOnly(),
	})
	if err != nil {
		return nil, err
	}
	return &statev1.CreateSessionResponse{Session: sessionProto(m), Created: created}, nil
}

// GetSession implements SessionService.
func (s *Sessions) GetSession(ctx context.Context, req *statev1.GetSessionRequest) (*statev1.GetSessionResponse, error) {
	m, err := s.App.Sessions.Get(ctx, caller(ctx, req.GetSession()), req.GetSessionId())
	if err != nil {
		return nil, err
	}
	return &statev1.GetSessionResponse{Session: sessionProto(m)}, nil
}

// ListSessions implements SessionService.
func (s *Sessions) ListSessions(ctx context.Context, req *statev1.ListSessionsRequest) (*statev1.ListSessionsResponse, error) {
	terms, err := listing.Parse(req.GetFilter(), "root", "parent", "status", listing.Before, listing.Prefix)
	if err != nil {
		return nil, err
	}
	status, err := terms.OneOf("status", protomap.Names(statev1.SessionStatus_name, "SESSION_STATUS_"))
	if err != nil {
		return nil, err
	}
	members, next, err := s.App.Sessions.List(ctx, caller(ctx, req.GetSession()), sessions.Query{
		Root: terms["root"], Parent: terms["parent"], Status: session.Status(status),
		After: terms.BeginAfter(req.GetPageToken()), Limit: pageSize(req.GetPageSize()),
	})
	if err != nil {
		return nil, err
	}
	members, next = listing.Within(terms[listing.Prefix], members, next, func(m *member.Member) string { return m.ID })
	resp := &statev1.ListSessionsResponse{NextPageToken: next}
	for _, m := range members {
		resp.Sessions = append(resp.Sessions, sessionProto(m))
	}
	return resp, nil
}

// StopSession implements SessionService.
func (s *Sessions) StopSession(ctx context.Context, req *statev1.StopSessionRequest) (*statev1.StopSessionResponse, error) {
	m, prompt, err := s.App.Sessions.Stop(ctx, caller(ctx, req.GetSession()), req.GetSessionId(), session.Stop{
		InPlace: req.GetInPlace(), End: req.GetEnd(), Error: req.GetError(), Result: req.GetResult(),
	}, req.GetIdempotencyKey())
	if err != nil {
		return nil, err
	}
	return &statev1.StopSessionResponse{Session: sessionProto(m), Prompt: prompt}, nil
}

// ResumeSession implements SessionService.
func (s *Sessions) ResumeSession(ctx context.Context, req *statev1.ResumeSessionRequest) (*statev1.ResumeSessionResponse, error) {
	m, err := s.App.Sessions.Resume(ctx, caller(ctx, req.GetSession()), req.GetSessionId(), req.GetPrompt(), req.GetIdempotencyKey())
	if err != nil {
		return nil, err
	}
	return &statev1.ResumeSessionResponse{Session: sessionProto(m)}, nil
}

// GetSessionResult implements SessionService.
func (s *Sessions) GetSessionResult(ctx context.Context, req *statev1.GetSessionResultRequest) (*statev1.GetSessionResultResponse, error) {
	m, err := s.App.Sessions.Result(ctx, caller(ctx, req.GetSession()), req.GetSessionId())
	if err != nil {
		return nil, err
	}
	return &statev1.GetSessionResultResponse{
		Session: sessionProto(m), Result: m.Result, Given: m.Given, Time: timestamppb.New(m.ResultAt),
	}, nil
}

// DeleteSession implements SessionService.
func (s *Sessions) DeleteSession(ctx context.Context, req *statev1.DeleteSessionRequest) (*statev1.DeleteSessionResponse, error) {
	names, err := s.App.Sessions.Delete(ctx, caller(ctx, ""), req.GetSessionId(), req.GetCascade())
	if err != nil {
		return nil, err
	}
	return &statev1.DeleteSessionResponse{Sessions: names}, nil
}

// GrantStateAccess implements SessionService.
func (s *Sessions) GrantStateAccess(ctx context.Context, req *statev1.GrantStateAccessRequest) (*statev1.GrantStateAccessResponse, error) {
	m, err := s.App.Sessions.Grant(ctx, caller(ctx, ""), req.GetSessionId(), req.GetStateId(), req.GetRevoke())
	if err != nil {
		return nil, err
	}
	return &statev1.GrantStateAccessResponse{Session: sessionProto(m)}, nil
}

// NarrowSession implements SessionService.
func (s *Sessions) NarrowSession(ctx context.Context, req *statev1.NarrowSessionRequest) (*statev1.NarrowSessionResponse, error) {
	m, err := s.App.Sessions.Narrow(ctx, caller(ctx, req.GetSession()), req.GetSessionId(), req.GetOnly(), req.GetReplace())
	if err != nil {
		return nil, err
	}
	return &statev1.NarrowSessionResponse{Session: sessionProto(m)}, nil
}

// MintSessionToken implements SessionService.
func (s *Sessions) MintSessionToken(ctx context.Context, req *statev1.MintSessionTokenRequest) (*statev1.MintSessionTokenResponse, error) {
	by := caller(ctx, req.GetSession())
	var err error
	if by.For, err = rpc.OnBehalfOf(ctx); err != nil {
		return nil, err
	}
	token, secret, err := s.App.Sessions.Mint(ctx, by, sessions.NewToken{
		Human:   req.GetHuman(),
		Session: req.GetSessionId(), For: req.GetForSession(), Branch: req.GetBranch(), Name: req.GetName(), Seconds: req.GetTtlSeconds(), Only: req.GetOnly(),
	})
	if err != nil {
		return nil, err
	}
	return &statev1.MintSessionTokenResponse{Token: tokenProto(token), Secret: secret}, nil
}

// ListSessionTokens implements SessionService.
func (s *Sessions) ListSessionTokens(ctx context.Context, req *statev1.ListSessionTokensRequest) (*statev1.ListSessionTokensResponse, error) {
	m, err := s.App.Sessions.Tokens(ctx, caller(ctx, req.GetSession()), req.GetSessionId())
	if err != nil {
		return nil, err
	}
	return &statev1.ListSessionTokensResponse{Tokens: s.tokenProtos(m), RevokedUntil: stamp(m.TokensAfter)}, nil
}

// RevokeSessionTokens implements SessionService.
func (s *Sessions) RevokeSessionTokens(ctx context.Context, req *statev1.RevokeSessionTokensRequest) (*statev1.RevokeSessionTokensResponse, error) {
	m, err := s.App.Sessions.Revoke(ctx, caller(ctx, req.GetSession()), req.GetSessionId(), req.GetTokenId())
	if err != nil {
		return nil, err
	}
	return &statev1.RevokeSessionTokensResponse{Tokens: s.tokenProtos(m)}, nil
}

// tokenProtos returns the listed tokens of a session that have not expired.
func (s *Sessions) tokenProtos(m *member.Member) []*statev1.SessionToken {
	var out []*statev1.SessionToken
	for i := range m.Tokens {
		if s.App.Now().Before(m.Tokens[i].Expires) {
			out = append(out, tokenProto(&m.Tokens[i]))
		}
	}
	return out
}

func tokenProto(t *session.Token) *statev1.SessionToken {
	var human *ledger.Human
	if len(t.Human) > 0 && json.Unmarshal(t.Human, &human) != nil {
		human = nil
	}
	return &statev1.SessionToken{
		Human:   humanProto(human),
		TokenId: t.ID, Name: t.Name, Session: t.Session, Branch: t.Branch, Only: t.Only, MintedBy: t.MintedBy, MintedWith: t.Via,
		IssuedAt: stamp(t.IssuedAt), ExpiresAt: stamp(t.Expires), RevokedAt: stamp(t.RevokedAt), RevokedBy: t.RevokedBy,
	}
}

func sessionProto(m *member.Member) *statev1.Session {
	out := &statev1.Session{
		SessionId: m.ID, Name: m.Name, ParentSessionId: m.ParentID, ParentSessionName: m.ParentName, RootSessionId: m.RootID,
		Depth: int32(m.Depth), Status: statuses[m.Status], WorkflowStateId: m.StateID, // at most 32
		StateUpdateStatus: updateStatuses[m.Update], Attempts: int32(m.Attempts), // bounded by the configuration
		StateUpdate: statev1.StateUpdate_STATE_UPDATE_REQUIRED, AcceptEarlyUpdate: m.AcceptEarly,
		OpenChildren: int32(m.OpenChildren), Callbacks: callbackProtos(m.Callbacks), Labels: m.Labels, // as many as sessions
		StateRef: m.StateRef, Agent: m.Agent, Version: m.Version, CreatedAt: timestamppb.New(m.CreatedAt), UpdatedAt: timestamppb.New(m.UpdatedAt),
		EndedAt: stamp(m.EndedAt), Grants: m.Grants, Subject: m.Subject, Error: m.Error, HasResult: m.Result != nil, NoCallback: m.NoCallback, Only: m.Only,
		Human: humanProto(m.OnBehalfOf()),
	}
	if m.Update == session.UpdateSkipped {
		out.StateUpdate = statev1.StateUpdate_STATE_UPDATE_SKIP
	}
	if m.Task != nil {
		out.TaskId = m.Task.ID
	}
	return out
}

// humanProto returns on whose behalf a session works; nil where that is not known.
func humanProto(h *ledger.Human) *statev1.SessionHuman {
	if h == nil {
		return nil
	}
	return &statev1.SessionHuman{
		Name: h.Name, Issuer: h.Issuer, Source: h.Source, GroupsKnown: h.GroupsKnown, Groups: h.Groups, Attributes: h.AttributesJSON(),
		AuthenticatedAt: stamp(h.AuthenticatedAt), Expires: stamp(h.Expires),
	}
}

func stamp(t time.Time) *timestamppb.Timestamp {
	if t.IsZero() {
		return nil
	}
	return timestamppb.New(t)
}

func callbackProtos(callbacks []session.Callback) []*statev1.Callback {
	out := make([]*statev1.Callback, len(callbacks))
	for i, cb := range callbacks {
		out[i] = &statev1.Callback{
			CallbackId: cb.ID, SessionId: cb.SessionID, SessionName: cb.Name, StateUpdateStatus: updateStatuses[cb.Update],
			StateVersion: cb.StateVersion, Error: cb.Error, Time: timestamppb.New(cb.At),
			Result: cb.Result, ResultTruncated: cb.Cut,
		}
	}
	return out
}
