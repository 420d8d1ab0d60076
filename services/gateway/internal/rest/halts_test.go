package rest

import (
	"testing"

	identityv1 "github.com/interlock-run/interlock/gen/go/interlock/identity/v1"
)

// TestHalts: work is stopped, and goes on, over REST too.
func TestHalts(t *testing.T) {
	t.Parallel()
	halt := &identityv1.Halt{
		Id: "halt_1", Scope: &identityv1.HaltScope{Kind: identityv1.HaltKind_HALT_KIND_SESSION, Name: "s/1"}, Namespace: "default",
		Reason: "it deletes", CreatedBy: "olga", CreatedAt: noon, ByRoot: true,
	}
	const shown = `{"halt_id":"halt_1","kind":"session","name":"s/1","namespace":"default","reason":"it deletes","created_by":"olga",` +
		`"created_at":"2026-03-04T12:00:00.005Z","by_root":true}`
	made := &identityv1.CreateHaltRequest{Scope: halt.GetScope(), Reason: "it deletes"}
	checkAnswers(t, []answerCase{
		{
			name: "create", method: "POST", path: "/v1/halts", body: `{"kind":"session","name":"s/1","reason":"it deletes"}`, rpc: "CreateHalt",
			answer: &identityv1.CreateHaltResponse{Halt: halt, Created: true}, want: made, status: 201, json: shown,
		},
		{
			name: "create again", method: "POST", path: "/v1/halts", body: `{"kind":"session","name":"s/1","reason":"it deletes"}`, rpc: "CreateHalt",
			answer: &identityv1.CreateHaltResponse{Halt: halt}, want: made, status: 200, json: shown,
		},
		{
			name: "unknown kind", method: "POST", path: "/v1/halts", body: `{"kind":"planet","reason":"r"}`, rpc: "CreateHalt",
			answer: &identityv1.CreateHaltResponse{Halt: &identityv1.Halt{
				Id: "h", Scope: &identityv1.HaltScope{Kind: identityv1.HaltKind_HALT_KIND_ALL}, Reason: "r", CreatedAt: noon,
			}},
			want: &identityv1.CreateHaltRequest{Scope: &identityv1.HaltScope{}, Reason: "r"}, status: 200,
			json: `{"halt_id":"h","kind":"all","reason":"r","created_by":"","created_at":"2026-03-04T12:00:00.005Z"}`,
		},
		{
			name: "list", method: "GET", path: "/v1/halts", rpc: "ListHalts", answer: &identityv1.ListHaltsResponse{Halts: []*identityv1.Halt{halt}},
			want: &identityv1.ListHaltsRequest{}, status: 200, json: `{"halts":[` + shown + `]}`,
		},
		{
			name: "lift", method: "POST", path: "/v1/halts/halt_1/lift", body: `{"reason":"mended"}`, rpc: "LiftHalt",
			answer: &identityv1.LiftHaltResponse{Halt: halt}, want: &identityv1.LiftHaltRequest{Id: "halt_1", Reason: "mended"}, status: 200, json: shown,
		},
	})
}

// TestFreezes: workflows are frozen until a moment or for a while, and lifted, over REST too.
func TestFreezes(t *testing.T) {
	t.Parallel()
	freeze := &identityv1.Freeze{
		Id: "frz_1", Workflow: "deploy*", Namespace: "default", Reason: "end of the year", CreatedBy: "olga", CreatedAt: noon, Until: noon, ByRoot: true,
	}
	const shown = `{"freeze_id":"frz_1","workflow":"deploy*","namespace":"default","reason":"end of the year","created_by":"olga",` +
		`"created_at":"2026-03-04T12:00:00.005Z","until":"2026-03-04T12:00:00.005Z","by_root":true}`
	checkAnswers(t, []answerCase{
		{
			name: "create", method: "POST", path: "/v1/freezes", body: `{"workflow":"deploy*","until":"2026-03-04T12:00:00.005Z","reason":"end of the year"}`,
			rpc: "CreateFreeze", answer: &identityv1.CreateFreezeResponse{Freeze: freeze, Created: true},
			want: &identityv1.CreateFreezeRequest{Workflow: "deploy*", Until: noon, Reason: "end of the year"}, status: 201, json: shown,
		},
		{
			name: "list", method: "GET", path: "/v1/freezes", rpc: "ListFreezes", answer: &identityv1.ListFreezesResponse{Freezes: []*identityv1.Freeze{freeze}},
			want: &identityv1.ListFreezesRequest{}, status: 200, json: `{"freezes":[` + shown + `]}`,
		},
		{
			name: "lift", method: "POST", path: "/v1/freezes/frz_1/lift", body: `{"reason":"done"}`, rpc: "LiftFreeze",
			answer: &identityv1.LiftFreezeResponse{Freeze: freeze}, want: &identityv1.LiftFreezeRequest{Id: "frz_1", Reason: "done"}, status: 200, json: shown,
		},
	})
}
