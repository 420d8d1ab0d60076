package app_test

import (
	"os"
	"testing"

	"github.com/interlock-run/interlock/pkg/store/redisstore/redistest"
)

func TestMain(m *testing.M) {
	if os.Getenv(sleeperURL) != "" {
		os.Exit(sleep())
	}
	os.Exit(redistest.Main(m))
}
