package rules

import "strings"

// meaning of a field of an email tool's input.
type meaning uint8

const (
	neither meaning = iota
	sender
	recipient
	either // a recipient when it is a text, an email when it is an object
)

// meaningOf goes by a field's name in any spelling, as mail services write it.
func meaningOf(name string) meaning {
	switch folded(name) {
	case "from", "sender", "fromaddress", "fromemail", "fromemailaddress", "senderaddress", "senderemail", "mailfrom",
		"envelopefrom", "returnpath":
		return sender
	case "to", "cc", "bcc", "recipient", "recipients", "rcpt", "rcptto", "mailto", "sendto", "emailto", "envelopeto", "deliverto",
		"toaddress", "toaddresses", "toemail", "toemails", "toemailaddress", "toemailaddresses", "torecipients",
		"ccaddress", "ccaddresses", "ccemail", "ccemails", "ccemailaddress", "ccemailaddresses", "ccrecipients",
		"bccaddress", "bccaddresses", "bccemail", "bccemails", "bccemailaddress", "bccemailaddresses", "bccrecipients",
		"recipientemail", "recipientemails", "resentto", "resentcc", "resentbcc":
		return recipient
	case "email", "emails", "emailaddress", "emailaddresses":
		return either
	default:
		return neither
	}
}

// folded is a name without case, dashes, underscores and blanks.
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
