package receipts

import (
	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	"github.com/interlock-run/interlock/pkg/receipt"
	"github.com/interlock-run/interlock/pkg/sdk/breakglass"
)

// BreakGlassToken signs a break-glass grant with the key of receipts. The same grant has the same token each time.
func BreakGlassToken(g *policyv1.BreakGlassGrant, namespace string, key receipt.Signer) (string, error) {
	return breakglass.New(breakglass.Grant{
		ID: g.GetGrantId(), Namespace: namespace, Principal: g.GetPrincipal(), Tools: g.GetTools(), Commands: g.GetCommands(),
		IssuedAt: g.GetCreatedAt().GetSeconds(), Expires: g.GetUntil().GetSeconds(), Reason: g.GetReason(), By: g.GetCreatedBy(), ConfirmedBy: g.GetConfirmedBy(),
	}).Token(key)
}
