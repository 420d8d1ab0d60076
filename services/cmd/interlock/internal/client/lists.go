package client

import (
	"math"
	"strings"

	"github.com/interlock-run/interlock/services/cmd/interlock/internal/console"
)

// NoLimit is for lists that are shown as a whole.
const NoLimit = math.MaxInt

// Pages asks for the page of a token, and returns the token of the next page.
type Pages[P any] = func(token string, size int32) (page []P, next string, err error)

// Collect asks for pages until there are no more, or as many as wanted.
func Collect[P, V any](limit int, view func(P) V, pages Pages[P]) ([]V, error) {
	all := []V{}
	for token := ""; len(all) < limit; {
		page, next, err := pages(token, int32(min(1000, limit-len(all))))
		if err != nil {
			return nil, err
		}
		for _, one := range page {
			all = append(all, view(one))
		}
		if token = next; token == "" {
			break
		}
	}
	return all, nil
}

// Choice returns the number of an enumeration's value by its name, 0 for an empty one.
func Choice(what, name string, values map[string]int32, prefix string, names []string) (int32, error) {
	n, ok := values[prefix+strings.ToUpper(name)]
	if name != "" && (!ok || n == 0) {
		return 0, console.Misusedf("unknown %s %q; one of %s", what, name, strings.Join(names, ", "))
	}
	return n, nil
}
