package allinone

import (
	"fmt"
	"log/slog"
	"testing"

	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/store/redisstore"
	"github.com/interlock-run/interlock/pkg/store/redisstore/redistest"
)

// A hook lets the calls of a session pass that drives no run. One that is bound to a run which
// is missing drives one, and no call passes.
func TestABoundSessionWithoutItsRunIsDenied(t *testing.T) {
	t.Parallel()
	redis := redistest.Start(t)
	c := start(t, Config{Store: redis.URL()})
	call(t, c, "POST", "/v1/workflows", definition)
	run := call(t, c, "POST", "/v1/runs", `{"workflow":"w","session_id":"s"}`)["run_id"]
	hook := func(session string) map[string]any {
		return call(t, c, "POST", "/v1/hook", fmt.Sprintf(
			`{"hook_event_name":"PreToolUse","session_id":%q,"tool_name":"Read","tool_input":{},"tool_use_id":"t"}`, session))
	}
	if answer := hook("s"); answer["exit"] != 0.0 {
		t.Fatalf("with its run: %v", answer)
	}
	st, err := redisstore.Open(t.Context(), redisstore.Config{URL: redis.URL(), Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	key := store.Key{Namespace: "default", Kind: "run", ID: run.(string)}
	if _, err := st.Commit(t.Context(), store.Batch{Deletes: []store.Check{{Key: key, Version: store.AnyVersion}}}); err != nil {
		t.Fatal(err)
	}
	if answer := hook("s"); answer["exit"] != 2.0 {
		t.Errorf("without its run: %v", answer)
	}
	if answer := hook("other"); answer["exit"] != 0.0 {
		t.Errorf("a session that drives nothing: %v", answer)
	}
}
