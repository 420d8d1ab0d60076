package client

import (
	"context"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc"

	"github.com/interlock-run/interlock/pkg/typeid"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/console"
)

func TestIDs(t *testing.T) {
	t.Parallel()
	ids := []string{"run_01jd3k0c7qf3ta3bfa1m2y8x9z", "run_01jd3k0c7qf3ta3bfa1m2y8x9n", "run_01jd2k0c7qf3ta3bfa1m2y8x9n"}
	asked := 0
	runs := kind{"run", typeid.Run, false, func(_ context.Context, _ grpc.ClientConnInterface, filter string, size int32) ([]string, error) {
		asked++
		var found []string
		for _, id := range ids {
			if strings.HasPrefix(id, strings.TrimPrefix(filter, "id_prefix=")) && len(found) < int(size) {
				found = append(found, id)
			}
		}
		return found, nil
	}}
	for _, tc := range []struct {
		given, want string
		asked       int
	}{
		{"run_01jd2k", ids[2], 1},
		{"01jd2k", ids[2], 1},
		{"run_01jd3k0c7qf3ta3bfa1m2y8x9n", ids[1], 0},
		{Last, ids[0], 1},
		{"run_01j", "run_01j", 0}, // too short
		{"run_01jd9", "run_01jd9", 1},
		{"run_nothing", "run_nothing", 0}, // no ids have these letters
		{"my run", "my run", 0},
		{"", "", 0},
	} {
		asked = 0
		if got, err := runs.id(t.Context(), nil, tc.given); got != tc.want || err != nil || asked != tc.asked {
			t.Errorf("%q: %q, %v, after asking %d times", tc.given, got, err, asked)
		}
	}
	_, err := runs.id(t.Context(), nil, "run_01jd")
	if err == nil || !console.IsMisused(err) || slices.ContainsFunc(ids, func(id string) bool { return !strings.Contains(err.Error(), id) }) {
		t.Errorf("ambiguous: %v", err)
	}
	runs.names = true
	if got, _ := runs.id(t.Context(), nil, "01jd2k"); got != "01jd2k" {
		t.Errorf("a name is taken for an id: %s", got)
	}
	ids = nil
	if got, err := runs.id(t.Context(), nil, Last); err == nil {
		t.Errorf("of none, the last is %q", got)
	}
}
