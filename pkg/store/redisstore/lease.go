package redisstore

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/interlock-run/interlock/pkg/store"
)

// GetLease returns the lease that is held now, or store.ErrNotFound when it is not held.
func (s *Store) GetLease(ctx context.Context, key store.Key) (store.Lease, error) {
	if err := s.begin(ctx); err != nil {
		return store.Lease{}, err
	}
	defer s.end()
	if err := check(key); err != nil {
		return store.Lease{}, err
	}
	reply, err := heldScript.read(ctx, s.db, []string{s.key(leaseKeys, key)}, s.now())
	if errors.Is(err, redis.Nil) {
		return store.Lease{}, fmt.Errorf("%w: the lease %s is not held any more", store.ErrNotFound, key)
	}
	if err != nil {
		return store.Lease{}, readError(ctx, "get lease", err)
	}
	answer, _ := reply.([]any)
	if len(answer) != 3 {
		return store.Lease{}, fmt.Errorf("redisstore: get lease: the script answered %v", reply)
	}
	return parseLease(key, answer), nil
}

// AcquireLease takes a lease, free or lapsed, for holder; the holder itself gets
// a new token.
func (s *Store) AcquireLease(ctx context.Context, key store.Key, holder string, ttl time.Duration) (store.Lease, error) {
	lease, token, err := s.lease(ctx, "acquire", key, holder, ttl)
	if err != nil {
		return store.Lease{}, err
	}
	if token == 0 {
		return store.Lease{}, &store.HeldError{Key: key, Holder: lease.Holder, Until: lease.Expires}
	}
	return lease, nil
}

// RenewLease extends a lease that is still held with this token, else
// store.ErrFenced.
func (s *Store) RenewLease(ctx context.Context, lease store.Lease, ttl time.Duration) (store.Lease, error) {
	renewed, token, err := s.lease(ctx, "renew", lease.Key, strconv.FormatInt(lease.Token, 10), ttl)
	if err != nil {
		return store.Lease{}, err
	}
	if token == 0 {
		return store.Lease{}, store.ErrFenced
	}
	return renewed, nil
}

// ReleaseLease frees a lease that is still held with this token; otherwise it has no
// effect.
func (s *Store) ReleaseLease(ctx context.Context, lease store.Lease) error {
	_, _, err := s.lease(ctx, "release", lease.Key, strconv.FormatInt(lease.Token, 10), time.Microsecond)
	return err
}

func (s *Store) lease(ctx context.Context, verb string, key store.Key, who string, ttl time.Duration) (store.Lease, int64, error) {
	if err := s.begin(ctx); err != nil {
		return store.Lease{}, 0, err
	}
	defer s.end()
	if err := check(key); err != nil {
		return store.Lease{}, 0, err
	}
	if ttl <= 0 {
		return store.Lease{}, 0, fmt.Errorf("redisstore: %s lease %s: the time to live is %v; it must be positive", verb, key, ttl)
	}
	args := []any{
		nil, nil, "2", s.key(leaseKeys, key), s.place.key,
		s.now(), verb, who, micros(ttl), s.config.formats.Newest,
	}
	answer, err := s.once(ctx, verb+" lease", leaseScript, args)
	if err != nil {
		return store.Lease{}, 0, err
	}
	if len(answer) != 3 {
		return store.Lease{}, 0, fmt.Errorf("redisstore: %s lease: %w: the script answered %v", verb, store.ErrUncertain, answer)
	}
	lease := parseLease(key, answer)
	return lease, lease.Token, nil
}

// parseLease reads the token, the expiry and the holder that a script answered.
func parseLease(key store.Key, answer []any) store.Lease {
	holder, _ := answer[2].(string)
	return store.Lease{Key: key, Holder: holder, Token: number(answer, 0), Expires: time.UnixMicro(number(answer, 1)).UTC()}
}

// once runs a script that writes, for one caller. When ctx ends first the
// outcome is unknown: the script is left to end by itself.
func (s *Store) once(ctx context.Context, doing string, script *script, args []any) ([]any, error) {
	type outcome struct {
		reply any
		err   error
	}
	done := make(chan outcome, 1)
	s.work.Go(func() {
		reply, err := s.write(context.WithoutCancel(ctx), script, args)
		done <- outcome{reply, err}
	})
	select {
	case o := <-done:
		if errors.Is(o.err, errUnconfirmed) {
			return nil, fmt.Errorf("redisstore: %s: %w", doing, o.err)
		}
		if o.err != nil {
			return nil, writeError(doing, o.err)
		}
		reply, _ := o.reply.([]any)
		return reply, nil
	case <-ctx.Done():
		return nil, fmt.Errorf("redisstore: %s is under way: %w: %w", doing, store.ErrUncertain, ctx.Err())
	}
}
