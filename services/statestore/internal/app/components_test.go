package app_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/services/statestore/internal/components"
	"github.com/interlock-run/interlock/services/statestore/internal/member"
	"github.com/interlock-run/interlock/services/statestore/internal/opening"
	"github.com/interlock-run/interlock/services/statestore/internal/ports"
)

// The components that the description of them shows.
const (
	support = `{"name":"Support Session State","slug":"support-session-state","description":"Tracks conversation context for customer support agents",` +
		`"schema_definition":{"customer_id":{"type":"string"},"customer_name":{"type":"string"},` +
		`"account_tier":{"type":"string","enum":["free","starter","pro","enterprise"]},"ticket_ids":{"type":"array","items":{"type":"string"}},` +
		`"escalated":{"type":"boolean"},"sentiment_score":{"type":"number"}},"persistence":"session",` +
		`"initial_values":{"ticket_ids":[],"escalated":false,"sentiment_score":0.0},"tags":["support","session"]}`
	conversation = `{"name":"Conversation Context","slug":"conversation-context","persistence":"session",` +
		`"schema_definition":{"messages_sent":{"type":"integer"},"topics_discussed":{"type":"array","items":{"type":"string"}},"resolved":{"type":"boolean"}},` +
		`"initial_values":{"messages_sent":0,"topics_discussed":[],"resolved":false}}`
	preferences = `{"name":"User Preferences","slug":"user-preferences","persistence":"long_term",` +
		`"schema_definition":{"preferred_language":{"type":"string"},"timezone":{"type":"string"},"notification_settings":{"type":"object",` +
		`"properties":{"email":{"type":"boolean"},"slack":{"type":"boolean"}}},"interaction_count":{"type":"integer"}},` +
		`"initial_values":{"preferred_language":"en","timezone":"UTC","notification_settings":{"email":true,"slack":false},"interaction_count":0}}`
	wizard = `{"name":"Wizard Flow State","slug":"wizard-flow-state","persistence":"session",` +
		`"schema_definition":{"current_step":{"type":"integer"},"total_steps":{"type":"integer"},"completed_steps":{"type":"array","items":{"type":"integer"}},"form_data":{"type":"object"}},` +
		`"initial_values":{"current_step":1,"total_steps":5,"completed_steps":[],"form_data":{}}}`
	scratch = `{"name":"Scratch","slug":"scratch","persistence":"none","schema_definition":{"n":{"type":"integer"}},"initial_values":{"n":1}}`
)

// component stores a component that must be accepted.
func (r *rig) component(definition string) *components.Component {
	r.Helper()
	c, err := r.Components.Create(r.Context(), operator, []byte(definition), "")
	if err != nil {
		r.Fatalf("component: %v", err)
	}
	return c
}

// begin starts an execution that must start.
func (r *rig) begin(caller ports.Caller, scope components.Scope) *components.Execution {
	r.Helper()
	ex, err := r.Executions.Begin(r.Context(), caller, scope)
	if err != nil {
		r.Fatalf("begin %+v: %v", scope, err)
	}
	return ex
}

// commit ends an execution that must end well.
func (r *rig) commit(caller ports.Caller, ex *components.Execution, out components.Outcome) *components.Execution {
	r.Helper()
	after, err := r.Executions.End(r.Context(), caller, ex.ID, out)
	if err != nil {
		r.Fatalf("commit: %v", err)
	}
	return after
}

func valuesAre(text string) components.Outcome { return components.Outcome{Values: []byte(text)} }
func merged(text string) components.Outcome    { return components.Outcome{Merge: []byte(text)} }

