package mcp

import (
	"net/http"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"google.golang.org/protobuf/proto"

	statev1 "github.com/interlock-run/interlock/gen/go/interlock/state/v1"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/rpc"
	"github.com/interlock-run/interlock/services/gateway/internal/mcp/caller"
)

// TestStateBindings: only the connection names the session whose state is used.
func TestStateBindings(t *testing.T) {
	t.Parallel()
	v := newVault()
	v.share("s2", "s1")
	url := endpoint(t, v.server(t, newPlane(), nil))
	read := func(query string, header http.Header) *sdk.CallToolResult {
		return call(t, overHTTP(t, url+query, "2025-11-25", nil, header), "state_read", `{}`)
	}
	wantOK(t, read("?session=s2", nil), "wfstate_1")
	wantOK(t, read("", http.Header{caller.SessionHeader: {"s2"}}), "wfstate_1")
	v.requests()
	wantOK(t, read("?session=s2", http.Header{caller.StateHeader: {vaultState}, "Authorization": {"Bearer t"}, caller.NamespaceHeader: {"n"}}), "wfstate_1")
	wantRequests(t, []proto.Message{&statev1.GetStateRequest{Session: "s2", StateId: vaultState}}, v.requests())
	if md := v.seen[len(v.seen)-1]; md.Get("authorization")[0] != "Bearer t" || md.Get(rpc.NamespaceKey)[0] != "n" {
		t.Errorf("metadata %v", md)
	}
	// An unset variable leaves an empty header.
	wantOK(t, read("?session=s2", http.Header{caller.StateHeader: {""}}), "wfstate_1")
	// A state's name is no right to it.
	wantRefused(t, read("", http.Header{caller.StateHeader: {vaultState}}), "NOT_BOUND", "does not belong to a session", caller.SessionHeader)
	wantRefused(t, read("", http.Header{caller.StateHeader: {vaultState}, "Authorization": {"Bearer t"}}), "NO_SESSION")
	wantRefused(t, read("?run=run_1", http.Header{caller.StateHeader: {vaultState}}), "NOT_BOUND", "bound to the run run_1", "sessions share states, not runs")
	wantRefused(t, call(t, overHTTP(t, url+"?session=s9", "2025-11-25", nil, http.Header{caller.StateHeader: {vaultState}}), "state_create",
		`{"schema_name":"tasks","initial_data":{}}`), "FAILED_PRECONDITION", "works on the state wfstate_1", "state_read")

	for want, headers := range map[string][]string{
		"more than once": {caller.StateHeader, "a", caller.StateHeader, "b"}, "at most 128 printable": {caller.StateHeader, strings.Repeat("x", 129)},
	} {
		if status, answer, _ := post(t, url, initialize, headers...); status != http.StatusBadRequest || !strings.Contains(answer, want) {
			t.Errorf("%d %s, want 400 with %q", status, answer, want)
		}
	}
}

// TestNoStateStore: an edge without one says so.
func TestNoStateStore(t *testing.T) {
	t.Parallel()
	session := overStdio(t, server(t, newPlane(), nil), "2025-11-25", nil)
	for tool, arguments := range map[string]string{
		"state_create": `{"schema_name":"tasks","initial_data":{}}`, "state_read": `{}`, "state_patch": `{"operations":[]}`, "state_update": `{"data":{}}`, "state_schema": `{}`,
	} {
		wantRefused(t, call(t, session, tool, arguments), "UNAVAILABLE", "not connected to a state-store")
	}
}

// TestSubagentsShareAsThemselves: below their agent's session, where that shares a
// state, and as their agent where not (S11.1).
func TestSubagentsShareAsThemselves(t *testing.T) {
	t.Parallel()
	v := newVault()
	session := overStdio(t, v.server(t, newPlane(), nil), "2025-11-25", nil)
	getMain := &statev1.GetSessionRequest{SessionId: "s1"}
	getChild := &statev1.GetSessionRequest{SessionId: "s1/a1", Session: "s1"}
	wantRefused(t, call(t, session, "state_read", `{"agent":"a1"}`), "NO_SESSION", `There is no session "s1"`)
	wantRequests(t, []proto.Message{getMain, &statev1.GetStateRequest{Session: "s1"}, getMain}, v.requests())

	v.share("s1", "")
	wantOK(t, call(t, session, "state_patch", `{"agent":"a1","operations":[]}`))
	wantOK(t, call(t, session, "state_read", `{"agent":"a1"}`))
	wantOK(t, call(t, session, "state_read", `{}`))
	wantRequests(t, []proto.Message{
		getMain, getChild, &statev1.CreateSessionRequest{Name: "s1/a1", Parent: "s1", Session: "s1"},
		&statev1.UpdateStateRequest{Session: "s1/a1", Change: &statev1.UpdateStateRequest_Patch{Patch: []byte("[]")}, WithData: true},
		getMain, getChild, &statev1.GetStateRequest{Session: "s1/a1"},
		&statev1.GetStateRequest{Session: "s1"},
	}, v.requests())

	// However the agent's session is called, its subagent's is the same.
	v.mu.Lock()
	v.sessions["ses_s1"] = v.sessions["s1"]
	v.mu.Unlock()
	byID := overStdio(t, v.server(t, newPlane(), func(c *Config) { c.Stdio.SessionID = "ses_s1" }), "2025-11-25", nil)
	wantOK(t, call(t, byID, "state_read", `{"agent":"a1"}`))
	asked := v.requests()
	wantRequests(t, []proto.Message{&statev1.GetStateRequest{Session: "s1/a1"}}, asked[len(asked)-1:])

	wantRefused(t, call(t, session, "state_read", `{"agent":"a\u0000"}`), "INVALID_ARGUMENT", `with the argument "agent"`)
	v.mu.Lock()
	v.failAll = fault.New(fault.Unavailable, "the state-store is away").GRPCStatus().Err()
	v.mu.Unlock()
	v.requests()
	wantRefused(t, call(t, session, "state_patch", `{"agent":"a1","operations":[]}`), "UNAVAILABLE", "the state-store is away")
	wantRequests(t, []proto.Message{getMain}, v.requests())
}
