package redisstore_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/store/redisstore"
	"github.com/interlock-run/interlock/pkg/store/redisstore/redistest"
	"github.com/interlock-run/interlock/pkg/store/storetest"
)

func TestServerKeepsTheContract(t *testing.T) {
	t.Parallel()
	url := redistest.Shared(t).URL()
	keepsTheContractAs(t, redisstore.Config{URL: url}, url)
}

// keepsTheContractAs logs in by config; copies of the keys are made at url.
func keepsTheContractAs(t *testing.T, login redisstore.Config, url string) {
	storetest.Run(t, func(t *testing.T, clock *storetest.Clock) *storetest.Storage {
		t.Helper()
		config := login
		config.Prefix, config.Clock = redistest.Prefix(), clock.Now
		s := open(t, config)
		return &storetest.Storage{
			Store: s,
			Reopen: func(t *testing.T) store.Store {
				t.Helper()
				if err := s.Close(); err != nil {
					t.Fatal(err)
				}
				s = open(t, config)
				return s
			},
			Keep: func(t *testing.T) func(t *testing.T) store.Store {
				t.Helper()
				back := keep(t, url, config.Prefix)
				return func(*testing.T) store.Store {
					back()
					return s
				}
			},
			Accept: func(t *testing.T) store.Store {
				t.Helper()
				if lost, err := redisstore.AcceptRollback(t.Context(), config); err != nil || len(lost) == 0 {
					t.Fatalf("accepted %q, %v", lost, err)
				}
				return s
			},
		}
	})
}

func keep(t *testing.T, url, prefix string) (back func()) {
	t.Helper()
	_, host, _ := strings.Cut(url, "://")
	host, _, _ = strings.Cut(host, "/")
	kept := map[string]string{}
	each := func(visit func(ctx context.Context, node *redis.Client, key string) error) {
		t.Helper()
		node := redis.NewClient(&redis.Options{Addr: host, Protocol: 2, DisableIdentity: true})
		keys := node.Scan(t.Context(), 0, pattern(prefix)+":*", 1000).Iterator()
		for keys.Next(t.Context()) {
			if err := visit(t.Context(), node, keys.Val()); err != nil {
				t.Fatal(err)
			}
		}
		if err := errors.Join(keys.Err(), node.Close()); err != nil {
			t.Fatal(err)
		}
	}
	each(func(ctx context.Context, node *redis.Client, key string) (err error) {
		kept[key], err = node.Dump(ctx, key).Result()
		return err
	})
	return func() {
		t.Helper()
		each(func(ctx context.Context, node *redis.Client, key string) error {
			if was, found := kept[key]; found {
				return node.RestoreReplace(ctx, key, 0, was).Err()
			}
			return node.Del(ctx, key).Err()
		})
	}
}

// pattern returns a pattern that matches only the text.
func pattern(text string) string {
	return strings.NewReplacer("[", "\\[", "]", "\\]", "*", "\\*", "?", "\\?").Replace(text)
}