// S12.1, S12.2: the components of the description, with what an execution begins with.
func TestDescribedComponents(t *testing.T) {
	t.Parallel()
	everywhere(t, ports.Config{}, func(r *rig) {
		r.session(opening.Request{Name: "s"})
		for _, c := range []struct{ definition, slug, values, unset string }{
			{
				support, "support-session-state",
				`{"customer_id":null,"customer_name":null,"account_tier":null,"ticket_ids":[],"escalated":false,"sentiment_score":0.0}`,
				"customer_id customer_name account_tier",
			},
			{conversation, "conversation-context", `{"messages_sent":0,"topics_discussed":[],"resolved":false}`, ""},
			{preferences, "user-preferences", `{"preferred_language":"en","timezone":"UTC","notification_settings":{"email":true,"slack":false},"interaction_count":0}`, ""},
			{wizard, "wizard-flow-state", `{"current_step":1,"total_steps":5,"completed_steps":[],"form_data":{}}`, ""},
		} {
			made := r.component(c.definition)
			got, err := r.replicas(1)[0].Components.Get(r.Context(), "default", c.slug)
			if err != nil || got.Definition.String() != c.definition || got.Version != 1 || !got.CreatedAt.Equal(made.CreatedAt) {
				r.Errorf("%s is %+v, %v", c.slug, got, err)
			}
			ex := r.begin(as("s"), components.Scope{Slug: c.slug})
			if ex.Values.String() != c.values || strings.Join(ex.Unset, " ") != c.unset || ex.Version != 0 || ex.Persistence != got.Persistence {
				r.Errorf("%s begins with %s, unset %v", c.slug, ex.Values, ex.Unset)
			}
		}
		// The executions that it tells of.
		for _, step := range []struct{ before, after string }{
			{`{"messages_sent":0,"topics_discussed":[],"resolved":false}`, `{"messages_sent":1,"topics_discussed":["billing"],"resolved":false}`},
			{`{"messages_sent":1,"topics_discussed":["billing"],"resolved":false}`, `{"messages_sent":2,"topics_discussed":["billing","dispute"],"resolved":false}`},
			{`{"messages_sent":2,"topics_discussed":["billing","dispute"],"resolved":false}`, `{"messages_sent":3,"topics_discussed":["billing","dispute"],"resolved":true}`},
		} {
			ex := r.begin(agent("s"), components.Scope{Slug: "conversation-context"})
			if got := ex.Values.String(); got != step.before {
				r.Errorf("it begins with %s, not with %s", got, step.before)
			}
			if after := r.commit(agent("s"), ex, valuesAre(step.after)); after.Values.String() != step.after || after.Version != ex.Version+1 {
				r.Errorf("it ends with %+v", after)
			}
		}
	})
}

func TestComponentsAreStored(t *testing.T) {
	t.Parallel()
	everywhere(t, ports.Config{}, func(r *rig) {
		create := func(definition, key string) (*components.Component, error) {
			return r.Components.Create(r.Context(), operator, []byte(definition), key)
		}
		changed := strings.Replace(scratch, `"n":1`, `"n":2`, 1)
		first, err := create(scratch, "k")
		if err != nil {
			r.Fatal(err)
		}
		for _, key := range []string{"k", "", "other"} {
			if again, err := create(scratch, key); err != nil || again.Version != 1 {
				r.Errorf("the same again with key %q: %+v, %v", key, again, err)
			}
		}
		_, err = create(changed, "")
		r.refused(err, fault.NameTaken)
		_, err = create(changed, "k")
		r.refused(err, fault.IdempotencyMismatch)

		r.clock.Advance(time.Second)
		update := func(slug, definition string, expected int64) (*components.Component, error) {
			return r.Components.Update(r.Context(), operator, slug, []byte(definition), expected)
		}
		second, err := update("scratch", changed, 1)
		if err != nil || second.Version != 2 || !second.CreatedAt.Equal(first.CreatedAt) || !second.UpdatedAt.Equal(r.clock.Now()) || second.Definition.String() != changed {
			r.Errorf("updated: %+v, %v", second, err)
		}
		if again, err := create(scratch, "k"); err != nil || again.Version != 2 { // the repeat of a request that was carried out
			r.Errorf("created again with its key: %+v, %v", again, err)
		}
		_, err = create(scratch, "")
		r.refused(err, fault.NameTaken)
		_, err = update("scratch", scratch, 1)
		r.refused(err, fault.VersionConflict)
		_, err = update("none", scratch, 0)
		r.refused(err, fault.InvalidRequest)
		_, err = update("wizard-flow-state", wizard, 0)
		r.refused(err, fault.NotFound)

		remove := func(slug string, expected int64) error {
			return r.Components.Delete(r.Context(), operator, slug, expected)
		}
		r.refused(remove("scratch", 1), fault.VersionConflict)
		if err := remove("scratch", 2); err != nil {
			r.Fatal(err)
		}
		r.refused(remove("scratch", 0), fault.NotFound)
		_, err = r.Components.Get(r.Context(), "default", "scratch")
		r.refused(err, fault.NotFound)
		_, err = update("scratch", scratch, 0)
		r.refused(err, fault.NotFound)
		// No version means two things.
		if third, err := create(scratch, "k"); err != nil || third.Version != 4 || !third.CreatedAt.Equal(r.clock.Now()) {
			r.Errorf("created anew: %+v, %v", third, err)
		}
	})
}

