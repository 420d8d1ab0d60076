package upstream

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
)

func TestEnvironment(t *testing.T) {
	t.Parallel()
	ours := []string{"PATH=/bin", "TOKEN=ours", "INTERLOCK_TOKEN=x", "Interlock_Server=x", "DB=ours", "DBX=kept", "EMPTY="}
	server := Server{Env: map[string]string{"TOKEN": "configured", "MODE": "a=b"}}
	for _, row := range []struct {
		name     string
		demanded *Environment
		want     string
	}{
		{"nothing is demanded", nil, "DB=ours DBX=kept EMPTY= MODE=a=b PATH=/bin TOKEN=configured"},
		{"nothing in particular", &Environment{}, "DB=ours DBX=kept EMPTY= MODE=a=b PATH=/bin TOKEN=configured"},
		{"blocked, no matter who has set it", &Environment{Blocked: []string{"DB", "TOKEN", "NEVER_SET"}}, "DBX=kept EMPTY= MODE=a=b PATH=/bin"},
		{
			"set", &Environment{Set: []Variable{{"DB", "staging"}, {"TOKEN", ""}, {"NEW", "1"}}},
			"DB=staging DBX=kept EMPTY= MODE=a=b NEW=1 PATH=/bin TOKEN=",
		},
		{
			"both: blocked", &Environment{Blocked: []string{"DB"}, Set: []Variable{{"DB", "staging"}}},
			"DBX=kept EMPTY= MODE=a=b PATH=/bin TOKEN=configured",
		},
	} {
		if got := strings.Join(server.environment(JailsAuto, ours, row.demanded), " "); got != row.want {
			t.Errorf("%s: %s\nwant %s", row.name, got, row.want)
		}
	}
}

// TestDemand: while a call is under way, nobody gets the server started anew.
func TestDemand(t *testing.T) {
	t.Parallel()
	c := newConnection(Server{Name: "x"}, Options{Logger: slog.Default()}, nil, nil, nil)
	before := c.demanded()
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	c.count(1)
	if err := c.demand(gone, environment{"A=1"}); err == nil || !slices.Equal(c.demanded(), before) || len(c.renew) != 0 {
		t.Errorf("err = %v, demanded %v", err, c.demanded())
	}
	c.count(-1)
	if err := c.demand(gone, environment{"A=1"}); err != nil || !slices.Equal(c.demanded(), environment{"A=1"}) || len(c.renew) != 1 {
		t.Errorf("err = %v, demanded %v", err, c.demanded())
	}
	// Until it is started, there is nothing to call.
	if _, err := c.connected(gone); !errors.Is(err, errNotReady) {
		t.Errorf("err = %v", err)
	}
}

func TestLoadsCode(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{
		"LD_PRELOAD": true, "ld_library_path": true, "NODE_OPTIONS": true, "PATH": true, "PYTHONPATH": true, "BASH_ENV": true, "GIT_SSH_COMMAND": true,
		"NODE_ENV": false, "DATABASE_URL": false, "KUBECONFIG": false, "CI": false, "OLD_PATH": false, "": false,
	} {
		if got := LoadsCode(name); got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
