package redisstore

import (
	"context"
	"errors"
	"fmt"
	"net"

	"github.com/redis/go-redis/v9"

	"github.com/interlock-run/interlock/pkg/store"
)

// writeError interprets a failed write: a refusal by the server (loading, read only,
// out of memory, no permission) and a connection that could not be made
// made no change; other failures may have.
func writeError(doing string, err error) error {
	var refused redis.Error
	var network *net.OpError
	switch {
	case errors.As(err, &refused),
		errors.As(err, &network) && network.Op == "dial",
		errors.Is(err, redis.ErrPoolTimeout), errors.Is(err, redis.ErrPoolExhausted), errors.Is(err, redis.ErrClosed):
		return fmt.Errorf("redisstore: %s: %w: %w", doing, store.ErrUnavailable, err)
	default:
		return fmt.Errorf("redisstore: %s: %w: %w", doing, store.ErrUncertain, err)
	}
}

// readError interprets a failed read. The context's own error stays as it is.
func readError(ctx context.Context, doing string, err error) error {
	if cause := ctx.Err(); cause != nil {
		return fmt.Errorf("redisstore: %s: %w", doing, cause)
	}
	return fmt.Errorf("redisstore: %s: %w: %w", doing, store.ErrUnavailable, err)
}
