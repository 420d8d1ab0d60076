package chart

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// The schema knows every value that values.yaml has, and values.yaml shows every value that
// the schema knows.
func TestSchemaAndValuesSayTheSame(t *testing.T) {
	t.Parallel()
	var schema, values map[string]any
	for file, into := range map[string]*map[string]any{"values.schema.json": &schema, "values.yaml": &values} {
		data, err := os.ReadFile(filepath.Join(chartDir, file))
		if err != nil {
			t.Fatal(err)
		}
		if err := yaml.Unmarshal(data, into); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
	}
	services := schema["$defs"].(map[string]any)["service"]
	compare(t, "", schema, values, services)
}

// shown is where values.yaml has less than the schema: what defaults has counts for every
// service, and what is of free form is empty.
func shown(path, key string) bool {
	switch {
	case path == "/engine", path == "/policyEnforcer", path == "/stateStore", path == "/approval", path == "/gateway", path == "/allInOne":
		return true // as in defaults
	case key == "digest", key == "ephemeral-storage", key == "registry", key == "cpu",
		strings.HasSuffix(path, "/issuerRef"), strings.HasSuffix(path, "/existingSecrets"):
		return true
	}
	return false
}

func compare(t *testing.T, path string, schema, values map[string]any, services any) {
	t.Helper()
	if schema["$ref"] != nil {
		schema = services.(map[string]any)
	}
	properties, _ := schema["properties"].(map[string]any)
	if properties == nil {
		return
	}
	if schema["additionalProperties"] != false && path != "" && path != "/global" {
		t.Errorf("the schema takes any key in %s", path)
	}
	for key := range values {
		if properties[key] == nil {
			t.Errorf("the schema does not know %s/%s", path, key)
		}
	}
	for key, of := range properties {
		value, there := values[key]
		if !there && !shown(path, key) {
			t.Errorf("values.yaml does not show %s/%s", path, key)
		}
		if below, is := value.(map[string]any); is {
			compare(t, path+"/"+key, of.(map[string]any), below, services)
		}
	}
}

// The schema is JSON that is written in one way.
func TestSchemaIsFormatted(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile(filepath.Join(chartDir, "values.schema.json"))
	if err != nil {
		t.Fatal(err)
	}
	if !json.Valid(data) || !strings.HasSuffix(string(data), "}\n") {
		t.Error("values.schema.json is not JSON with a newline at its end")
	}
}
