package redisstore_test

import (
	"testing"

	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/store/redisstore"
	"github.com/interlock-run/interlock/pkg/store/redisstore/redistest"
	"github.com/interlock-run/interlock/pkg/store/storetest"
)

func TestServerKeepsTheContract(t *testing.T) {
	t.Parallel()
	keepsTheContract(t, redistest.Shared(t).URL())
}

func TestClusterKeepsTheContract(t *testing.T) {
	t.Parallel()
	keepsTheContract(t, redistest.SharedCluster(t).URL())
}

func keepsTheContract(t *testing.T, url string) {
	storetest.Run(t, func(t *testing.T, clock *storetest.Clock) *storetest.Storage {
		t.Helper()
		config := redisstore.Config{URL: url, Prefix: prefix(t), Clock: clock.Now}
		s := open(t, config)
		return &storetest.Storage{Store: s, Reopen: func(t *testing.T) store.Store {
			t.Helper()
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			s = open(t, config)
			return s
		}}
	})
}
