package listing

import "strings"

// Keys of lists that are newest first, by descending id.
const (
	// Before selects objects older than the one with this id.
	Before = "before"
	// Prefix selects the ids that begin like this.
	Prefix = "id_prefix"
)

// aboveAll follows every character that ids have.
const aboveAll = "~"

// BeginAfter returns the id that a list by descending id begins after: where its last
// page ended, or the id of the filter.
func (t Terms) BeginAfter(pageToken string) string {
	switch {
	case pageToken != "":
		return pageToken
	case t[Before] != "":
		return t[Before]
	case t[Prefix] != "":
		return t[Prefix] + aboveAll
	default:
		return ""
	}
}

// Within returns a page of a list by descending id without objects after the ids of a
// prefix.
func Within[T any](prefix string, page []T, next string, id func(T) string) (within []T, more string) {
	for i, one := range page {
		if !strings.HasPrefix(id(one), prefix) {
			return page[:i], ""
		}
	}
	return page, next
}
