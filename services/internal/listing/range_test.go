package listing_test

import (
	"slices"
	"testing"

	"github.com/interlock-run/interlock/services/internal/listing"
)

// pageOf is a page of a list by descending id.
func pageOf(ids []string, after string, limit int) (page []string, next string) {
	for i := len(ids) - 1; i >= 0; i-- {
		if after != "" && ids[i] >= after {
			continue
		}
		if len(page) == limit {
			return page, page[limit-1]
		}
		page = append(page, ids[i])
	}
	return page, ""
}

func TestRange(t *testing.T) {
	t.Parallel()
	ids := []string{"run_a1", "run_a2", "run_b1", "run_b2", "run_b3", "run_c1"}
	for _, tc := range []struct {
		filter string
		want   []string
	}{
		{"", []string{"run_c1", "run_b3", "run_b2", "run_b1", "run_a2", "run_a1"}},
		{"before=run_b2", []string{"run_b1", "run_a2", "run_a1"}},
		{"before=run_b", []string{"run_a2", "run_a1"}},
		{"id_prefix=run_b", []string{"run_b3", "run_b2", "run_b1"}},
		{"id_prefix=run_b2", []string{"run_b2"}},
		{"id_prefix=run_d", nil},
		{"id_prefix=run_", []string{"run_c1", "run_b3", "run_b2", "run_b1", "run_a2", "run_a1"}},
		{"id_prefix=run_b AND before=run_b3", []string{"run_b2", "run_b1"}},
	} {
		terms, err := listing.Parse(tc.filter, listing.Before, listing.Prefix)
		if err != nil {
			t.Fatal(err)
		}
		for limit := 1; limit < 7; limit++ {
			var got []string
			for token := ""; ; {
				page, next := pageOf(ids, terms.BeginAfter(token), limit)
				page, next = listing.Within(terms[listing.Prefix], page, next, func(id string) string { return id })
				got = append(got, page...)
				if token = next; token == "" {
					break
				}
			}
			if !slices.Equal(got, tc.want) {
				t.Errorf("%q in pages of %d: %v, want %v", tc.filter, limit, got, tc.want)
			}
		}
	}
}
