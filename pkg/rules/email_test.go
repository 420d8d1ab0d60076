package rules_test

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/interlock-run/interlock/pkg/randtest"
	"github.com/interlock-run/interlock/pkg/rules"
	"github.com/interlock-run/interlock/pkg/toolcall"
)

const mailPolicy = `{"role": "agent", "email_config": {
	"allowed_from": ["bot@acme.com", "*@mail.acme.com"], "allowed_to": ["*@example.com", "Boss@acme.com", "*@*.partner.org", "müller@acme.com", "team-*@acme.com"]}}`

// stray returns the message about an address by a name that is not known.
func stray(at string) string {
	return `"` + at + `" of its input has "x@evil.com", which is not in "allowed_to", by a name that is not known for recipients ` +
		`(name those in "to", "cc" or "bcc", and leave other addresses out)`
}

// TestEmail covers S7.7: from, and every to, cc and bcc, in any form.
func TestEmail(t *testing.T) {
	t.Parallel()
	set := compile(t, mailPolicy)
	const from = `"from": "bot@acme.com", `
	for name, tt := range map[string]struct{ input, wrong string }{
		"one":                    {`{` + from + `"to": "a@example.com"}`, ""},
		"a list":                 {`{` + from + `"to": ["a@example.com", "Boss@acme.com"]}`, ""},
		"with names":             {`{"from": "Acme <bot@acme.com>", "to": ["Ann Lee <ann@example.com>"]}`, ""},
		"objects":                {`{"from": {"email": "bot@acme.com", "name": "Bot"}, "to": [{"address": "a@example.com"}]}`, ""},
		"nested objects":         {`{` + from + `"toRecipients": [{"emailAddress": {"address": "a@example.com"}}]}`, ""},
		"no cc, no bcc":          {`{` + from + `"to": "a@example.com", "cc": [], "bcc": null}`, ""},
		"the domain's case":      {`{` + from + `"to": "a@Example.COM"}`, ""},
		"from a wildcard":        {`{"from": "x.y@mail.acme.com", "to": "a@example.com"}`, ""},
		"a subdomain":            {`{` + from + `"to": "a@x.y.partner.org"}`, ""},
		"a prefix":               {`{` + from + `"to": "team-a@acme.com"}`, ""},
		"other letters":          {`{` + from + `"to": "müller@acme.com"}`, ""},
		"plus":                   {`{` + from + `"to": "a+b@example.com"}`, ""},
		"a body with an at":      {`{` + from + `"to": "a@example.com", "subject": "x@evil.com", "html": "to: x@evil.com", "reply_to": "x@evil.com"}`, ""},
		"other order":            {`{"to": "a@example.com", "from": "bot@acme.com"}`, ""},
		"a batch":                {`{"emails": [{` + from + `"to": "a@example.com"}, {` + from + `"to": "b@example.com"}]}`, ""},
		"personalizations":       {`{` + from + `"personalizations": [{"to": [{"email": "a@example.com"}]}]}`, ""},
		"mail by `email`":        {`{` + from + `"email": "a@example.com"}`, ""},
		"mails in `email`":       {`{"email": {` + from + `"to": "a@example.com"}}`, ""},
		"JSON in a text":         {`{` + from + `"to": "a@example.com", "payload": "{\"to\": \"x@evil.com\"}"}`, `"/payload/to" of its input has "x@evil.com", which is not in "allowed_to"`},
		"JSON in a text, fine":   {`{` + from + `"to": "a@example.com", "payload": "{\"to\": \"b@example.com\"}"}`, ""},
		"only in a text":         {`{"payload": "{\"from\":\"bot@acme.com\",\"to\": \"b@example.com\"}"}`, ""},
		"JSON in a list":         {`{` + from + `"to": "a@example.com", "args": ["send", " [{\"cc\": [\"x@evil.com\"]}]"]}`, `"/args/1/0/cc/0" of its input has "x@evil.com", which is not in "allowed_to"`},
		"JSON in JSON":           {`{` + from + `"to": "a@example.com", "p": "{\"q\": \"{\\\"bcc\\\": \\\"x@evil.com\\\"}\"}"}`, `"/p/q/bcc" of its input has "x@evil.com", which is not in "allowed_to"`},
		"a JSON text of JSON":    {`{` + from + `"to": "a@example.com", "p": "\"{\\\"to\\\": \\\"x@evil.com\\\"}\""}`, `"/p/to" of its input has "x@evil.com", which is not in "allowed_to"`},
		"JSON in a body":         {`{` + from + `"to": "a@example.com", "body": "{\"to\": \"x@evil.com\"}"}`, `"/body/to" of its input has "x@evil.com", which is not in "allowed_to"`},
		"JSON with a mark":       {`{` + from + `"to": "a@example.com", "p": "\ufeff{\"to\": \"x@evil.com\"}"}`, `"/p/to" of its input has "x@evil.com", which is not in "allowed_to"`},
		"escaped in a text":      {`{` + from + `"to": "a@example.com", "p": "{\"t\\u006f\": \"x\\u0040evil.com\"}"}`, `"/p/to" of its input has "x@evil.com", which is not in "allowed_to"`},
		"two JSON in a text":     {`{` + from + `"to": "a@example.com", "p": "{} {\"to\": \"x@evil.com\"}"}`, `"/p" of its input is a text that looks like JSON with addresses and cannot be read as JSON`},
		"a name twice in a text": {`{` + from + `"to": "a@example.com", "p": "{\"to\": \"a@example.com\", \"to\": \"x@evil.com\"}"}`, `"/p" of its input is a text that looks like JSON with addresses and cannot be read as JSON`},
		"loose JSON in a text":   {`{` + from + `"to": "a@example.com", "p": "{to: 'x@evil.com'}"}`, `"/p" of its input is a text that looks like JSON with addresses and cannot be read as JSON`},
		"a bracket in a text":    {`{` + from + `"to": "a@example.com", "subject": "[URGENT] re: it", "text": "{name}, hello", "p": "{\"tags\": [\"x\"]}"}`, ""},
		"a header in JSON":       {`{` + from + `"to": "a@example.com", "p": "{\"to\": \"b@example.com\", \"subject\": \"x\\nBcc: x@evil.com\"}"}`, `"/p/subject" of its input has a line break, which only the text of an email may have`},
		"a Cyrillic letter":      {`{` + from + `"to": "a@example.com", "тo": "x@evil.com"}`, `"/тo" of its input only looks like the name of a sender or recipient; write the name in plain letters`},
		"all Cyrillic":           {`{` + from + `"to": "a@example.com", "всс": "x@evil.com"}`, `"/всс" of its input only looks like the name of a sender or recipient; write the name in plain letters`},
		"fullwidth":              {`{` + from + `"to": "a@example.com", "ＴＯ": "x@evil.com"}`, `"/ＴＯ" of its input only looks like the name of a sender or recipient; write the name in plain letters`},
		"mathematical":           {`{` + from + `"to": "a@example.com", "𝐜𝐜": "x@evil.com"}`, `"/𝐜𝐜" of its input only looks like the name of a sender or recipient; write the name in plain letters`},
		"zero width":             {`{` + from + `"to": "a@example.com", "t\u200bo": "x@evil.com"}`, `"/t\u200bo" of its input only looks like the name of a sender or recipient; write the name in plain letters`},
		"a soft hyphen":          {`{` + from + `"to": "a@example.com", "b\u00adcc": "x@evil.com"}`, `"/b\u00adcc" of its input only looks like the name of a sender or recipient; write the name in plain letters`},
		"an accent":              {`{` + from + `"to": "a@example.com", "tò": "x@evil.com"}`, `"/tò" of its input only looks like the name of a sender or recipient; write the name in plain letters`},
		"Greek":                  {`{` + from + `"to": "a@example.com", "recipiεnt": "x@evil.com"}`, `"/recipiεnt" of its input only looks like the name of a sender or recipient; write the name in plain letters`},
		"any other letter":       {`{` + from + `"to": "a@example.com", "reciꝑient": "x@evil.com"}`, `"/reciꝑient" of its input only looks like the name of a sender or recipient; write the name in plain letters`},
		"a tab":                  {`{` + from + `"to": "a@example.com", "to\t": "x@evil.com"}`, `"/to\t" of its input only looks like the name of a sender or recipient; write the name in plain letters`},
		"a look-alike in JSON":   {`{` + from + `"to": "a@example.com", "p": "{\"tо\": \"x@evil.com\"}"}`, `"/p/tо" of its input only looks like the name of a sender or recipient; write the name in plain letters`},
		"a look-alike sender":    {`{` + from + `"to": "a@example.com", "frоm": "x@evil.com"}`, `"/frоm" of its input only looks like the name of a sender or recipient; write the name in plain letters`},
		"a look-alike header":    {`{` + from + `"to": "a@example.com", "headers": [{"name": "Bсc", "value": "x@evil.com"}]}`, `"/headers/0/value" of its input has a header whose name only looks like that of senders or recipients; write the name in plain letters`},
		"a look-alike line":      {`{` + from + `"to": "a@example.com", "headers": ["Bсc: x@evil.com"]}`, `"/headers/0" of its input has a header whose name only looks like that of senders or recipients; write the name in plain letters`},
		"look-alike headers":     {`{` + from + `"to": "a@example.com", "heаders": ["Bcc: x@evil.com"]}`, `"/heаders" of its input only looks like the name of a sender or recipient; write the name in plain letters`},
		"names of other words":   {`{` + from + `"to": "a@example.com", "größe": "x", "имя": "y", "标题": "z", "naïve": "w"}`, ""},
		"an unknown name":        {`{` + from + `"to": "a@example.com", "audience": "x@evil.com"}`, stray("/audience")},
		"an unknown list":        {`{` + from + `"to": "a@example.com", "destinations": ["b@example.com", "x@evil.com"]}`, stray("/destinations/1")},
		"unknown and an object":  {`{` + from + `"to": "a@example.com", "attendees": [{"name": "Eve", "value": "x@evil.com"}]}`, stray("/attendees/0/value")},
		"unknown and a name":     {`{` + from + `"to": "a@example.com", "notify": "Eve <x@evil.com>"}`, stray("/notify")},
		"unknown and several":    {`{` + from + `"to": "a@example.com", "notify": "b@example.com; x@evil.com"}`, stray("/notify")},
		"unknown and blanks":     {`{` + from + `"to": "a@example.com", "notify": " b@example.com  <x@evil.com> "}`, stray("/notify")},
		"unknown and mailto":     {`{` + from + `"to": "a@example.com", "link": "MAILTO:x@evil.com?subject=y"}`, stray("/link")},
		"unknown and deep":       {`{` + from + `"to": "a@example.com", "a": {"b": [["x@evil.com"]]}}`, stray("/a/b/0/0")},
		"unknown in JSON":        {`{` + from + `"to": "a@example.com", "p": "{\"tags\": [\"x@evil.com\"]}"}`, stray("/p/tags/0")},
		"an address as a name":   {`{` + from + `"to": "a@example.com", "vars": {"x@evil.com": {"id": 1}}}`, stray("/vars")},
		"unknown, in the list":   {`{` + from + `"to": "a@example.com", "vars": {"a@example.com": {"id": 1}}, "audience": ["Ann <b@example.com>"], "account": "bot@acme.com"}`, ""},
		"unknown, no address":    {`{` + from + `"to": "a@example.com", "note": "write to x@evil.com", "tag": "@here", "handle": "@eve", "in_reply_to": "<1@>"}`, ""},
		"no sender":              {`{"to": "a@example.com"}`, `its input names recipients and no sender`},
		"an empty sender":        {`{"from": "", "to": "a@example.com"}`, `its input names recipients and no sender`},
		"no recipient":           {`{` + from + `"subject": "x"}`, "its input names no recipient"},
		"empty recipients":       {`{` + from + `"to": [], "cc": ""}`, "its input names no recipient"},
		"nothing":                {``, "its input names no recipient"},
		"no JSON":                {`{`, "its input is not one JSON object"},
		"a list of mail":         {`[{}]`, "its input is not one JSON object"},
		"a repeated key":         {`{` + from + `"to": "a@example.com", "to": "x@evil.com"}`, "its input is not one JSON object"},
		"another sender":         {`{"from": "x@evil.com", "to": "a@example.com"}`, `"/from" of its input has "x@evil.com", which is not in "allowed_from"`},
		"another recipient":      {`{` + from + `"to": "x@evil.com"}`, `"/to" of its input has "x@evil.com", which is not in "allowed_to"`},
		"among others":           {`{` + from + `"to": ["a@example.com", "x@evil.com"]}`, `"/to/1" of its input has "x@evil.com", which is not in "allowed_to"`},
		"cc":                     {`{` + from + `"to": "a@example.com", "cc": "x@evil.com"}`, `"/cc" of its input has "x@evil.com", which is not in "allowed_to"`},
		"bcc":                    {`{` + from + `"to": "a@example.com", "BCC": ["x@evil.com"]}`, `"/BCC/0" of its input has "x@evil.com", which is not in "allowed_to"`},
		"only bcc":               {`{` + from + `"bcc": "x@evil.com"}`, `"/bcc" of its input has "x@evil.com", which is not in "allowed_to"`},
		"in headers":             {`{` + from + `"to": "a@example.com", "headers": {"Bcc": "x@evil.com"}}`, `"/headers/Bcc" of its input has "x@evil.com", which is not in "allowed_to"`},
		"sender in headers":      {`{` + from + `"to": "a@example.com", "headers": {"From": "x@evil.com"}}`, `"/headers/From" of its input has "x@evil.com", which is not in "allowed_from"`},
		"in a batch":             {`{"emails": [{` + from + `"to": "a@example.com"}, {` + from + `"to": "x@evil.com"}]}`, `"/emails/1/to" of its input has "x@evil.com", which is not in "allowed_to"`},
		"a batch, no sender":     {`{"emails": [{` + from + `"to": "a@example.com"}, {"to": "b@example.com"}]}`, `"/emails/1" of its input names recipients and no sender`},
		"by `email`, denied":     {`{` + from + `"to": "a@example.com", "email": ["x@evil.com"]}`, `"/email/0" of its input has "x@evil.com", which is not in "allowed_to"`},
		"other spelling":         {`{` + from + `"to": "a@example.com", "cc_addresses": ["x@evil.com"]}`, `"/cc_addresses/0" of its input has "x@evil.com", which is not in "allowed_to"`},
		"a comma":                {`{` + from + `"to": "a@example.com, x@evil.com"}`, `"/to" of its input has "a@example.com, x@evil.com", which is not one address (write name@example.com, one in each item of a list)`},
		"a number":               {`{` + from + `"to": 7}`, `"/to" of its input is not an address`},
		"an empty object":        {`{` + from + `"to": {}}`, `"/to" of its input has no address`},
		"header objects":         {`{` + from + `"to": "a@example.com", "headers": [{"name": "Bcc", "value": "x@evil.com"}]}`, `"/headers/0/value" of its input has "x@evil.com", which is not in "allowed_to"`},
		"header objects, keys":   {`{` + from + `"to": "a@example.com", "extra": {"h": {"key": " bcc:", "values": ["b@example.com", "x@evil.com"]}}}`, `"/extra/h/values/1" of its input has "x@evil.com", which is not in "allowed_to"`},
		"header objects, from":   {`{` + from + `"to": "a@example.com", "headers": [{"value": "x@evil.com", "name": "FROM"}]}`, `"/headers/0/value" of its input has "x@evil.com", which is not in "allowed_from"`},
		"header objects, all":    {`{"headers": [{"name": "From", "value": "bot@acme.com"}, {"name": "To", "value": "a@example.com"}]}`, `"/headers/1" of its input names recipients and no sender`},
		"header objects, fine":   {`{` + from + `"to": "a@example.com", "headers": [{"name": "Bcc", "value": "b@example.com"}, {"name": "X-Tag", "value": "x@evil.com"}]}`, ""},
		"header lines":           {`{` + from + `"to": "a@example.com", "headers": ["X: y", "Bcc: x@evil.com"]}`, `"/headers/1" of its input has "x@evil.com", which is not in "allowed_to"`},
		"a header line":          {`{` + from + `"to": "a@example.com", "extraHeaders": "cc : x@evil.com"}`, `"/extraHeaders" of its input has "x@evil.com", which is not in "allowed_to"`},
		"header pairs":           {`{` + from + `"to": "a@example.com", "headers": [["X", "y"], ["Bcc", "x@evil.com"]]}`, `"/headers/1/1" of its input has "x@evil.com", which is not in "allowed_to"`},
		"a list of headers":      {`{` + from + `"to": "a@example.com", "headers": ["Bcc", ["x@evil.com"]]}`, `"/headers/1/0" of its input has "x@evil.com", which is not in "allowed_to"`},
		"headers that are fine":  {`{` + from + `"to": "a@example.com", "headers": ["Cc: b@example.com", "X-To: me"]}`, ""},
		"a header in a subject":  {`{` + from + `"to": "a@example.com", "subject": "x\r\nBcc: x@evil.com"}`, `"/subject" of its input has a line break, which only the text of an email may have`},
		"only a newline":         {`{` + from + `"to": "a@example.com", "message": {"subject": "x\ny"}}`, `"/message/subject" of its input has a line break, which only the text of an email may have`},
		"a raw email":            {`{` + from + `"to": "a@example.com", "raw": "To: x@evil.com\r\n\r\nhi"}`, `"/raw" of its input has a line break, which only the text of an email may have`},
		"in a header":            {`{` + from + `"to": "a@example.com", "message": {"headers": [{"name": "X", "value": "y\rBcc: x@evil.com"}]}}`, `"/message/headers/0/value" of its input has a line break, which only the text of an email may have`},
		"in a header's name":     {`{` + from + `"to": "a@example.com", "headers": {"X: y\nBcc": "x@evil.com"}}`, `"/headers" of its input has a field with a line break in its name`},
		"bodies have lines":      {`{` + from + `"to": "a@example.com", "text": "a\nb", "html": "a\r\nb", "content": [{"type": "text/plain", "value": "a\nb"}], "body": {"data": "a\nb"}, "attachments": [{"content": "YQ\n"}]}`, ""},
		"an odd object":          {`{` + from + `"to": {"email": "a@example.com", "more": "x@evil.com"}}`, `"/to/more" of its input is not part of an address`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := set.Decide(rules.Call{Tool: "mcp__resend__send_email", Session: "s", Input: []byte(tt.input)}, nil)
			if tt.wrong == "" && v.Decision != toolcall.Allow || tt.wrong != "" && (v.Code != toolcall.CodeEmailDenied || v.Detail != tt.wrong) {
				t.Errorf("%s %s %q, want %q", v.Decision, v.Code, v.Detail, tt.wrong)
			}
		})
	}
}

