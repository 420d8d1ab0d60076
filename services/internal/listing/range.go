package listing

import "strings"

// Keys of lists that are newest first, by descending id.
const (
	// Before selects what is older than the thing with this id.
	Before = "before"
	// Prefix selects the ids that begin like this.
	Prefix = "id_prefix"
)

// aboveAll follows every character that ids have.
const aboveAll = "~"

// BeginAfter is the id that a list by descending id begins after: where its last page
// ended, or what the filter says.
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

// Within is a page of a list by descending id without what comes after the ids of a prefix.
func Within[T any](prefix string, page []T, next string, id func(T) string) (within []T, more string) {
	for i, one := range page {
		if !strings.HasPrefix(id(one), prefix) {
			return page[:i], ""
		}
	}
	return page, next
}
