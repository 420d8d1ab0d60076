package recorded_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/interlock-run/interlock/services/internal/recorded"
)

const exported = `{"format": "interlock-run/1", "run_id": "run_1", "workflow": "w", "definitions": [
	{"name": "w", "version": 1, "definition": {"id": "w", "initial": "a", "states": {"a": {"on": {"GO": "a", "END": "z"}}, "z": {"type": "final"}}}}],
	"policies": [], "history": [
	{"run_version": 1, "workflow_version": 1, "type": "started", "to": "a", "status": "RUNNING"},
	{"run_version": 2, "workflow_version": 1, "type": "transitioned", "event": "GO", "from": "a", "to": "a", "status": "RUNNING"},
	{"run_version": 3, "workflow_version": 1, "type": "transitioned", "event": "END", "from": "a", "to": "z", "status": "COMPLETED"}],
	"decisions": [
	{"sequence": 2, "run_id": "run_1", "run_version": 1, "state": "a", "tool": "Read", "decision": "ALLOW"},
	{"sequence": 5, "run_id": "run_1", "run_version": 2, "state": "a", "tool": "Read", "decision": "ALLOW"}]}`

// A file that is not one whole run is refused: statements about it would be about a run
// that there was not.
func TestMixedUp(t *testing.T) {
	t.Parallel()
	r, err := recorded.Read("f", []byte(exported))
	if err == nil {
		_, err = r.Trace()
	}
	if err != nil {
		t.Fatal(err)
	}
	type object = map[string]any
	list := func(o object, name string) []any { return o[name].([]any) }
	for name, c := range map[string]struct {
		do   func(object)
		says string
	}{
		"no run":                    {func(o object) { o["run_id"] = "" }, "names no run"},
		"no history":                {func(o object) { o["history"] = []any{} }, "no history"},
		"a gap":                     {func(o object) { o["history"] = append(list(o, "history")[:1:1], list(o, "history")[2]) }, "where version 2 must be"},
		"no beginning":              {func(o object) { o["history"] = list(o, "history")[1:] }, "where version 1 must be"},
		"it starts twice":           {func(o object) { list(o, "history")[1].(object)["type"] = "started" }, `"started"`},
		"it does not start":         {func(o object) { list(o, "history")[0].(object)["type"] = "transitioned" }, `"transitioned"`},
		"the wrong way round":       {func(o object) { h := list(o, "history"); h[0], h[2] = h[2], h[0] }, "where version 1 must be"},
		"a decision of another run": {func(o object) { list(o, "decisions")[0].(object)["run_id"] = "run_2" }, `"run_2"`},
		"another run's decisions":   {func(o object) { o["run_id"] = "run_2" }, `"run_1"`},
		"a decision twice":          {func(o object) { o["decisions"] = append(list(o, "decisions"), list(o, "decisions")[1]) }, "after decision 5"},
		"no decision":               {func(o object) { list(o, "decisions")[0].(object)["decision"] = "MAYBE" }, "MAYBE"},
		"another workflow":          {func(o object) { o["workflow"] = "v" }, `"v"`},
		"a definition twice":        {func(o object) { o["definitions"] = append(list(o, "definitions"), list(o, "definitions")[0]) }, "once"},
		"a policy twice": {func(o object) {
			p := object{"name": "p", "version": 1, "definition": object{"role": "agent"}}
			o["policies"] = []any{p, p}
		}, "twice"},
		"the definition of another workflow": {func(o object) { list(o, "definitions")[0].(object)["definition"].(object)["id"] = "v" }, `"v"`},
	} {
		var o object
		if err := json.Unmarshal([]byte(exported), &o); err != nil {
			t.Fatal(err)
		}
		c.do(o)
		text, err := json.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		r, err := recorded.Read("f", text)
		if err == nil {
			_, err = r.Trace()
		}
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, which does not say %q", name, err, c.says)
		}
	}
}
