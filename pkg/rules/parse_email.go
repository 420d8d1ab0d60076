package rules

import (
	"strings"
	"unicode"

	"github.com/interlock-run/interlock/pkg/document"
)

// ReadEmailLimits reads email_config, nil when there is none (S7.7).
func ReadEmailLimits(f document.Fields) *EmailLimits {
	e, ok := f.Object("email_config")
	if !ok {
		return nil
	}
	e.Known("an email configuration", "max_emails_per_session", "allowed_from", "allowed_to", "tools")
	limits := &EmailLimits{}
	limits.Tools = emailTools(e)
	limits.MaxPerSession, limits.Limited = e.Integer("max_emails_per_session", 0)
	limits.AllowedFrom = addresses(e, "allowed_from")
	limits.AllowedTo = addresses(e, "allowed_to")
	return limits
}

func emailTools(f document.Fields) []string {
	items, ok := f.Strings("tools", maxRules)
	if !ok {
		return nil
	}
	if len(items) == 0 {
		f.Report.Errorf(f.At.Key("tools"), document.CodeEmpty, "no tool sends email, so nothing is limited; name some or remove the list")
	}
	for _, item := range items {
		if fix := capabilityFix(item.Text); fix != "" {
			f.Report.Errorf(item.At, CodeCapability, "%s matches no call; %s", document.Quote(item.Text), fix)
		}
	}
	f.Report.Duplicates(items)
	return document.Texts(items)
}

func addresses(f document.Fields, name string) []string {
	items, ok := f.Strings(name, maxRules)
	if !ok {
		return nil
	}
	for _, item := range items {
		switch mailbox, domain, at := strings.Cut(item.Text, "@"); {
		case item.Text == "":
			f.Report.Errorf(item.At, document.CodeEmpty, "the address is empty; write one or remove it")
			f.Report.Errorf(item.At, document.CodeName, "the address is empty; it matches nothing")
		case item.Text == "*":
			f.Report.Warnf(item.At, CodeTooBroad, "\"*\" admits every address; name them")
		case !at || mailbox == "" || domain == "" || strings.Contains(domain, "@") || strings.ContainsFunc(item.Text, notInAddress):
			f.Report.Errorf(item.At, document.CodeName, "%s is not a valid address; write name@example.com or *@example.com", document.Quote(item.Text))
		}
	}
	f.Report.Duplicates(items)
	return document.Texts(items)
}

func notInAddress(c rune) bool { return !unicode.IsPrint(c) || strings.ContainsRune(" ,;<>()\"", c) }
