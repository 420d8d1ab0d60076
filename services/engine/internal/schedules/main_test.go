package schedules_test

import (
	"os"
	"testing"

	"github.com/interlock-run/interlock/pkg/store/redisstore/redistest"
)

func TestMain(m *testing.M) { os.Exit(redistest.Main(m)) }
