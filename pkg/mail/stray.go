package mail

import (
	"strings"

	"github.com/interlock-run/interlock/pkg/document"
)

// A tool may take recipients by a name that is not known here. So a text of only addresses is held
// to the lists wherever it stands, but for the text of an email and fields that are known to
// receive no email.

// isAside reports fields that may have an address without sending to it.
func isAside(name string) bool {
	switch folded(name) {
	case "subject", "title", "replyto", "replytoaddress", "replytoaddresses", "replytoemail", "preheader", "previewtext", "snippet":
		return true
	default:
		return false
	}
}

// strays holds the texts of a field whose name is not known.
func (m *reader) strays(v document.Value, at *document.Path) {
	switch v.Kind() {
	case document.String:
		m.stray(v.Str(), at)
	case document.Array:
		for i, element := range v.Elements() {
			m.strays(element, at.At(i))
		}
	default:
	}
}

// stray refuses a text of only addresses, of which one is in no list.
func (m *reader) stray(text string, at *document.Path) {
	if !strings.Contains(text, "@") {
		return
	}
	for _, a := range onlyAddresses(text) {
		m.found.Stray = append(m.found.Stray, a)
		if m.lists.To != nil && !m.lists.To.Admits(a) && (m.lists.From == nil || !m.lists.From.Admits(a)) {
			m.setCause(at, "has "+document.Quote(a.Local+"@"+a.Domain)+", which is not in \"allowed_to\", by a name that is not known for recipients "+
				"(name those in \"to\", \"cc\" or \"bcc\", and leave other addresses out)")
			return
		}
	}
}

// onlyAddresses returns the addresses of a text of only addresses and names next to them; none for
// any other text.
func onlyAddresses(text string) (all []Address) {
	parts := strings.FieldsFunc(text, func(c rune) bool { return strings.ContainsRune(",;|\r\n", c) })
	for _, part := range parts {
		part = strings.TrimSpace(part)
		if a, ok := ParseAddress(withoutScheme(part)); ok {
			all = append(all, a)
			continue
		}
		for word := range strings.FieldsSeq(part) {
			a, ok := ParseAddress(withoutScheme(strings.Trim(word, "<>()[]\"'")))
			if !ok {
				return nil
			}
			all = append(all, a)
		}
	}
	return all
}

// withoutScheme returns an address without mailto: and without the part from a question
// mark on.
func withoutScheme(text string) string {
	const scheme = "mailto:"
	if len(text) < len(scheme) || !strings.EqualFold(text[:len(scheme)], scheme) {
		return text
	}
	text, _, _ = strings.Cut(text[len(scheme):], "?")
	return text
}
