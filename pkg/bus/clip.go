package bus

import "strings"

// Bounds of free text in an event. NATS refuses messages over its max_payload,
// by default 1 MiB, and a refused event would hold up its entity; each byte may
// take six in JSON.
const (
	maxText  = 8 << 10
	maxTexts = 64 << 10
)

// Clip shortens free text for an event; the whole is kept where it is from, for
// example in a run's history.
func Clip(text string) string {
	if len(text) <= maxText {
		return text
	}
	return strings.ToValidUTF8(text[:maxText], "") + "..."
}

// ClipAll shortens a list of texts, each of them and all together.
func ClipAll(texts []string) []string {
	size := 0
	for i, text := range texts {
		if size += len(text); size > maxTexts {
			return append(texts[:i:i], Clip(text[:min(len(text), maxText)]))
		}
	}
	return texts
}
