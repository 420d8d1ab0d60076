package extauthz

import (
	"context"
	"fmt"
	"strings"

	"google.golang.org/grpc/metadata"

	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	"github.com/interlock-run/interlock/pkg/rpc"
	"github.com/interlock-run/interlock/services/gateway/internal/access"
)

// Names of a proxy's facts about the person on whose behalf a request is made.
const (
	routeHuman  = "human"
	routeIssuer = "human_issuer"
	routeGroups = "groups"
)

// human returns the person whom the proxy names, by its own word; nil for none. The policy enforcer decides how far that counts.
func (r *request) human() *policyv1.Human {
	if r.route[routeHuman] == "" {
		return nil
	}
	return &policyv1.Human{Name: r.route[routeHuman], Issuer: r.route[routeIssuer], Groups: r.groups, GroupsKnown: r.groupsKnown}
}

// behalf adds the token of the person on whose behalf the request is made, from a header; it is "Bearer <token>", or the token alone.
func (r *request) behalf(ctx context.Context, header string) (context.Context, error) {
	token, err := r.named(header)
	if err != nil || token == "" {
		return ctx, err
	}
	if scheme, rest, found := strings.Cut(token, " "); found && strings.EqualFold(scheme, "Bearer") {
		token = strings.TrimSpace(rest)
	}
	if !access.ValidToken(token) {
		return ctx, fmt.Errorf("the header %s must be the token of the person on whose behalf the request is made", header)
	}
	return metadata.AppendToOutgoingContext(ctx, rpc.ForKey, "Bearer "+token), nil
}