// TestAddresses: an ambiguous text is not an address, and one that merely looks like an
// allowed one is another.
func TestAddresses(t *testing.T) {
	t.Parallel()
	set := compile(t, mailPolicy)
	for _, to := range []string{
		"x@example.com.evil.com", "x@evilexample.com", "x@evil.com@example.com", "x@example.com@evil.com", "@example.com", "x@", "x", "@",
		"boss@acme.com", "müller@acme.com.", "MÜLLER@acme.com", "x@example.com.", "x@.example.com", "x@example..com", "x@exam\u212able.com",
		"x@example.com>", "<x@example.com", "a<x@example.com>b", "<x@evil.com> <x@example.com>", "a@evil.com <x@example.com>",
		`"x"@example.com`, `"x@evil.com" <x@example.com>`, "x y@example.com", "x@example.com ", " x@example.com", "x@example.com\n", "x\r\nBcc: y@evil.com",
		"x(c)@example.com", "group:x@example.com;", "@evil.com:x@example.com", "x%evil.com@example.com", "evil.com!x@example.com", "é@example.com",
		"x@a.pärtner.org", "x@partner.org", "x@evil.com@a.partner.org", "x@.partner.org", "x@a..partner.org", "team-@acme.com.evil.com", "team-é@acme.com", "x\u202e@example.com", "x\u200b@example.com", "*", "*@example.com, y",
	} {
		input := fmt.Sprintf(`{"from": "bot@acme.com", "to": %q}`, to)
		if strings.ContainsAny(to, "\r\n") || strings.ContainsFunc(to, func(c rune) bool { return c > 0x7f }) {
			input = `{"from": "bot@acme.com", "to": "` + strings.NewReplacer("\r", `\r`, "\n", `\n`, `"`, `\"`).Replace(to) + `"}`
		}
		if v := set.Decide(rules.Call{Tool: "resend-email", Session: "s", Input: []byte(input)}, nil); v.Code != toolcall.CodeEmailDenied {
			t.Errorf("%q is admitted: %s", to, v.Decision)
		}
	}
}

