package rest

import (
	"net/url"
	"testing"
)

// TestSources: routes of the source documents answer like those of this API, and no other path
// is rewritten.
func TestSources(t *testing.T) {
	t.Parallel()
	for from, want := range map[string]string{
		"/sessions": "/v1/sessions", "/sessions/a%2Fb/stop": "/v1/sessions/a%2Fb/stop", "/sessions/s/workflow-state": "/v1/sessions/s/state",
		"/sessions/a%2Fb/workflow-state": "/v1/sessions/a%2Fb/state", "/sessions/workflow-state": "/v1/sessions/workflow-state",
		"/sessions/s/x/workflow-state": "/v1/sessions/s/x/workflow-state", "/workflow-states/s/workflow-state": "/v1/states/s/workflow-state",
		"/workflow-schemas": "/v1/schemas", "/workflow-schemas/x/versions": "/v1/schemas/x/versions",
		"/workflow-states": "/v1/states", "/workflow-states/s/lock": "/v1/states/s/lock",
		"/workflow-state": "/v1/state", "/workflow-state/s": "/v1/states/s",
		"/sessionsx": "/sessionsx", "/workflow-statesx/y": "/workflow-statesx/y", "/v1/sessions": "/v1/sessions", "/sess%69ons/a%2Fb": "/sess%69ons/a%2Fb",
		"/": "/", "/workflow-schema.json": "/workflow-schema.json",
	} {
		u, err := url.Parse("http://localhost" + from + "?pointer=%2Fa")
		if err != nil {
			t.Fatal(err)
		}
		if got := rooted(u); got.EscapedPath() != want || got.RawQuery != "pointer=%2Fa" {
			t.Errorf("%s: %s, want %s", from, got, want)
		}
	}
	h := newHouse(t)
	for from, to := range map[string]string{
		"/sessions/s": "/v1/sessions/s", "/workflow-schemas": "/v1/schemas", "/workflow-states/s/history": "/v1/states/s/history",
		"/workflow-state": "/v1/state", "/workflow-state/s": "/v1/states/s",
	} {
		got, want := h.do("GET", from, ""), h.do("GET", to, "")
		if got.Code != 200 || got.Body.String() != want.Body.String() {
			t.Errorf("%s: %d %s, want %s", from, got.Code, got.Body, want.Body)
		}
	}
}
