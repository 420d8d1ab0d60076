package health_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/health"
	"github.com/interlock-run/interlock/pkg/store"
)

func TestReport(t *testing.T) {
	t.Parallel()
	check := func(name string, optional bool, err error) health.Check {
		return health.Check{Name: name, Optional: optional, Probe: func(context.Context) error { return err }}
	}
	down := errors.New("secret")
	broken := fmt.Errorf("%w: %w", store.ErrUnavailable, store.ErrBroken)
	for name, tc := range map[string]struct {
		checks       health.Checks
		ready, alive bool
		text         string
	}{
		"nothing": {nil, true, true, ""},
		"little room": {
			health.Checks{check("store", false, nil), check("store-room", true, fault.New(fault.StoreFull, "secret"))},
			true, true,
			"ok store\ndown store-room (optional) (STORE_FULL: there is little room, and only changes that stop agents or remove data are taken)\n",
		},
		"all well":        {health.Checks{check("store", false, nil)}, true, true, "ok store\n"},
		"required":        {health.Checks{check("store", false, down), check("events", true, nil)}, false, true, "down store\nok events (optional)\n"},
		"optional":        {health.Checks{check("a", true, down), check("b", true, nil)}, true, true, "down a (optional)\nok b (optional)\n"},
		"every one":       {health.Checks{check("a", true, down), check("b", true, down)}, false, true, "down a (optional)\ndown b (optional)\n"},
		"until a restart": {health.Checks{check("store", false, broken)}, false, false, "down store\n"},
	} {
		got := tc.checks.Run(t.Context())
		if got.Ready() != tc.ready || got.Alive() != tc.alive || got.String() != tc.text {
			t.Errorf("%s: ready %t, alive %t\n%s", name, got.Ready(), got.Alive(), got)
		}
	}
}
