package redisstore

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/interlock-run/interlock/pkg/store"
)

// errUnconfirmed: it is written, and a failover may lose it.
var errUnconfirmed = fmt.Errorf("%w: too few replicas have confirmed it", store.ErrUncertain)

// write runs a script that writes, and waits for the replicas that have to confirm it.
// args are those of script.write.
func (s *Store) write(ctx context.Context, script *script, args []any) (any, error) {
	if s.config.Wait == 0 {
		return script.write(ctx, s.db, args)
	}
	conn := s.db.Conn()
	defer conn.Close() // it goes back to the pool
	reply, err := script.write(ctx, conn, args)
	if err != nil {
		return nil, err
	}
	return reply, s.await(ctx, conn)
}

// await waits for the last writes of a connection, and so for all that was written before.
func (s *Store) await(ctx context.Context, conn *redis.Conn) error {
	confirmed, err := conn.Wait(ctx, s.config.Wait, WaitTimeout).Result()
	if err != nil {
		return fmt.Errorf("%w: %w", errUnconfirmed, err)
	}
	if confirmed < int64(s.config.Wait) {
		return fmt.Errorf("%w: %d of %d", errUnconfirmed, confirmed, s.config.Wait)
	}
	return nil
}

// confirm waits until replicas have all that was written so far. A connection waits for no
// writes but its own, so it makes one.
func (s *Store) confirm(ctx context.Context) error {
	if s.config.Wait == 0 {
		return nil
	}
	conn := s.db.Conn()
	defer conn.Close() // it goes back to the pool
	if err := conn.HSet(ctx, s.place.key, "confirmed", "").Err(); err != nil {
		return fmt.Errorf("%w: %w", errUnconfirmed, err)
	}
	return s.await(ctx, conn)
}