func TestComponentLists(t *testing.T) {
	t.Parallel()
	everywhere(t, ports.Config{}, func(r *rig) {
		for i := range 9 {
			r.component(fmt.Sprintf(`{"name":"C","slug":"c%d","tags":["all","by-%d"]}`, i, i%2))
		}
		for _, slug := range []string{"c0", "c4", "c8"} {
			if err := r.Components.Delete(r.Context(), operator, slug, 0); err != nil {
				r.Fatal(err)
			}
		}
		for tag, want := range map[string]string{"": "c1 c2 c3 c5 c6 c7", "all": "c1 c2 c3 c5 c6 c7", "by-0": "c2 c6", "by-1": "c1 c3 c5 c7", "none": ""} {
			for limit := 1; limit < 8; limit++ {
				var found []string
				for after := ""; ; {
					page, next, err := r.Components.List(r.Context(), "default", tag, after, limit)
					if err != nil || len(page) > limit {
						r.Fatalf("a page of %d by %d, %v", len(page), limit, err)
					}
					for _, c := range page {
						found = append(found, c.Slug)
					}
					if after = next; next == "" {
						break
					}
				}
				if got := strings.Join(found, " "); got != want {
					r.Errorf("tag %q by %d: %s, want %s", tag, limit, got, want)
				}
			}
		}
	})
}

func TestInvalidComponentsAreRefused(t *testing.T) {
	t.Parallel()
	everywhere(t, ports.Config{}, func(r *rig) {
		for definition, reason := range map[string]fault.Reason{
			``:                          fault.InvalidJSON,
			`{"name":"x","name":"y"}`:   fault.InvalidJSON,
			`[]`:                        fault.InvalidDefinition,
			`{"name":"x"}`:              fault.InvalidDefinition,
			`{"name":"x","slug":"A b"}`: fault.InvalidDefinition,
			`{"name":"x","slug":"x","persistence":"forever"}`:                                                fault.InvalidDefinition,
			`{"name":"x","slug":"x","schema_definition":{"n":{"type":"integr"}}}`:                            fault.InvalidDefinition,
			`{"name":"x","slug":"x","schema_definition":{"n":{"$ref":"http://127.0.0.1/x"}}}`:                fault.InvalidDefinition,
			`{"name":"x","slug":"x","schema_definition":{"n":{"type":"integer"}},"initial_values":{"m":1}}`:  fault.InvalidDefinition,
			`{"name":"x","slug":"x","schema_definition":{"n":{"type":"integer"}},"initial_values":{"n":""}}`: fault.InvalidDefinition,
		} {
			_, err := r.Components.Create(r.Context(), operator, []byte(definition), "")
			if got := fault.ReasonOf(err); got != reason {
				r.Errorf("%s: %v, want %s", definition, err, reason)
			}
		}
		_, err := r.Components.Get(r.Context(), "default", "x")
		r.refused(err, fault.NotFound)
	})
}

