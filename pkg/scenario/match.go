package scenario

import (
	"slices"

	"github.com/interlock-run/interlock/pkg/document"
)

// holds reports that a key has the value that was expected.
func holds(key string, want, got document.Value) bool {
	switch key {
	case "context", "evidence":
		return includes(got, want)
	case "guards", "allowed_tools", "legal_events":
		return sameTexts(got, want)
	default:
		return document.Equal(want, got)
	}
}

// includes reports that got has all that want names: of an object the members
// that it names. An empty object is an empty object.
func includes(got, want document.Value) bool {
	if want.Kind() != document.Object || want.Len() == 0 {
		return document.Equal(got, want)
	}
	for name, w := range want.Members() {
		if g, ok := got.Get(name); !ok || !includes(g, w) {
			return false
		}
	}
	return true
}

// sameTexts compares lists without regard to order; null is not a list.
func sameTexts(got, want document.Value) bool {
	return got.Kind() == want.Kind() && slices.Equal(sortedTexts(got), sortedTexts(want))
}

func sortedTexts(list document.Value) []string {
	texts := make([]string, 0, list.Len())
	for _, e := range list.Elements() {
		texts = append(texts, e.Str())
	}
	slices.Sort(texts)
	return slices.Compact(texts)
}