// TestEmailLists: a missing list admits all, an empty one none, * all with an address.
func TestEmailLists(t *testing.T) {
	t.Parallel()
	const mail = `{"from": "x@evil.com", "to": "y@evil.com"}`
	for _, tt := range []struct{ config, input, want string }{
		{`{}`, mail, "ALLOW"},
		{`{}`, `{}`, "ALLOW"},
		{`{"allowed_to": []}`, mail, "DENY"},
		{`{"allowed_from": []}`, mail, "DENY"},
		{`{"allowed_to": ["*"]}`, mail, "ALLOW"},
		{`{"allowed_to": ["*"]}`, `{"to": "evil"}`, "DENY"},
		{`{"allowed_to": ["*@*"]}`, mail, "ALLOW"},
		{`{"allowed_to": ["*@*il.c*"]}`, mail, "ALLOW"},
		{`{"allowed_to": ["*@*ill.c*"]}`, mail, "DENY"},
		{`{"allowed_to": ["y*y@evil.com"]}`, mail, "DENY"},
		{`{"allowed_from": ["x@evil.com"]}`, `{"from": "x@evil.com", "subject": "to whom?"}`, "ALLOW"},
		{`{"allowed_from": ["x@evil.com"]}`, `{"subject": "from whom?"}`, "DENY"},
	} {
		set := compile(t, `{"role": "agent", "email_config": `+tt.config+`}`)
		if v := set.Decide(rules.Call{Tool: "resend-email", Session: "s", Input: []byte(tt.input)}, nil); string(v.Decision) != tt.want {
			t.Errorf("%s of %s: %s %s", tt.config, tt.input, v.Decision, v.Detail)
		}
	}
}

