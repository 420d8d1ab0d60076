package gateway

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/interlock-run/interlock/services/gateway/internal/access"
)

// refuser is a part that serves nothing.
type refuser struct{ http.Handler }

func (refuser) Refuse(w http.ResponseWriter, _ *http.Request, why *access.Refusal) {
	http.Error(w, why.Message, why.Status)
}

// A path that is not written as it is gets an answer that says how to write it, and no
// redirect, on which clients lose what they sent.
func TestExactPaths(t *testing.T) {
	t.Parallel()
	mux := http.NewServeMux()
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	handler := exactPaths(mux, refuser{})
	for path, want := range map[string]int{
		"/": 204, "/mcp": 204, "/mcp/": 204, "/v1/runs/a%2Fb": 204, "/v1/runs/%2e%2e": 204,
		"//mcp": 404, "/v1//runs": 404, "/v1/./runs": 404, "/v1/../mcp": 404, "/mcp//": 404,
	} {
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://localhost"+path, http.NoBody))
		if w.Code != want {
			t.Errorf("%s: %d %s, want %d", path, w.Code, w.Body, want)
		}
	}
}
