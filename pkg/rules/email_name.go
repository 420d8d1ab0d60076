package rules

import (
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
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
	seen := skeleton(name)
	if seen == "" {
		return false
	}
	if nameMeanings[seen] != neither || slices.Contains(headerNames, seen) {
		return true
	}
	if !strings.ContainsFunc(seen, func(r rune) bool { return r <= unicode.MaxASCII && unicode.IsLetter(r) }) {
		return false
	}
	like := func(known string) bool { return couldRead(seen, known) }
	for _, names := range [][]string{senderNames, recipientNames, eitherNames, headerNames} {
		if slices.ContainsFunc(names, like) {
			return true
		}
	}
	return false
}

// skeleton returns a name as it looks: letters and digits only, without accents, in lower case,
// with letters of other alphabets replaced by those of ASCII that they look like.
func skeleton(name string) string {
	return strings.Map(func(r rune) rune {
		r = unicode.ToLower(r)
		if plain, ok := looksLike[r]; ok {
			return plain
		}
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			return -1
		}
		return r
	}, norm.NFKD.String(name))
}

// couldRead reports a name that is a known one where its letters are of ASCII, and has any letter
// of another alphabet elsewhere.
func couldRead(seen, known string) bool {
	letters := []rune(seen)
	if len(letters) != len(known) {
		return false
	}
	for i, r := range letters {
		if r <= unicode.MaxASCII && r != rune(known[i]) {
			return false
		}
	}
	return true
}

// looksLike are letters of other alphabets that stand alone in whole words.
var looksLike = map[rune]rune{
	'а': 'a', 'в': 'b', 'ь': 'b', 'с': 'c', 'ԁ': 'd', 'е': 'e', 'ғ': 'f', 'һ': 'h', 'н': 'h', 'і': 'i', 'ј': 'j', 'к': 'k', 'ӏ': 'l', 'м': 'm',
	'п': 'n', 'о': 'o', 'р': 'p', 'ԛ': 'q', 'г': 'r', 'ѕ': 's', 'т': 't', 'ц': 'u', 'ѵ': 'v', 'ԝ': 'w', 'х': 'x', 'у': 'y',
	'α': 'a', 'β': 'b', 'ϲ': 'c', 'ε': 'e', 'η': 'n', 'ι': 'i', 'κ': 'k', 'μ': 'm', 'ν': 'v', 'ο': 'o', 'ρ': 'p', 'σ': 'o', 'τ': 't', 'υ': 'u',
	'χ': 'x', 'γ': 'y', 'ω': 'w', 'օ': 'o', 'ս': 'u', 'ո': 'n', 'հ': 'h', 'ց': 'g', 'ı': 'i', 'ɩ': 'i', 'ɑ': 'a', 'ɡ': 'g', 'ɔ': 'c', 'ᴀ': 'a',
	'ʙ': 'b', 'ᴄ': 'c', 'ᴅ': 'd', 'ᴇ': 'e', 'ꜰ': 'f', 'ʜ': 'h', 'ɪ': 'i', 'ᴊ': 'j', 'ᴋ': 'k', 'ʟ': 'l', 'ᴍ': 'm', 'ɴ': 'n', 'ᴏ': 'o', 'ᴘ': 'p',
	'ʀ': 'r', 'ꜱ': 's', 'ᴛ': 't', 'ᴜ': 'u', 'ᴠ': 'v', 'ꭰ': 'd', 'ꭲ': 'i', 'ꮯ': 'c', 'ꮎ': 'o', 'ø': 'o', 'đ': 'd', 'ł': 'l', 'ŧ': 't', 'ħ': 'h',
}