// TestEmailTools covers which tools send email.
func TestEmailTools(t *testing.T) {
	t.Parallel()
	standard := compile(t, `{"role": "agent", "email_config": {"allowed_to": []}}`)
	named := compile(t, `{"role": "agent", "meta": {"tools": ["mail"]}, "email_config": {"allowed_to": [], "tools": ["mcp:postmark", "tool:mail"]}}`)
	for tool, want := range map[string]struct{ standard, named bool }{
		"resend-email": {true, false}, "mcp__resend__send": {true, false}, "mcp__proxy__resend-email": {true, false},
		"mcp__resend2__send": {true, false}, "mcp__plugin_mail_resend__send": {true, false},
		"mcp__My-Resend__batch": {true, false}, "Resend_Email": {true, false}, "mcp__fs__resend_invite": {false, false}, "resend": {false, false}, "mcp__postmark__send": {false, true}, "mail": {false, true}, "Bash": {false, false},
	} {
		if v := standard.Decide(rules.Call{Tool: tool}, nil); (v.Code == toolcall.CodeEmailDenied) != want.standard {
			t.Errorf("%s: %s", tool, v.Decision)
		}
		if v := named.Decide(rules.Call{Tool: tool}, nil); (v.Code == toolcall.CodeEmailDenied) != want.named {
			t.Errorf("%s where tools are named: %s", tool, v.Decision)
		}
	}
}

