package facet

import (
	"strings"

	"github.com/interlock-run/interlock/pkg/condition"
	"github.com/interlock-run/interlock/pkg/shell"
)

// mailPrograms send mail.
var mailPrograms = wordSet(`mail mailx Mail mutt neomutt s-nail nail sendmail msmtp ssmtp esmtp nullmailer-inject exim exim4 postfix postdrop swaks sendemail mpack
mutt-wizard himalaya aerc alpine pine smtp-cli`)

// mailCommand doubts the addresses of a command that sends mail: its options are not judged.
func mailCommand(p parts, _ *shell.Plan, c shell.Command) {
	switch name := c.Program(); {
	case mailPrograms.has(name):
		p.doubt("the recipients of "+name+" are not judged", mailFacets...)
	case name == "" && !c.Words[c.Assigns].Static:
		p.doubt("a command is known only when the line runs", mailFacets...)
	default:
		for _, w := range c.Words {
			if strings.Contains(strings.ToLower(w.Text), "smtp") || w.Text == "send-email" || w.Text == "imap-send" || strings.HasPrefix(w.Text, "--mail-") {
				p.doubt("the line may send mail", condition.Recipients, condition.Senders)
			}
		}
	}
}
