package redistest_test

import (
	"testing"

	"github.com/interlock-run/interlock/pkg/store/redisstore/redistest"
)

func TestKilledServerKeepsItsData(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	client := server.Client(t)
	if err := client.Set(t.Context(), "key", "value", 0).Err(); err != nil {
		t.Fatal(err)
	}
	server.Kill()
	if err := client.Ping(t.Context()).Err(); err == nil {
		t.Error("a killed server answers")
	}
	if err := server.Restart(); err != nil {
		t.Fatal(err)
	}
	if got, err := client.Get(t.Context(), "key").Result(); got != "value" || err != nil {
		t.Errorf("after a restart the value is %q, %v", got, err)
	}
}