// TestEmailCount: each email of a call counts, for the session with all that it has
// started, under any policy.
func TestEmailCount(t *testing.T) {
	t.Parallel()
	const config = `{"role": "agent", "name": "p", "email_config": {"max_emails_per_session": 2}}`
	set := compile(t, config)
	const mail = `{"to": "a@b.c"}`
	for input, want := range map[string]string{
		mail: "/session/top/emails +1 <= 2",
		``:   "/session/top/emails +1 <= 2",
		`{"emails": [` + mail + `, ` + mail + `]}`:               "/session/top/emails +2 <= 2",
		`{"emails": [` + mail + `, ` + mail + `, ` + mail + `]}`: "EMAIL_DENIED",
		`{"to": ["a@b.c", "d@e.f"], "cc": "g@h.i"}`:              "/session/top/emails +1 <= 2",
		`{`: "EMAIL_DENIED",
	} {
		v := set.Decide(rules.Call{Tool: "resend-email", Session: "child", Root: "top", Input: []byte(input)}, nil)
		got := string(v.Code)
		if v.Decision == toolcall.Allow {
			got = spendsOf(v.Spends)
		}
		if got != want {
			t.Errorf("%s: %s", input, got)
		}
	}
	if v := set.Decide(rules.Call{Tool: "Bash", Session: "s"}, nil); len(v.Spends) != 0 {
		t.Errorf("a shell counts as %s", spendsOf(v.Spends))
	}
	if v := set.Decide(rules.Call{Tool: "resend-email", Input: []byte(mail)}, nil); v.Code != toolcall.CodePolicyUnavailable {
		t.Errorf("in no session: %s %s", v.Decision, v.Code)
	}
	none := compile(t, `{"role": "agent", "email_config": {"max_emails_per_session": 0}}`)
	if v := none.Decide(rules.Call{Tool: "resend-email", Session: "s"}, nil); v.Code != toolcall.CodeEmailDenied {
		t.Errorf("none is allowed: %s %s", v.Decision, v.Code)
	}
	asks := compile(t, `{"role": "agent", "ask": [{"capability": "*"}], "deny": [{"capability": "tool:resend-email"}], "email_config": {"allowed_to": []}}`)
	if v := asks.Decide(rules.Call{Tool: "mcp__resend__x", Session: "s"}, nil); v.Code != toolcall.CodeEmailDenied {
		t.Errorf("a human is asked for what cannot be: %s", v.Decision)
	}
	if v := asks.Decide(rules.Call{Tool: "resend-email", Session: "s"}, nil); v.Code != toolcall.CodePolicyDenied {
		t.Errorf("deny goes first: %s", v.Code)
	}
}