// S12.3: what is kept of an execution: nothing, or for its session, or for its
// subject across sessions.
func TestPersistence(t *testing.T) {
	t.Parallel()
	everywhere(t, ports.Config{}, func(r *rig) {
		for _, definition := range []string{scratch, wizard, preferences} {
			r.component(definition)
		}
		r.session(opening.Request{Name: "ann's"})
		r.session(opening.Request{Name: "ann's second", Subject: "ann's"})
		r.session(opening.Request{Name: "child", Parent: "ann's"})
		r.session(opening.Request{Name: "bob's"})
		change := map[string]string{"scratch": `{"n":2}`, "wizard-flow-state": `{"current_step":2}`, "user-preferences": `{"timezone":"CET"}`}
		for slug, out := range change {
			r.commit(agent("ann's"), r.begin(agent("ann's"), components.Scope{Slug: slug}), merged(out))
		}
		for slug, sees := range map[string]string{"scratch": "", "wizard-flow-state": "ann's", "user-preferences": "ann's, ann's second, child"} {
			for _, session := range []string{"ann's", "ann's second", "child", "bob's"} {
				v, err := r.Executions.Read(r.Context(), agent(session), components.Scope{Slug: slug})
				if err != nil || v.ID != "" {
					r.Fatalf("%s of %s: %+v, %v", slug, session, v, err)
				}
				want := int64(0)
				for _, who := range strings.Split(sees, ", ") {
					if who == session {
						want = 1
					}
				}
				if v.Version != want || (v.Values.String() == r.begin(agent(session), components.Scope{Slug: slug}).Values.String()) != true {
					r.Errorf("%s of %s is at version %d with %s, want %d", slug, session, v.Version, v.Values, want)
				}
			}
		}

		// Whose they are must be said, and an agent's are its session's own.
		for _, c := range []struct {
			caller ports.Caller
			scope  components.Scope
			reason fault.Reason
		}{
			{operator, components.Scope{}, fault.InvalidRequest},
			{agent("bob's"), components.Scope{}, fault.InvalidRequest},
			{operator, components.Scope{Slug: "none"}, fault.NotFound},
			{operator, components.Scope{Slug: "scratch"}, ""},
			{operator, components.Scope{Slug: "wizard-flow-state"}, fault.SessionRequired},
			{operator, components.Scope{Slug: "user-preferences"}, fault.InvalidRequest},
			{operator, components.Scope{Slug: "user-preferences", Subject: "a\nb"}, fault.InvalidRequest},
			{operator, components.Scope{Slug: "user-preferences", Subject: "ann's"}, ""},
			{as("bob's"), components.Scope{Slug: "user-preferences", Subject: "ann's"}, ""},
			{agent("bob's"), components.Scope{Slug: "user-preferences", Subject: "ann's"}, fault.PermissionDenied},
			{agent(""), components.Scope{Slug: "user-preferences", Subject: "ann's"}, fault.PermissionDenied},
			{agent("ann's second"), components.Scope{Slug: "user-preferences", Subject: "ann's"}, ""},
			{agent("nobody"), components.Scope{Slug: "user-preferences"}, fault.NotFound},
		} {
			_, err := r.Executions.Begin(r.Context(), c.caller, c.scope)
			if got := fault.ReasonOf(err); got != c.reason {
				r.Errorf("%q %+v: %v, want %q", c.caller.Session, c.scope, err, c.reason)
			}
			_, err = r.Executions.Read(r.Context(), c.caller, c.scope)
			if got := fault.ReasonOf(err); got != c.reason {
				r.Errorf("reading %q %+v: %v, want %q", c.caller.Session, c.scope, err, c.reason)
			}
		}
		// Nor can it end what another began.
		for _, slug := range []string{"wizard-flow-state", "user-preferences"} {
			ex := r.begin(agent("ann's"), components.Scope{Slug: slug})
			_, err := r.Executions.End(r.Context(), agent("bob's"), ex.ID, merged(`{}`))
			r.refused(err, fault.PermissionDenied)
		}
		ex := r.begin(operator, components.Scope{Slug: "user-preferences", Subject: "ann's"})
		_, err := r.Executions.End(r.Context(), agent("bob's"), ex.ID, merged(`{}`))
		r.refused(err, fault.PermissionDenied)
	})
}

