package jsonview

import (
	"time"

	"github.com/go-json-experiment/json/jsontext"

	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	statev1 "github.com/interlock-run/interlock/gen/go/interlock/state/v1"
)

// Identity is who makes a call, and for whom.
type Identity struct {
	Principal    string            `json:"principal"`
	Role         string            `json:"role"`
	Token        string            `json:"token,omitzero" doc:"Kind of the token: static, session, oidc or person."`
	Via          string            `json:"via,omitzero" doc:"How the call came: hook, mcp, rest, grpc, authzen or ext_authz. Absent where no service vouches for it."`
	Person       string            `json:"person,omitzero" doc:"The person that the principal is."`
	Human        *Human            `json:"human,omitzero" doc:"On whose behalf the call is made; absent where that is not known. The log has no groups."`
	Agent        string            `json:"agent,omitzero" doc:"The agent that the session has started from."`
	AgentVersion int64             `json:"agent_version,omitzero"`
	RootSession  string            `json:"root_session,omitzero" doc:"Name of the root of the session's tree."`
	Lineage      []string          `json:"lineage,omitempty" doc:"Names of the sessions above the call's own and of that, the root first; at most 16."`
	Attributes   map[string]string `json:"attributes,omitempty" doc:"The attributes of the human that the deployment logs."`
}

// Human is the person on whose behalf a call is made.
type Human struct {
	Name            string         `json:"name"`
	Issuer          string         `json:"issuer,omitzero" doc:"Who vouches for the name; absent for people of this deployment."`
	Source          string         `json:"source" enum:"claimed,gateway,issuer,operator" doc:"How far the facts are trusted."`
	GroupsKnown     bool           `json:"groups_known" doc:"Whether all groups of the person are known."`
	Groups          []string       `json:"groups,omitempty"`
	Attributes      jsontext.Value `json:"attributes,omitzero"`
	AuthenticatedAt time.Time      `json:"authenticated_at,omitzero"`
	Expires         time.Time      `json:"expires,omitzero" doc:"When the facts end: from then on they are not known."`
}

// Caller is the caller of a request.
type Caller struct {
	Principal  string    `json:"principal"`
	Role       string    `json:"role"`
	Token      string    `json:"token,omitzero" doc:"Kind of the token: static, session, oidc or person."`
	TokenID    string    `json:"token_id,omitzero" doc:"Names the token without revealing it."`
	Namespace  string    `json:"namespace" doc:"The namespace of this request."`
	Namespaces []string  `json:"namespaces" doc:"The namespaces that it may call in; * is every one."`
	SessionID  string    `json:"session_id,omitzero"`
	Branch     string    `json:"branch,omitzero"`
	Person     string    `json:"person,omitzero" doc:"The person that the principal is."`
	Presence   string    `json:"presence,omitzero" doc:"How that person has shown to be there: passkey, touch, passphrase or oidc."`
	Relay      string    `json:"relay,omitzero" doc:"The program that has passed on the person's request."`
	Via        string    `json:"via,omitzero"`
	Expires    time.Time `json:"expires,omitzero" doc:"When the token ends; absent where that is not known."`
	Human      *Human    `json:"human,omitzero" doc:"On whose behalf it acts; absent where that is not known."`
	Agent      string    `json:"agent,omitzero"`
	Lineage    []string  `json:"lineage,omitempty" doc:"Names of the sessions above its own and of that, the root first."`
	May        string    `json:"may" doc:"What it may do, in a sentence."`
}

// IdentityOf returns the JSON of an identity; nil for none.
func IdentityOf(i *policyv1.Identity) *Identity {
	if i == nil {
		return nil
	}
	return &Identity{
		Principal: i.GetPrincipal(), Role: i.GetRole(), Token: i.GetToken(), Via: i.GetVia(), Person: i.GetPerson(), Human: HumanOf(i.GetHuman()),
		Agent: i.GetAgent(), AgentVersion: i.GetAgentVersion(), RootSession: i.GetRootSession(), Lineage: i.GetLineage(), Attributes: i.GetAttributes(),
	}
}

// HumanOf returns the JSON of a human; nil for none.
func HumanOf(h *policyv1.Human) *Human {
	if h == nil {
		return nil
	}
	out := &Human{
		Name: h.GetName(), Issuer: h.GetIssuer(), Source: h.GetSource(), GroupsKnown: h.GetGroupsKnown(), Groups: h.GetGroups(),
		Attributes: rawOf(h.GetAttributes()),
	}
	if at := h.GetAuthenticatedAt(); at != nil {
		out.AuthenticatedAt = Time(at)
	}
	if at := h.GetExpires(); at != nil {
		out.Expires = Time(at)
	}
	return out
}

// sessionHumanOf returns the JSON of the human of a session; nil for none.
func sessionHumanOf(h *statev1.SessionHuman) *Human {
	if h == nil {
		return nil
	}
	return HumanOf(&policyv1.Human{
		Name: h.GetName(), Issuer: h.GetIssuer(), Source: h.GetSource(), GroupsKnown: h.GetGroupsKnown(), Groups: h.GetGroups(),
		Attributes: h.GetAttributes(), AuthenticatedAt: h.GetAuthenticatedAt(), Expires: h.GetExpires(),
	})
}

// CallerOf returns the JSON of a caller.
func CallerOf(c *policyv1.WhoAmIResponse) Caller {
	out := Caller{
		Principal: c.GetPrincipal(), Role: c.GetRole(), Token: c.GetToken(), TokenID: c.GetTokenId(), Namespace: c.GetNamespace(), Namespaces: listed(c.GetNamespaces()),
		SessionID: c.GetSessionId(), Branch: c.GetBranch(), Person: c.GetPerson(), Presence: c.GetPresence(), Relay: c.GetRelay(), Via: c.GetVia(),
		Human: HumanOf(c.GetHuman()), Agent: c.GetAgent(), Lineage: c.GetLineage(), May: c.GetMay(),
	}
	if at := c.GetExpires(); at != nil {
		out.Expires = Time(at)
	}
	return out
}