// TestNoRecipientEscapes: wherever in an input a stranger is a recipient, the call
// is denied.
func TestNoRecipientEscapes(t *testing.T) {
	t.Parallel()
	set := compile(t, mailPolicy)
	field := rapid.SampledFrom([]string{"to", "Cc", "b_c_c", "recipients", "toAddresses", "Rcpt-To", "email"})
	randtest.Check(t, func(t *rapid.T) {
		evil := `"x@evil.com"`
		if rapid.Bool().Draw(t, "listed") {
			evil = `["a@example.com", ` + evil + `]`
		}
		form := rapid.SampledFrom([]string{
			`{"from": "bot@acme.com", "subject": "s", %q: %s}`, `{"from": "bot@acme.com", "to": "a@example.com", "h": [{"name": %q, "value": %s}]}`,
			`{"from": "bot@acme.com", "headers": [%q, %s]}`, `{"from": "bot@acme.com", "headers": [[%q, %s]]}`, `{"x": {"v": {"w": 1, "u": []}, "key": %q, "data": %s}}`,
		}).Draw(t, "form")
		inner := fmt.Sprintf(form, field.Draw(t, "field"), evil)
		for range rapid.IntRange(0, 5).Draw(t, "depth") {
			inner = fmt.Sprintf(rapid.SampledFrom([]string{
				`{"message": %s}`, `{"emails": [{"from": "bot@acme.com", "to": "a@example.com"}, %s]}`, `{"from": "bot@acme.com", "to": "a@example.com", "x": [[%s]]}`,
			}).Draw(t, "within"), inner)
		}
		if v := set.Decide(rules.Call{Tool: "resend-email", Session: "s", Input: []byte(inner)}, nil); v.Code != toolcall.CodeEmailDenied {
			t.Fatalf("%s is admitted", inner)
		}
	})
}
