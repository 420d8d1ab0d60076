package mail

import (
	"slices"
	"strings"
	"unicode"

	"github.com/interlock-run/interlock/pkg/visible"
)

// meaning of a field of an email tool's input.
type meaning uint8

const (
	neither meaning = iota
	sender
	recipient
	either // a recipient when it is a text, an email when it is an object
	// unclear is a name that only looks like one of those, by letters of other alphabets or by
	// characters that do not show.
	unclear
)

// The names of senders, of recipients and of either, without case, dashes, underscores and blanks.
var (
	senderNames = strings.Fields(`from sender fromaddress fromemail fromemailaddress senderaddress senderemail mailfrom envelopefrom returnpath`)

	recipientNames = strings.Fields(`to cc bcc recipient recipients rcpt rcptto mailto sendto emailto envelopeto deliverto
toaddress toaddresses toemail toemails toemailaddress toemailaddresses torecipients
ccaddress ccaddresses ccemail ccemails ccemailaddress ccemailaddresses ccrecipients
bccaddress bccaddresses bccemail bccemails bccemailaddress bccemailaddresses bccrecipients
recipientemail recipientemails resentto resentcc resentbcc`)

	eitherNames = strings.Fields(`email emails emailaddress emailaddresses`)

	// headerNames hold headers, or stand next to the value of one.
	headerNames = strings.Fields(`header headers`)

	nameMeanings = meanings()
)

func meanings() map[string]meaning {
	all := map[string]meaning{}
	for means, names := range map[meaning][]string{sender: senderNames, recipient: recipientNames, either: eitherNames} {
		for _, name := range names {
			all[name] = means
		}
	}
	return all
}

// meaningOf goes by a field's name in any spelling, as mail services write it.
func meaningOf(name string) meaning {
	if means := nameMeanings[folded(name)]; means != neither {
		return means
	}
	if looksLikeMeaning(name) {
		return unclear
	}
	return neither
}

// folded returns a name without case, dashes, underscores and blanks.
func folded(name string) string {
	return strings.Map(func(c rune) rune {
		switch {
		case c == '-' || c == '_' || c == ' ':
			return -1
		case 'A' <= c && c <= 'Z':
			return c + 'a' - 'A'
		default:
			return c
		}
	}, name)
}

// looksLikeMeaning reports a name that people, or programs which normalize names, may read as one
// that has a meaning.
func looksLikeMeaning(name string) bool {
	if !strings.ContainsFunc(name, func(r rune) bool { return r > unicode.MaxASCII || !unicode.IsPrint(r) }) {
		return false // plain names have no other meaning
	}
	seen := visible.Skeleton(name)
	if seen == "" {
		return false
	}
	if nameMeanings[seen] != neither || slices.Contains(headerNames, seen) {
		return true
	}
	if !strings.ContainsFunc(seen, func(r rune) bool { return r <= unicode.MaxASCII && unicode.IsLetter(r) }) {
		return false
	}
	like := func(known string) bool { return visible.CouldRead(seen, known) }
	for _, names := range [][]string{senderNames, recipientNames, eitherNames, headerNames} {
		if slices.ContainsFunc(names, like) {
			return true
		}
	}
	return false
}
