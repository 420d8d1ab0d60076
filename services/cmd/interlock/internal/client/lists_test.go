package client

import (
	"errors"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/interlock-run/interlock/pkg/randtest"
)

func TestCollect(t *testing.T) {
	t.Parallel()
	randtest.Check(t, func(t *rapid.T) {
		total := rapid.IntRange(0, 5000).Draw(t, "total")
		limit := rapid.OneOf(rapid.IntRange(0, 6000), rapid.Just(NoLimit)).Draw(t, "limit")
		most := rapid.Int32Range(1, 1000).Draw(t, "page")
		next := 0
		got, err := Collect(limit, func(n int) int { return n }, func(token string, size int32) ([]int, string, error) {
			if size < 1 || size > 1000 || (token == "") != (next == 0) {
				t.Fatalf("asked for %d after %q", size, token)
			}
			var page []int
			for ; next < total && len(page) < int(min(size, most)); next++ {
				page = append(page, next)
			}
			if next == total {
				return page, "", nil
			}
			return page, "more", nil
		})
		if err != nil || len(got) != min(total, limit) || !slices.IsSorted(got) || got == nil {
			t.Fatalf("%d of %d, limit %d, %v", len(got), total, limit, err)
		}
	})
	broken := errors.New("broken")
	if _, err := Collect(NoLimit, func(n int) int { return n }, func(string, int32) ([]int, string, error) { return nil, "", broken }); !errors.Is(err, broken) {
		t.Errorf("%v", err)
	}
}
