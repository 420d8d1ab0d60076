package rest

import (
	"bytes"
	"encoding/json"
	"flag"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"
)

var update = flag.Bool("update", false, "write the golden files")

// TestConsoleKnowsTheAPI: the types of the console's code are made of this document.
func TestConsoleKnowsTheAPI(t *testing.T) {
	t.Parallel()
	const golden = "../../../../console/openapi.json"
	w := httptest.NewRecorder()
	newHouse(t).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/openapi.json", http.NoBody))
	var doc map[string]any
	if err := json.Unmarshal(w.Body.Bytes(), &doc); err != nil {
		t.Fatal(err)
	}
	doc["info"].(map[string]any)["version"] = ""
	got, err := json.MarshalIndent(doc, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	got = append(got, '\n')
	if *update {
		if err := os.WriteFile(golden, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("console/openapi.json is not what the edge serves: run `go test ./services/gateway/internal/rest -run TestConsoleKnowsTheAPI -update` and `make console` (%v)", err)
	}
}
