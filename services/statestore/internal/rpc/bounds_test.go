package rpc

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/bus"
	"github.com/interlock-run/interlock/pkg/session"
)

// S22.27: events about the bounds of a session say which token was minted, and how many entries narrow it.
func TestEventsOfBounds(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	only := json.RawMessage(`[{"tools":["Read"]},{"tools":["Read","Grep"]}]`)
	s := &session.Session{ID: "ses_1", Name: "lead", Version: 2, UpdatedAt: now, Bounds: session.Bounds{
		Only: only, Tokens: []session.Token{{ID: "stok_1", Name: "agent", Only: json.RawMessage(`[{"tools":["Read"]}]`), Expires: now}},
	}}
	for _, tt := range []struct {
		event   session.Event
		token   string
		entries int32
	}{
		{session.Event{Type: session.EventTokenMinted, Token: "stok_1"}, "agent", 1},
		{session.Event{Type: session.EventTokenRevoked, Token: "stok_1"}, "", 0},
		{session.Event{Type: session.EventTokensRevoked}, "", 0},
		{session.Event{Type: session.EventNarrowed}, "", 2},
	} {
		stored, err := Announcer{}.SessionEvent("default", "olga", s, tt.event)
		if err != nil {
			t.Fatal(err)
		}
		got, err := bus.Decode(stored.Payload)
		if err != nil {
			t.Fatal(err)
		}
		b := got.GetSessionBounded()
		if got.GetType() != tt.event.Type || b.GetName() != "lead" || b.GetTokenId() != tt.event.Token || b.GetTokenName() != tt.token || b.GetEntries() != tt.entries {
			t.Errorf("%s: %v", tt.event.Type, got)
		}
	}
}
