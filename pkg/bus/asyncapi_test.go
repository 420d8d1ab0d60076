package bus

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	eventv1 "github.com/interlock-run/interlock/gen/go/interlock/event/v1"
	"github.com/interlock-run/interlock/pkg/bus/bustest"
)

// Each event that docs/events.md shows is as the document says, and each event of the document has the CloudEvents type and
// the subject that its message has.
func TestAsyncAPI(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/events.md")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile("(?s)```json event\n(.*?)```").FindAllSubmatch(text, -1)
	if len(found) < 40 {
		t.Errorf("docs/events.md shows %d events", len(found))
	}
	for _, example := range found {
		bustest.Valid(t, AsyncAPI, example[1])
	}
	var document struct {
		Channels   map[string]struct{ Address string }
		Components struct {
			Messages map[string]struct{ Name string }
		}
	}
	if err := json.Unmarshal(AsyncAPI, &document); err != nil {
		t.Fatal(err)
	}
	for name, channel := range document.Channels {
		entity, kind, _ := strings.Cut(name, ".")
		if want := (Subject{Namespace: "namespace", Entity: entity, ID: "id", Type: kind}).String(); strings.NewReplacer("{", "", "}", "").Replace(channel.Address) != want {
			t.Errorf("%s has the address %s, want %s", name, channel.Address, want)
		}
		if got := document.Components.Messages[name].Name; got != TypePrefix+name {
			t.Errorf("%s has the type %s", name, got)
		}
	}
}

// What is not in the document is refused by the test's own check.
func TestAsyncAPIRefuses(t *testing.T) {
	t.Parallel()
	ev := sample()
	for name, change := range map[string]func(){
		"another type":    func() { ev.Type = "moved" },
		"another payload": func() { ev.Payload = &eventv1.Event_RunResumed{RunResumed: &eventv1.RunResumed{}} },
	} {
		ev = sample()
		change()
		payload, err := Payload(ev)
		if err != nil {
			t.Fatal(err)
		}
		refused := &refusals{TB: t}
		if bustest.Valid(refused, AsyncAPI, payload); refused.said == "" {
			t.Errorf("%s passes", name)
		}
	}
}

type refusals struct {
	testing.TB
	said string
}

func (r *refusals) Errorf(format string, args ...any) { r.said += fmt.Sprintf(format, args...) }
