package condition

import "github.com/interlock-run/interlock/pkg/document"

// Negated returns the keys of a condition, as it is written, that stand below a "not".
func Negated(v document.Value) []string { return negated(v, false, nil) }

func negated(v document.Value, below bool, keys []string) []string {
	if v.Kind() != document.Object {
		return keys
	}
	for key, child := range v.Members() {
		switch key {
		case "not":
			keys = negated(child, true, keys)
		case "all", "any":
			if child.Kind() == document.Array {
				for _, each := range child.Elements() {
					keys = negated(each, below, keys)
				}
			}
		default:
			if below {
				keys = append(keys, key)
			}
		}
	}
	return keys
}