// An agent does not choose whose long-term values it uses: those of a tree that it has
// made are nobody else's, and those below another session are that one's.
func TestAgentsDoNotChooseTheirSubject(t *testing.T) {
	t.Parallel()
	everywhere(t, ports.Config{}, func(r *rig) {
		r.component(preferences)
		create := func(caller ports.Caller, req opening.Request) (*member.Member, error) {
			m, _, err := r.Opener.Create(r.Context(), caller, req)
			return m, err
		}
		r.session(opening.Request{Name: "desk", Subject: "ann"})
		r.commit(agent("desk"), r.begin(agent("desk"), components.Scope{Slug: "user-preferences"}), merged(`{"timezone":"CET"}`))
		_, err := create(agent(""), opening.Request{Name: "thief", Subject: "ann"})
		r.refused(err, fault.PermissionDenied)
		_, err = create(agent("desk"), opening.Request{Name: "thief", Parent: "desk", Subject: "bob"})
		r.refused(err, fault.PermissionDenied)
		longest := strings.Repeat("x", 256)
		for name, version := range map[string]int64{"ann": 0, longest: 0, "below": 1} {
			req := opening.Request{Name: name}
			caller := agent("")
			if name == "below" {
				req.Parent, caller = "desk", agent("desk")
			}
			if _, err := create(caller, req); err != nil {
				r.Fatal(err)
			}
			if ex := r.begin(agent(name), components.Scope{Slug: "user-preferences"}); ex.Version != version {
				r.Errorf("%s begins with the values of %s at version %d", name, ex.Subject, ex.Version)
			}
		}
	})
}

// A definition that has changed applies to what is kept: fields that it no longer
// declares are gone, new ones begin as for a new instance.
func TestValuesUnderANewDefinition(t *testing.T) {
	t.Parallel()
	everywhere(t, ports.Config{}, func(r *rig) {
		r.component(`{"name":"C","slug":"c","persistence":"long_term","schema_definition":{"old":{"type":"integer"},"kept":{"type":"integer"},"unset":{"type":"integer"}}}`)
		scope := components.Scope{Slug: "c", Subject: "s"}
		r.commit(operator, r.begin(operator, scope), merged(`{"old":1,"kept":2}`))
		_, err := r.Components.Update(r.Context(), operator, "c", []byte(`{"name":"C","slug":"c","persistence":"long_term",`+
			`"schema_definition":{"kept":{"type":"string"},"unset":{"type":"string"},"new":{"type":"string"},"more":{"type":"string"}},"initial_values":{"more":"m"}}`), 0)
		if err != nil {
			r.Fatal(err)
		}
		ex := r.begin(operator, scope)
		if got := ex.Values.String(); got != `{"kept":2,"unset":null,"new":null,"more":"m"}` || fmt.Sprint(ex.Unset) != "[unset new]" || ex.Version != 1 {
			r.Errorf("it begins with %s, unset %v, version %d", got, ex.Unset, ex.Version)
		}
		_, err = r.Executions.End(r.Context(), operator, ex.ID, merged(`{"new":"n"}`))
		r.refused(err, fault.SchemaViolation) // what was kept does not fit
		after := r.commit(operator, ex, merged(`{"new":"n","kept":"k"}`))
		if got := after.Values.String(); got != `{"kept":"k","unset":null,"new":"n","more":"m"}` || after.Version != 2 {
			r.Errorf("it ends with %s", got)
		}
		if _, ok := document.Lookup(r.begin(operator, scope).Values, "/old"); ok {
			r.Error("what is not declared is back")
		}
	})
}

// Two that create one component at once: one does, the other is told so.
func TestReplicasCreateOneComponent(t *testing.T) {
	t.Parallel()
	everywhere(t, ports.Config{}, func(r *rig) {
		var mu sync.Mutex
		made := 0
		var group sync.WaitGroup
		for i, a := range r.replicas(6) {
			group.Go(func() {
				definition := strings.Replace(scratch, `"n":1`, fmt.Sprintf(`"n":%d`, i), 1)
				_, err := a.Components.Create(r.Context(), operator, []byte(definition), "")
				mu.Lock()
				defer mu.Unlock()
				if err == nil {
					made++
				} else if fault.ReasonOf(err) != fault.NameTaken {
					r.Errorf("%v", err)
				}
			})
		}
		group.Wait()
		if c, err := r.Components.Get(r.Context(), "default", "scratch"); made != 1 || err != nil || c.Version != 1 {
			r.Errorf("%d have created %+v, %v", made, c, err)
		}
	})
}
