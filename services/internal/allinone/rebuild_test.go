package allinone

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/interlock-run/interlock/pkg/bus"
	"github.com/interlock-run/interlock/pkg/bus/natstest"
	"github.com/interlock-run/interlock/pkg/store/redisstore"
	"github.com/interlock-run/interlock/pkg/store/redisstore/redistest"
	"github.com/interlock-run/interlock/services/internal/daemon"
	"github.com/interlock-run/interlock/services/internal/decided"
)

// published is all that consumers see of each event, by its id, and the kinds of them.
func published(t *testing.T, js jetstream.JetStream) (seen map[string]string, kinds map[string]bool) {
	t.Helper()
	stream, err := js.Stream(t.Context(), bus.DefaultStream)
	if err != nil {
		t.Fatal(err)
	}
	seen, kinds = map[string]string{}, map[string]bool{}
	state := stream.CachedInfo().State
	for seq := state.FirstSeq; seq <= state.LastSeq && state.Msgs > 0; seq++ {
		m, err := stream.GetMsg(t.Context(), seq)
		if err != nil {
			t.Fatal(err)
		}
		text := m.Subject + "\n" + string(m.Data)
		for _, name := range slices.Sorted(maps.Keys(m.Header)) {
			text += "\n" + name + ": " + strings.Join(m.Header[name], ", ")
		}
		seen[m.Header.Get("Nats-Msg-Id")] = text
		s, err := bus.ParseSubject(m.Subject)
		if err != nil {
			t.Fatal(err)
		}
		kinds[s.Entity+"."+s.Type] = true
	}
	return seen, kinds
}

// Every kind of event comes back as it was when NATS has lost all, while services run, and
// once.
func TestEventsAreRebuilt(t *testing.T) {
	t.Parallel()
	nats, redis := natstest.Start(t), redistest.Start(t)
	events := daemon.EventFlags{EventsKeep: time.Hour}
	c := start(t, Config{Store: redis.URL(), NATSURL: nats.URL(), Grace: 50 * time.Millisecond, Events: events})
	walk(t, c)

	st, err := redisstore.Open(t.Context(), redisstore.Config{URL: redis.URL(), Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	rebuild := func(cfg bus.RebuildConfig) *bus.Rebuilt {
		t.Helper()
		nc, err := bus.Endpoint{URL: nats.URL()}.Connect("test")
		if err != nil {
			t.Fatal(err)
		}
		defer nc.Close()
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		defer cancel()
		found, err := bus.Rebuild(ctx, decided.Outbox(st), nc, cfg)
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	js := func() jetstream.JetStream {
		nc, err := bus.Endpoint{URL: nats.URL()}.Connect("test")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(nc.Close)
		js, err := jetstream.New(nc)
		if err != nil {
			t.Fatal(err)
		}
		return js
	}
	var before map[string]string
	var kinds map[string]bool
	until(t, func() bool {
		before, kinds = published(t, js())
		return kinds["audit.sealed"] && rebuild(bus.RebuildConfig{DryRun: true}).Pending == 0
	})
	for _, kind := range []string{
		"workflow.registered", "run.started", "run.transitioned", "run.rejected", "run.approval.parked", "toolcall.allowed", "toolcall.denied",
		"toolcall.reported", "policy.put", "policy.attached", "approval.requested", "schema.registered", "session.created", "state.created",
		"state.updated", "component.created",
	} {
		if !kinds[kind] {
			t.Errorf("the walk has made no %s, but %v", kind, slices.Sorted(maps.Keys(kinds)))
		}
	}

	nats.Stop()
	if err := os.RemoveAll(nats.Dir); err != nil {
		t.Fatal(err)
	}
	nats.Start()
	until(t, func() bool { return c.events.Health() == nil })
	found := rebuild(bus.RebuildConfig{})
	after, _ := published(t, js())
	for id, text := range before {
		if after[id] != text {
			t.Errorf("event %s was\n%s\nand is\n%s", id, text, after[id])
		}
	}
	if len(found.Missing) < len(kinds)-1 || len(after) < len(before) {
		t.Errorf("%d events became %d: %+v", len(before), len(after), found)
	}
	if found := rebuild(bus.RebuildConfig{}); len(found.Missing) != 0 {
		t.Errorf("the second time: %+v", found)
	}
}

// walk does something of every kind.
func walk(t *testing.T, c *Server) {
	t.Helper()
	call(t, c, "POST", "/v1/workflows", `{"id":"w","initial":"a","meta":{"approval_mode":"ui"},"guards":{"g":{"field":"x","op":"eq","value":1}},"states":{
		"a":{"allowed_tools":["InA"],"on":{"GO":"b","NEVER":{"target":"b","guards":["g"]}}},
		"b":{"on":{"END":{"target":"end","requires_approval":true}}},"end":{"type":"final"}}}`)
	call(t, c, "POST", "/v1/policies", `{"name":"p","role":"agent","deny":[{"capability":"mcp:a:b"}]}`)
	call(t, c, "PUT", "/v1/policies/p/attachments/workflow/w", ``)
	run := call(t, c, "POST", "/v1/runs", `{"workflow":"w"}`)["run_id"]
	check := func(tool string) any {
		return call(t, c, "POST", fmt.Sprintf("/v1/runs/%s/check", run), fmt.Sprintf(`{"tool":%q}`, tool))["call_id"]
	}
	check("InB")
	call(t, c, "POST", fmt.Sprintf("/v1/runs/%s/report", run), fmt.Sprintf(`{"tool":"InA","call_id":%q,"ok":true}`, check("InA")))
	for _, event := range []string{"NEVER", "GO", "END"} {
		call(t, c, "POST", fmt.Sprintf("/v1/runs/%s/transition", run), fmt.Sprintf(`{"event":%q}`, event))
	}
	call(t, c, "POST", "/v1/schemas", `{"name":"s","json_schema":{"type":"object"}}`)
	state := call(t, c, "POST", "/v1/states", `{"schema_name":"s","session_name":"lead","initial_data":{}}`)["state_id"]
	call(t, c, "PATCH", fmt.Sprintf("/v1/states/%s", state), `{"operations":[{"op":"add","path":"/x","value":1}]}`)
	call(t, c, "POST", "/v1/components", `{"name":"C","slug":"c","persistence":"session","schema_definition":{"n":{"type":"integer"}},"initial_values":{"n":0}}`)
}
