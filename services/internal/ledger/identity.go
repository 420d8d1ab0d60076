package ledger

import (
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/jsonobject"
)

// Identity is who has made a call, and for whom, as it was known when the call was decided. It has names and no
// references: it stays whole when sessions, agents and people are gone.
type Identity struct {
	// Role and Token are those of the principal: Token is the kind of its token.
	Role  string `json:"role,omitempty"`
	Token string `json:"token,omitempty"`
	// Via is how the call came; empty where nobody vouches for it.
	Via string `json:"via,omitempty"`
	// Person is the person that the principal is; empty for none.
	Person string `json:"person,omitempty"`
	// Human is on whose behalf the call was made; nil where that is not known. The log has no groups and attributes of it.
	Human *Human `json:"human,omitempty"`
	// Agent is the agent that the session has started from, and AgentVersion its version.
	Agent        string `json:"agent,omitempty"`
	AgentVersion int64  `json:"agent_version,omitempty"`
	// Root is the root of the session's tree. Lineage are the sessions from there to the call's own.
	Root    string   `json:"root,omitempty"`
	Lineage []string `json:"lineage,omitempty"`
	// Attributes are those of the human that the deployment logs, as texts.
	Attributes map[string]string `json:"attributes,omitempty"`
}

// MostLineage is how many sessions Lineage has at most.
const MostLineage = 16

// LineageOf returns the names for a record: of too many, those in the middle are left out.
func LineageOf(names []string) []string {
	if len(names) <= MostLineage {
		return slices.Clone(names)
	}
	const first = MostLineage / 2
	return slices.Concat(names[:first], names[len(names)-(MostLineage-first):])
}

// Human is a person in a record: auth.Human.
type Human struct {
	Name            string         `json:"name"`
	Issuer          string         `json:"issuer,omitempty"`
	Source          string         `json:"source"`
	GroupsKnown     bool           `json:"groups_known,omitempty"`
	Groups          []string       `json:"groups,omitempty"`
	Attributes      map[string]any `json:"attributes,omitempty"`
	AuthenticatedAt time.Time      `json:"authenticated_at,omitzero"`
	Expires         time.Time      `json:"expires,omitzero"`
}

// HumanOf returns a person for a record; nil for none.
func HumanOf(h *auth.Human) *Human {
	if h == nil {
		return nil
	}
	return &Human{
		Name: h.Name, Issuer: h.Issuer, Source: string(h.Source), GroupsKnown: h.GroupsKnown, Groups: slices.Clone(h.Groups),
		Attributes: maps.Clone(h.Attributes), AuthenticatedAt: h.AuthenticatedAt.UTC(), Expires: h.Expires.UTC(),
	}
}

// Read returns the person of a record; nil for none.
func (h *Human) Read() *auth.Human {
	if h == nil {
		return nil
	}
	return &auth.Human{
		Name: h.Name, Issuer: h.Issuer, Source: auth.Source(h.Source), GroupsKnown: h.GroupsKnown, Groups: h.Groups,
		Attributes: h.Attributes, AuthenticatedAt: h.AuthenticatedAt, Expires: h.Expires,
	}
}

// Same reports whether both are the same person, or nobody.
func (h *Human) Same(other *Human) bool {
	if h == nil || other == nil {
		return h == nil && other == nil
	}
	return h.Name == other.Name && h.Issuer == other.Issuer
}

// AttributesJSON returns the attributes as a JSON object; nil for none.
func (h *Human) AttributesJSON() []byte {
	if h == nil || len(h.Attributes) == 0 {
		return nil
	}
	data, err := json.Marshal(h.Attributes)
	if err != nil { // they were read from JSON
		return nil
	}
	return data
}

func (i *Identity) appendTo(w *jsonobject.Writer) {
	w.Open()
	w.OptionalText("role", i.Role)
	w.OptionalText("token", i.Token)
	w.OptionalText("via", i.Via)
	w.OptionalText("person", i.Person)
	if h := i.Human; h != nil {
		w.Name("human")
		w.Open()
		w.Text("name", h.Name)
		w.OptionalText("issuer", h.Issuer)
		w.Text("source", h.Source)
		w.OptionalTruth("groups_known", h.GroupsKnown)
		if !h.Expires.IsZero() {
			w.Time("expires", h.Expires)
		}
		w.Close()
	}
	w.OptionalText("agent", i.Agent)
	w.OptionalInteger("agent_version", i.AgentVersion)
	w.OptionalText("root", i.Root)
	w.OptionalTexts("lineage", i.Lineage)
	if len(i.Attributes) > 0 {
		w.Name("attributes")
		w.Open()
		for _, name := range slices.Sorted(maps.Keys(i.Attributes)) {
			w.Text(name, i.Attributes[name])
		}
		w.Close()
	}
	w.Close()
}
