package rest

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/types/known/timestamppb"

	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	"github.com/interlock-run/interlock/pkg/receipt"
	"github.com/interlock-run/interlock/pkg/sdk/breakglass"
	"github.com/interlock-run/interlock/services/internal/receipts"
)

// TestBreakGlassRoutes: grants are made, read, confirmed, revoked and handed in over REST. Lists have no tokens.
func TestBreakGlassRoutes(t *testing.T) {
	t.Parallel()
	grant := &policyv1.BreakGlassGrant{
		GrantId: "bg_1", Principal: "deployer", Tools: []string{"Bash"}, Commands: []string{"ls"}, CreatedAt: noon, Until: timestamppb.New(noon.AsTime().Add(3600e9)),
		Reason: "on call", CreatedBy: "olga", Calls: 2,
	}
	const shown = `{"grant_id":"bg_1","principal":"deployer","tools":["Bash"],"commands":["ls"],"until":"2026-03-04T13:00:00.005Z","reason":"on call","created_by":"olga",` +
		`"created_at":"2026-03-04T12:00:00.005Z","pending":false,"calls":2,"altered":false}`
	checkAnswers(t, []answerCase{
		{
			name: "create without a key", method: "POST", path: "/v1/breakglass", body: `{"principal":"deployer","tools":["Bash"],"until":"6h","reason":"r"}`, status: 409,
			json: `{"type":"about:blank","title":"Conflict","status":409,"detail":"this deployment signs no receipts: make a key with interlock receipt keygen, and start the gateway with --receipt-key FILE","code":"FAILED_PRECONDITION"}`,
		},
		{
			name: "list", method: "GET", path: "/v1/breakglass", rpc: "ListBreakGlassGrants", answer: &policyv1.ListBreakGlassGrantsResponse{Grants: []*policyv1.BreakGlassGrant{grant}},
			want: &policyv1.ListBreakGlassGrantsRequest{}, status: 200, json: `{"grants":[` + shown + `]}`,
		},
		{
			name: "get without a key", method: "GET", path: "/v1/breakglass/bg_1", rpc: "GetBreakGlassGrant", answer: &policyv1.GetBreakGlassGrantResponse{Grant: grant},
			want: &policyv1.GetBreakGlassGrantRequest{GrantId: "bg_1"}, status: 200, json: shown,
		},
		{
			name: "confirm", method: "POST", path: "/v1/breakglass/bg_1/confirm", rpc: "ConfirmBreakGlassGrant", answer: &policyv1.ConfirmBreakGlassGrantResponse{Grant: grant},
			want: &policyv1.ConfirmBreakGlassGrantRequest{GrantId: "bg_1"}, status: 200, json: shown,
		},
		{
			name: "revoke", method: "POST", path: "/v1/breakglass/bg_1/revoke", rpc: "RevokeBreakGlassGrant", answer: &policyv1.RevokeBreakGlassGrantResponse{Grant: grant},
			want: &policyv1.RevokeBreakGlassGrantRequest{GrantId: "bg_1"}, status: 200, json: shown,
		},
		{
			name: "hand in", method: "POST", path: "/v1/breakglass/bg_1/hand-in", body: `{"lines":["a","b"]}`, rpc: "HandInBreakGlass",
			answer: &policyv1.HandInBreakGlassResponse{Recorded: 1, Known: 1, Altered: "line 2 was changed"},
			want:   &policyv1.HandInBreakGlassRequest{GrantId: "bg_1", Lines: []string{"a", "b"}}, status: 200, json: `{"recorded":1,"known":1,"altered":"line 2 was changed"}`,
		},
	})
}

// S23.49: the token of a grant is one that clients take, and the same each time.
func TestBreakGlassToken(t *testing.T) {
	t.Parallel()
	private, public, err := receipt.NewKey(strings.NewReader(strings.Repeat("k", 64)))
	if err != nil {
		t.Fatal(err)
	}
	signer, err := receipt.ReadSigner(private)
	if err != nil {
		t.Fatal(err)
	}
	g := &policyv1.BreakGlassGrant{
		GrantId: "bg_1", Principal: "deployer", Tools: []string{"Bash"}, CreatedAt: noon, Until: timestamppb.New(noon.AsTime().Add(3600e9)), Reason: "r", CreatedBy: "olga",
	}
	one, err := receipts.BreakGlassToken(g, "default", signer)
	if err != nil {
		t.Fatal(err)
	}
	key, err := breakglass.ReadKey(public)
	if err != nil || !key.Equal(signer.Public()) {
		t.Fatal(err)
	}
	read, err := breakglass.Read(one, key)
	if err != nil || read.Namespace != "default" || read.For("default", "deployer", noon.AsTime()) != nil {
		t.Errorf("%+v, %v", read, err)
	}
	if again, err := receipts.BreakGlassToken(g, "default", signer); err != nil || again != one {
		t.Errorf("the token is another one: %v", err)
	}
}
