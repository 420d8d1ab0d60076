package sdk

import (
	"context"
	"encoding/json"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/interlock-run/interlock/pkg/internal/dial"
)

// Human is the person on whose behalf a call is made, or a session works.
type Human struct {
	// Name is unique among the people of the issuer. Issuer vouches for it, and is empty for people of
	// this deployment.
	Name, Issuer string
	// Source says how far the facts are trusted: claimed, gateway, issuer or operator.
	Source string
	// GroupsKnown is true when Groups has all groups of the person. Records of decisions have none.
	GroupsKnown bool
	Groups      []string
	// Attributes are a JSON object; nil for none.
	Attributes json.RawMessage
	// ExpiresAt is when the facts end, zero for never.
	AuthenticatedAt, ExpiresAt time.Time
}

// person is a human of the contracts.
type person interface {
	GetName() string
	GetIssuer() string
	GetSource() string
	GetGroupsKnown() bool
	GetGroups() []string
	GetAttributes() []byte
	GetAuthenticatedAt() *timestamppb.Timestamp
	GetExpires() *timestamppb.Timestamp
}

// humanOf returns a human, nil for none.
func humanOf[P interface {
	comparable
	person
}](p P,
) *Human {
	var none P
	if p == none {
		return nil
	}
	return &Human{
		Name: p.GetName(), Issuer: p.GetIssuer(), Source: p.GetSource(), GroupsKnown: p.GetGroupsKnown(), Groups: p.GetGroups(),
		Attributes: p.GetAttributes(), AuthenticatedAt: timeOf(p.GetAuthenticatedAt()), ExpiresAt: timeOf(p.GetExpires()),
	}
}

// behalf returns a connection whose calls are made on behalf of the person of a token; empty for nobody.
func behalf(conn grpc.ClientConnInterface, token string) grpc.ClientConnInterface {
	if token == "" {
		return conn
	}
	return &forPerson{conn, token}
}

type forPerson struct {
	grpc.ClientConnInterface
	token string
}

func (p *forPerson) outgoing(ctx context.Context) context.Context {
	return metadata.AppendToOutgoingContext(ctx, dial.ForKey, "Bearer "+p.token)
}

// Invoke calls a unary RPC.
func (p *forPerson) Invoke(ctx context.Context, method string, args, reply any, opts ...grpc.CallOption) error {
	return p.ClientConnInterface.Invoke(p.outgoing(ctx), method, args, reply, opts...)
}

// NewStream opens a stream.
func (p *forPerson) NewStream(ctx context.Context, desc *grpc.StreamDesc, method string, opts ...grpc.CallOption) (grpc.ClientStream, error) {
	return p.ClientConnInterface.NewStream(p.outgoing(ctx), desc, method, opts...)
}
