package client

import (
	"context"

	"google.golang.org/grpc"

	"github.com/interlock-run/interlock/services/internal/listing"
)

// Page is the flags of lists that are newest first.
type Page struct {
	Limit  int    `help:"Show at most this many." default:"1000" placeholder:"N"`
	Before string `help:"Only older ones than this, to page: its id, or the beginning of it." placeholder:"ID"`
}

// Term returns the page's part of a filter; id finds the id that is meant.
func (p *Page) Term(
	ctx context.Context, conn grpc.ClientConnInterface,
	id func(ctx context.Context, conn grpc.ClientConnInterface, given string) (string, error),
) (listing.Term, error) {
	before, err := id(ctx, conn, p.Before)
	return listing.Term{Key: listing.Before, Value: before}, err
}
