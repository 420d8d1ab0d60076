package jsonview

import (
	"time"

	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
)

// BreakGlassGrant lets a principal call a few tools while it cannot reach Interlock.
type BreakGlassGrant struct {
	GrantID     string    `json:"grant_id"`
	Principal   string    `json:"principal"`
	Tools       []string  `json:"tools" doc:"Names, each exact or with one * at its end."`
	Commands    []string  `json:"commands,omitzero" doc:"The whole command lines that pass; absent for any input."`
	Until       time.Time `json:"until"`
	Reason      string    `json:"reason"`
	CreatedBy   string    `json:"created_by"`
	CreatedAt   time.Time `json:"created_at"`
	Pending     bool      `json:"pending" doc:"True until a second operator confirms it. It is not signed before."`
	ConfirmedBy string    `json:"confirmed_by,omitzero"`
	RevokedBy   string    `json:"revoked_by,omitzero"`
	RevokedAt   time.Time `json:"revoked_at,omitzero"`
	Calls       int64     `json:"calls" doc:"How many calls were handed in."`
	Altered     bool      `json:"altered" doc:"True when a spool of it was altered."`
	Token       string    `json:"token,omitzero" doc:"The signed grant, for the client: docs/breakglass.md. Absent in lists, and while it is pending."`
}

// BreakGlassGrantOf returns the JSON of a grant, without its token.
func BreakGlassGrantOf(g *policyv1.BreakGlassGrant) BreakGlassGrant {
	return BreakGlassGrant{
		GrantID: g.GetGrantId(), Principal: g.GetPrincipal(), Tools: g.GetTools(), Commands: g.GetCommands(), Until: Time(g.GetUntil()), Reason: g.GetReason(),
		CreatedBy: g.GetCreatedBy(), CreatedAt: Time(g.GetCreatedAt()), Pending: g.GetPending(), ConfirmedBy: g.GetConfirmedBy(), RevokedBy: g.GetRevokedBy(),
		Calls: g.GetCalls(), Altered: g.GetAltered(), RevokedAt: Time(g.GetRevokedAt()),
	}
}

// BreakGlassHandIn is what was recorded of a spool.
type BreakGlassHandIn struct {
	Recorded int32  `json:"recorded" doc:"How many calls got a record now."`
	Known    int32  `json:"known" doc:"How many calls had one from an earlier hand-in."`
	Altered  string `json:"altered,omitzero" doc:"Why the spool does not hold; absent for one that does."`
}

// BreakGlassHandInOf returns the JSON of a hand-in.
func BreakGlassHandInOf(r *policyv1.HandInBreakGlassResponse) BreakGlassHandIn {
	return BreakGlassHandIn{Recorded: r.GetRecorded(), Known: r.GetKnown(), Altered: r.GetAltered()}
}
