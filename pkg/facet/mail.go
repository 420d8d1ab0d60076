package facet

import (
	"github.com/interlock-run/interlock/pkg/condition"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/mail"
	"github.com/interlock-run/interlock/pkg/toolname"
)

var mailFacets = []condition.Facet{condition.Recipients, condition.Senders}

// mailFacet returns the addresses of a call (S21.13).
func (f *Facts) mailFacet(name condition.Facet) condition.Set {
	p := parts{}
	d, described := f.described()
	sends := f.sendsMail()
	if sends {
		p.mail(mail.Read(f.of.Input, mail.Lists{}))
	}
	for facet, pointers := range map[condition.Facet][]string{condition.Recipients: d.Recipients, condition.Senders: d.Senders} {
		f.texts(p, pointers, []condition.Facet{facet}, func(text string) { p.mailbox(facet, text) })
		if len(pointers) > 0 && len(p.of(facet).values) == 0 {
			p.doubt("the call names none of the "+string(facet)+" to which its description points", facet)
		}
		if why := f.mailSilent(sends, pointers != nil, string(facet)); why != "" {
			p.doubt(why, facet)
		}
	}
	if !described && !sends && f.runsLine() {
		p = f.overCommands(true, mailFacets, mailCommand)
	}
	return p.set(name)
}

// mailSilent returns why one of the facets is not known; it is empty when it is.
func (f *Facts) mailSilent(sends, says bool, facet string) string {
	if sends {
		return ""
	}
	d, described := f.described()
	if described && f.runsLine() && !says && !d.Closed {
		return "the description of the tool does not say its " + facet
	}
	return f.silent(says, "its "+facet)
}

// sendsMail reports a tool that is known to send mail, by one of its names.
func (f *Facts) sendsMail() bool {
	sends := func(name string) bool { return name != "" && mail.Sends([]byte(toolname.Capability(name))) }
	return sends(f.of.Tool) || sends(f.of.Qualified)
}

// mail notes the addresses of an input. Those by names that are not known may be recipients or senders.
func (p parts) mail(found mail.Found) {
	for _, a := range found.Recipients {
		p.text(condition.Recipients, a.String())
	}
	for _, a := range found.Senders {
		p.text(condition.Senders, a.String())
	}
	for _, a := range found.Stray {
		p.add(condition.Recipients, condition.Element{Value: document.StringValue(a.String()), Unsure: true})
		p.add(condition.Senders, condition.Element{Value: document.StringValue(a.String()), Unsure: true})
	}
	if found.Wrong != "" {
		p.doubt(found.Wrong, mailFacets...)
	}
}

// mailbox notes one address.
func (p parts) mailbox(facet condition.Facet, text string) {
	a, ok := mail.ParseAddress(text)
	switch {
	case text == "":
	case !ok:
		p.doubt(document.Quote(text)+" is not one address; write name@example.com, one in each item of a list", facet)
	default:
		p.text(facet, a.String())
	}
}
