package jsonview

import (
	"strings"
	"time"

	identityv1 "github.com/interlock-run/interlock/gen/go/interlock/identity/v1"
)

// Halt stops all work in its scope (S23.40).
type Halt struct {
	HaltID    string    `json:"halt_id"`
	Kind      string    `json:"kind" doc:"session, workflow, principal, person, human, group, agent, namespace or all."`
	Name      string    `json:"name,omitzero" doc:"Name or id of what is stopped; absent for a namespace and for all."`
	Namespace string    `json:"namespace,omitzero" doc:"Where it holds; absent for the whole deployment."`
	Reason    string    `json:"reason"`
	CreatedBy string    `json:"created_by"`
	CreatedAt time.Time `json:"created_at"`
	ByRoot    bool      `json:"by_root,omitzero" doc:"Only the role root lifts it."`
}

// HaltOf returns the JSON of a halt.
func HaltOf(h *identityv1.Halt) Halt {
	return Halt{
		HaltID: h.GetId(), Kind: strings.ToLower(strings.TrimPrefix(h.GetScope().GetKind().String(), haltKind)), Name: h.GetScope().GetName(),
		Namespace: h.GetNamespace(), Reason: h.GetReason(), CreatedBy: h.GetCreatedBy(), CreatedAt: Time(h.GetCreatedAt()), ByRoot: h.GetByRoot(),
	}
}

const haltKind = "HALT_KIND_"

// HaltScope returns what a halt of a kind, such as "session", stops. The kind of an unknown word is that of none,
// which is refused.
func HaltScope(kind, name string) *identityv1.HaltScope {
	return &identityv1.HaltScope{Kind: identityv1.HaltKind(identityv1.HaltKind_value[haltKind+strings.ToUpper(kind)]), Name: name}
}

// Freeze stops some transitions of workflows for a time (S25.12).
type Freeze struct {
	FreezeID  string    `json:"freeze_id"`
	Workflow  string    `json:"workflow" doc:"A name of workflows, in which * stands for any text."`
	Namespace string    `json:"namespace"`
	Reason    string    `json:"reason"`
	CreatedBy string    `json:"created_by"`
	CreatedAt time.Time `json:"created_at"`
	Until     time.Time `json:"until" doc:"When it ends by itself."`
	ByRoot    bool      `json:"by_root,omitzero" doc:"Only the role root lifts it."`
}

// FreezeOf returns the JSON of a freeze.
func FreezeOf(f *identityv1.Freeze) Freeze {
	return Freeze{
		FreezeID: f.GetId(), Workflow: f.GetWorkflow(), Namespace: f.GetNamespace(), Reason: f.GetReason(), CreatedBy: f.GetCreatedBy(),
		CreatedAt: Time(f.GetCreatedAt()), Until: Time(f.GetUntil()), ByRoot: f.GetByRoot(),
	}
}
