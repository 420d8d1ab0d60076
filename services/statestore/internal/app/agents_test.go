package app_test

import (
	"strings"
	"sync"
	"testing"

	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/services/internal/ledger"
	"github.com/interlock-run/interlock/services/statestore/internal/agents"
	"github.com/interlock-run/interlock/services/statestore/internal/opening"
	"github.com/interlock-run/interlock/services/statestore/internal/ports"
)

// S15.10: agents are objects with ids, times and versions, and sessions start from them.
func TestAgentsAreObjects(t *testing.T) {
	t.Parallel()
	everywhere(t, ports.Config{}, func(r *rig) {
		c := r.component(support)
		if !strings.HasPrefix(c.ID, "comp_") {
			r.Errorf("the component's id is %q", c.ID)
		}
		spec := agents.Spec{
			Name: "support", ModelRef: "m1", Instructions: "Be kind.", ToolRefs: []string{"Read"}, StateRefs: []string{c.ID, "support-session-state"},
			Workflow: "case", Policy: "careful", EnableConversations: true,
		}
		made, err := r.Agents.Create(r.Context(), operator, spec)
		if err != nil || !strings.HasPrefix(made.ID, "agent_") || made.Version != 1 || !made.CreatedAt.Equal(r.clock.Now()) || !made.UpdatedAt.Equal(made.CreatedAt) {
			r.Fatalf("%+v, %v", made, err)
		}
		again, err := r.Agents.Create(r.Context(), operator, spec)
		if err != nil || again.ID != made.ID || again.Version != 1 {
			r.Errorf("the same again: %+v, %v", again, err)
		}
		other := spec
		other.ModelRef = "m2"
		_, err = r.Agents.Create(r.Context(), operator, other)
		r.refused(err, fault.NameTaken)

		_, _, err = r.Opener.Create(r.Context(), operator, opening.Request{Name: "case-1", Agent: "support"})
		r.refused(err, fault.FailedPrecondition) // its policy does not exist (S7.10)
		if _, err := r.store.Commit(r.Context(), store.Batch{Puts: []store.Put{{
			Key: ledger.PolicyIndexOf(operator.Namespace), Expect: store.Absent, Data: []byte(`{"policies": {"careful": {}}}`),
		}}}); err != nil {
			r.Fatal(err)
		}
		s := r.session(opening.Request{Name: "case-1", Agent: "support"})
		if s.Agent != "support" || s.StateRef != "support-session-state" {
			r.Errorf("the session is of %q, its component is %q", s.Agent, s.StateRef)
		}
		if s := r.session(opening.Request{Name: "case-2", StateRef: c.ID}); s.StateRef != "support-session-state" {
			r.Errorf("by the id: %q", s.StateRef)
		}
		_, _, err = r.Opener.Create(r.Context(), operator, opening.Request{Name: "case-3", Agent: "nobody"})
		r.refused(err, fault.NotFound)

		_, err = r.Agents.Update(r.Context(), operator, other, 7)
		r.refused(err, fault.VersionConflict)
		changed, err := r.Agents.Update(r.Context(), operator, other, 1)
		if err != nil || changed.ID != made.ID || changed.Version != 2 || changed.ModelRef != "m2" {
			r.Errorf("%+v, %v", changed, err)
		}
		if err := r.Agents.Delete(r.Context(), operator, "support", 2); err != nil {
			r.Fatal(err)
		}
		deleted, err := r.store.Get(r.Context(), ledger.AgentOf(operator.Namespace, "support"))
		if policy, bad := ledger.ReadAgentPolicy(deleted); err != nil || bad != nil || policy != "careful" {
			r.Errorf("the policy of the deleted agent's sessions is %q: %v, %v", policy, err, bad)
		}
		_, err = r.Agents.Get(r.Context(), operator.Namespace, "support")
		r.refused(err, fault.NotFound)
		_, err = r.Agents.Update(r.Context(), operator, other, 0)
		r.refused(err, fault.NotFound)
		fresh, err := r.Agents.Create(r.Context(), operator, spec)
		if err != nil || fresh.ID == made.ID || fresh.Version != 4 {
			r.Errorf("after the deletion: %+v, %v", fresh, err)
		}
	})
}

func TestAgentsThatAreRefused(t *testing.T) {
	t.Parallel()
	everywhere(t, ports.Config{}, func(r *rig) {
		for _, spec := range []agents.Spec{{Name: "a", StateRefs: []string{"none"}}, {Name: "a", StateRefs: []string{"comp_none"}}} {
			_, err := r.Agents.Create(r.Context(), operator, spec)
			r.refused(err, fault.NotFound)
		}
		_, err := r.Agents.Create(r.Context(), operator, agents.Spec{Name: " a"})
		r.refused(err, fault.InvalidRequest)
	})
}

func TestAgentsAreListedByName(t *testing.T) {
	t.Parallel()
	everywhere(t, ports.Config{}, func(r *rig) {
		var group sync.WaitGroup
		for _, name := range []string{"c", "a", "d", "b", "a"} {
			group.Go(func() {
				if _, err := r.Agents.Create(r.Context(), operator, agents.Spec{Name: name}); err != nil {
					r.Error(err)
				}
			})
		}
		group.Wait()
		if err := r.Agents.Delete(r.Context(), operator, "b", 0); err != nil {
			r.Fatal(err)
		}
		var names []string
		for after := ""; ; {
			page, next, err := r.Agents.List(r.Context(), operator.Namespace, after, 2)
			if err != nil {
				r.Fatal(err)
			}
			for _, a := range page {
				names = append(names, a.Name)
			}
			if after = next; next == "" {
				break
			}
		}
		if got := strings.Join(names, " "); got != "a c d" {
			r.Errorf("listed %q", got)
		}
	})
}
