package rest

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/process"
	"github.com/interlock-run/interlock/pkg/rules"
	"github.com/interlock-run/interlock/pkg/scenario"
	"github.com/interlock-run/interlock/pkg/workflow"
)

// TestSchemaStore: the catalog for editors has every schema, by its id and title, and each kind of file once.
func TestSchemaStore(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../../../deploy/schemastore/catalog.json")
	if err != nil {
		t.Fatal(err)
	}
	var catalog struct {
		Schemas []struct {
			Name, Description, URL string
			FileMatch              []string
		}
	}
	if err := json.Unmarshal(text, &catalog); err != nil {
		t.Fatal(err)
	}
	wanted := map[string]string{}
	for _, schema := range [][]byte{workflow.Schema(), rules.Schema(), process.Schema(), document.ComponentSchema(), scenario.Schema()} {
		var head struct {
			ID    string `json:"$id"`
			Title string
		}
		if err := json.Unmarshal(schema, &head); err != nil {
			t.Fatal(err)
		}
		wanted[head.ID] = head.Title
	}
	files := map[string]bool{}
	for _, s := range catalog.Schemas {
		if title, ok := wanted[s.URL]; !ok || s.Description == "" || len(s.FileMatch) == 0 {
			t.Errorf("%s is of no schema, or says too little (its title is %q)", s.URL, title)
		}
		delete(wanted, s.URL)
		for _, match := range s.FileMatch {
			if files[match] {
				t.Errorf("%s is of two schemas", match)
			}
			files[match] = true
		}
	}
	if len(wanted) > 0 {
		t.Errorf("the catalog lacks %v", wanted)
	}
}
