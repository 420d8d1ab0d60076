package rules_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/rules"
)

func codes(problems document.Problems) string {
	var all []string
	for _, p := range problems {
		all = append(all, p.Code+" "+p.Pointer)
	}
	return strings.Join(all, "; ")
}

// TestParsePolicyProblems covers S7, the codes of fields (S1.3), and examples (S21.8).
func TestParsePolicyProblems(t *testing.T) {
	t.Parallel()
	with := func(fields string) string { return `{"role":"agent",` + fields + `}` }
	rule := func(fields string) string { return with(`"allow":[{"capability":"bash",` + fields + `}]`) }
	capability := func(c string) string { return with(`"deny":[{"capability":"` + c + `"}]`) }
	const at = "CAPABILITY /deny/0/capability"
	tests := map[string]struct{ src, want string }{
		"smallest":            {`{"role":"agent"}`, ""},
		"empty":               {`{}`, "REQUIRED /role"},
		"a list":              {`[]`, "TYPE "},
		"syntax":              {`{`, "JSON_SYNTAX "},
		"role a number":       {`{"role":1}`, "TYPE /role"},
		"role empty":          {`{"role":""}`, "ENUM /role"},
		"role null":           {`{"role":null}`, "TYPE /role"},
		"unknown field":       {with(`"comment":"x"`), "UNKNOWN_FIELD /comment"},
		"near miss":           {with(`"denys":[]`), "UNKNOWN_FIELD /denys"},
		"case variant":        {with(`"Deny":[]`), "UNKNOWN_FIELD /Deny"},
		"default":             {with(`"default":"deny"`), ""},
		"default unknown":     {with(`"default":"Deny"`), "ENUM /default"},
		"allow a string":      {with(`"allow":"bash"`), "TYPE /allow"},
		"deny null":           {with(`"deny":null`), "TYPE /deny"},
		"deny empty":          {with(`"deny":[]`), ""},
		"rule a string":       {with(`"deny":["bash"]`), "TYPE /deny/0"},
		"rule empty":          {with(`"ask":[{}]`), "REQUIRED /ask/0/capability"},
		"rule unknown":        {with(`"ask":[{"capability":"bash","tool":"x"}]`), "UNKNOWN_FIELD /ask/0/tool"},
		"limit of deny":       {with(`"deny":[{"capability":"bash","rate_limit":{"max_calls":1,"window_seconds":1}}]`), "UNKNOWN_FIELD /deny/0/rate_limit"},
		"twice":               {with(`"deny":[{"capability":"bash"},{"capability":"bash"}]`), "DUPLICATE_ITEM /deny/1/capability"},
		"allowed and denied":  {with(`"allow":[{"capability":"bash"}],"deny":[{"capability":"bash"}]`), "NO_EFFECT /allow/0/capability"},
		"allow all":           {with(`"allow":[{"capability":"*"}]`), "TOO_BROAD /allow/0/capability"},
		"capability a number": {with(`"deny":[{"capability":5}]`), "TYPE /deny/0/capability"},
		"capability empty":    {capability(""), "EMPTY /deny/0/capability; CAPABILITY /deny/0/capability"},

		"all":               {capability("*"), ""},
		"bash":              {capability("bash"), ""},
		"bash*":             {capability("bash*"), ""},
		"mcp":               {capability("mcp"), ""},
		"mcp:*":             {capability("mcp:*"), ""},
		"mcp*":              {capability("mcp*"), ""},
		"m*":                {capability("m*"), ""},
		"server":            {capability("mcp:filesystem"), ""},
		"server:*":          {capability("mcp:filesystem:*"), ""},
		"tool":              {capability("mcp:filesystem:write_file"), ""},
		"tool prefix":       {capability("mcp:filesystem:write_*"), ""},
		"built in":          {capability("tool:WebFetch"), ""},
		"of shells":         {capability("tool:Bash"), at},
		"of other shells":   {capability("tool:run_terminal_cmd"), at},
		"of a server":       {capability("tool:mcp__fs__x"), at},
		"of a server's all": {capability("tool:mcp__fs__*"), at},
		"of servers":        {capability("tool:mcp__*"), at},
		"of one server":     {capability("tool:mcp__fs"), at},
		"of our own":        {capability("tool:transition"), at},
		"case of a tool":    {capability("tool:write"), "UNKNOWN_TOOL /deny/0/capability"},
		"tool of nobody":    {capability("tool:Pay"), "UNKNOWN_TOOL /deny/0/capability"},
		"asks of nobody":    {with(`"ask":[{"capability":"tool:Pay"}]`), "UNKNOWN_TOOL /ask/0/capability"},
		"allows of nobody":  {with(`"allow":[{"capability":"tool:Pay"}]`), ""},
		"allows a mistake":  {with(`"allow":[{"capability":"tool:Raed"}]`), "UNKNOWN_TOOL /allow/0/capability"},
		"limit of nobody":   {with(`"allow":[{"capability":"tool:Pay","rate_limit":{"max_calls":1,"window_seconds":1}}]`), "UNKNOWN_TOOL /allow/0/capability"},
		"declared":          {with(`"meta":{"tools":["Pay"]},"deny":[{"capability":"tool:Pay"}]`), ""},
		"case of declared":  {with(`"meta":{"tools":["Pay"]},"deny":[{"capability":"tool:pay"}]`), "UNKNOWN_TOOL /deny/0/capability"},
		"wildcard":          {capability("tool:Pay*"), ""},
		"meta unknown":      {with(`"meta":{"tool":["Pay"]}`), "UNKNOWN_FIELD /meta/tool"},
		"meta a list":       {with(`"meta":["Pay"]`), "TYPE /meta"},
		"meta no name":      {with(`"meta":{"tools":["a b"]}`), "NAME /meta/tools/0"},
		"blank":             {capability(" "), at},
		"blanks":            {capability("mcp: fs"), at},
		"newline":           {capability(`bash\n`), at},
		"invisible":         {capability(`bash\u200b`), at},
		"star in the mid":   {capability("mcp:*:delete"), at},
		"star in front":     {capability("*:delete"), at},
		"two stars":         {capability("mcp:**"), at},
		"empty part":        {capability("mcp::x"), at},
		"colon at the end":  {capability("mcp:fs:"), at},
		"colon first":       {capability(":mcp"), at},
		"other case":        {capability("Bash"), at},
		"other kind":        {capability("shell"), at},
		"kind prefix":       {capability("filesystem:*"), at},
		"bash with parts":   {capability("bash:rm"), at},
		"bash with a star":  {capability("bash:*"), at},
		"too long":          {capability("tool:" + strings.Repeat("x", 1_020)), at},
		"server with __":    {capability("mcp:my__fs:delete"), at},
		"server ends in _":  {capability("mcp:my_:delete"), at},
		"all of such":       {capability("mcp:my__fs"), at},
		"all of such, *":    {capability("mcp:my_:*"), at},
		"servers with _":    {capability("mcp:my_*"), ""},
		"tool with __":      {capability("mcp:my:fs__delete"), ""},
		"bare email tool":   {capability("resend-email"), at},
		"prefix of no kind": {capability("x*"), at},

		"rate":                 {rule(`"rate_limit":{"max_calls":100,"window_seconds":3600}`), ""},
		"rate null":            {rule(`"rate_limit":null`), "TYPE /allow/0/rate_limit"},
		"rate empty":           {rule(`"rate_limit":{}`), "REQUIRED /allow/0/rate_limit/max_calls; REQUIRED /allow/0/rate_limit/window_seconds"},
		"rate 0":               {rule(`"rate_limit":{"max_calls":0,"window_seconds":1}`), "RANGE /allow/0/rate_limit/max_calls"},
		"rate negative":        {rule(`"rate_limit":{"max_calls":-1,"window_seconds":1}`), "RANGE /allow/0/rate_limit/max_calls"},
		"rate a string":        {rule(`"rate_limit":{"max_calls":"1","window_seconds":1}`), "TYPE /allow/0/rate_limit/max_calls"},
		"rate with a fraction": {rule(`"rate_limit":{"max_calls":1.5,"window_seconds":1}`), "TYPE /allow/0/rate_limit/max_calls"},
		"window 0":             {rule(`"rate_limit":{"max_calls":1,"window_seconds":0}`), "RANGE /allow/0/rate_limit/window_seconds"},
		"window a century":     {rule(`"rate_limit":{"max_calls":1,"window_seconds":3153600000}`), "RANGE /allow/0/rate_limit/window_seconds"},
		"rate unknown":         {rule(`"rate_limit":{"max_calls":1,"window_seconds":1,"burst":2}`), "UNKNOWN_FIELD /allow/0/rate_limit/burst"},

		"when":                  {with(`"deny":[{"capability":"*","when":{"/a":{"gt":1}}}]`), ""},
		"when empty":            {with(`"deny":[{"capability":"bash","when":{}}]`), "EMPTY /deny/0/when"},
		"when a list":           {with(`"deny":[{"capability":"bash","when":[]}]`), "TYPE /deny/0/when"},
		"unless":                {with(`"ask":[{"capability":"bash","unless":{"/a":1}}]`), ""},
		"unless in allow":       {with(`"default":"deny","allow":[{"capability":"bash","unless":{"/a":1}}]`), "UNKNOWN_FIELD /allow/0/unless"},
		"when in allow":         {with(`"default":"deny","allow":[{"capability":"bash","when":{"/a":1}}]`), ""},
		"when without effect":   {rule(`"when":{"/a":1}`), "NO_EFFECT /allow/0/when"},
		"when with a limit":     {rule(`"id":"x","when":{"/a":1},"rate_limit":{"max_calls":1,"window_seconds":1}`), ""},
		"when, limit, no id":    {rule(`"when":{"/a":1},"rate_limit":{"max_calls":1,"window_seconds":1}`), "REQUIRED /allow/0"},
		"unknown facet":         {with(`"deny":[{"capability":"bash","when":{"writs":["a"]}}]`), "UNKNOWN_FIELD /deny/0/when/writs"},
		"twice with conditions": {with(`"deny":[{"capability":"bash","when":{"/a":1}},{"capability":"bash","when":{"/a":2}}]`), ""},
		"denied under one":      {with(`"ask":[{"capability":"bash"}],"deny":[{"capability":"bash","when":{"/a":1}}]`), ""},
		"all under one":         {with(`"default":"deny","allow":[{"capability":"*","when":{"/a":1}}]`), ""},
		"id empty":              {rule(`"id":""`), "EMPTY /allow/0/id"},
		"id twice":              {with(`"ask":[{"id":"x","capability":"bash"}],"deny":[{"id":"x","capability":"mcp:a"}]`), "DUPLICATE_ITEM /deny/0/id"},
		"a broken condition":    {with(`"deny":[{"capability":"mcp:a","when":{"/a":{"lt":[]}}}],"ask":[{"capability":"mcp:a"}]`), "TYPE /deny/0/when/~1a/lt; TYPE /deny/0/when/~1a/lt"},
		"message":               {with(`"deny":[{"capability":"bash","message":"Use make."}]`), ""},
		"message empty":         {with(`"ask":[{"capability":"bash","message":""}]`), "EMPTY /ask/0/message"},
		"message of two lines":  {rule(`"message":"a\nb"`), "RANGE /allow/0/message"},
		"message invisible":     {rule(`"message":"a\u202eb"`), "RANGE /allow/0/message"},
		"message long":          {rule(`"message":"` + strings.Repeat("ä", 501) + `"`), "TOO_MANY /allow/0/message"},
		"message at the limit":  {rule(`"message":"` + strings.Repeat("ä", 500) + `"`), ""},
		"id invisible":          {rule(`"id":"a\u200b"`), "NAME /allow/0/id"},
		"window":                {with(`"windows":{"work":{"zone":"Europe/Berlin","days":["mon-thu"],"from":"09:00","to":"16:00"}},"deny":[{"capability":"bash","unless":{"time":"work"}}]`), ""},
		"window unknown":        {with(`"deny":[{"capability":"bash","unless":{"time":"work"}}]`), "PATH_MISSING /deny/0/unless/time"},

		"amount":             {rule(`"amount_limit":{"of":"/amount","max":10.5,"window_seconds":60,"scope":"principal"}`), ""},
		"amount of money":    {rule(`"amount_limit":{"of":"money","max":10,"period":"daily"}`), ""},
		"amount of each":     {rule(`"amount_limit":{"of":"/items/*/price","max":10,"period":"daily"}`), ""},
		"amount empty":       {rule(`"amount_limit":{}`), "REQUIRED /allow/0/amount_limit; REQUIRED /allow/0/amount_limit/max; REQUIRED /allow/0/amount_limit/of"},
		"amount of hosts":    {rule(`"amount_limit":{"of":"host","max":10,"period":"daily"}`), "NAME /allow/0/amount_limit/of"},
		"amount 0":           {rule(`"amount_limit":{"of":"/a","max":0,"period":"daily"}`), "RANGE /allow/0/amount_limit/max"},
		"amount too fine":    {rule(`"amount_limit":{"of":"/a","max":0.0000001,"period":"daily"}`), "RANGE /allow/0/amount_limit/max"},
		"amount too large":   {rule(`"amount_limit":{"of":"/a","max":9000000001,"period":"daily"}`), "RANGE /allow/0/amount_limit/max"},
		"amount a text":      {rule(`"amount_limit":{"of":"/a","max":"1","period":"daily"}`), "TYPE /allow/0/amount_limit/max"},
		"amount in two ways": {rule(`"amount_limit":{"of":"/a","max":1,"period":"daily","window_seconds":1}`), "REQUIRED /allow/0/amount_limit"},
		"amount in deny":     {with(`"deny":[{"capability":"bash","amount_limit":{"of":"/a","max":1,"period":"daily"}}]`), "UNKNOWN_FIELD /deny/0/amount_limit"},

		"example":             {with(`"deny":[{"capability":"bash","when":{"/a":1},"examples":[{"input":{"a":1},"decision":"DENY"},{"input":{"a":2},"decision":"ALLOW"},{"input":{},"decision":"DENY"}]}]`), ""},
		"example wrong":       {with(`"deny":[{"capability":"bash","when":{"/a":1},"examples":[{"input":{"a":2},"decision":"DENY"}]}]`), "EXAMPLE /deny/0/examples/0"},
		"example of all":      {with(`"deny":[{"capability":"*","when":{"/a":1},"examples":[{"input":{"a":1},"decision":"DENY"}]}]`), "REQUIRED /deny/0/examples/0"},
		"example with a tool": {with(`"ask":[{"capability":"mcp:*","examples":[{"tool":"mcp__a__b","input":{},"decision":"ASK"}]}]`), ""},
		"example of a tool":   {with(`"ask":[{"capability":"mcp:a:b","examples":[{"input":{},"decision":"ASK"}]}]`), ""},
		"example empty":       {with(`"ask":[{"capability":"bash","examples":[{}]}]`), "REQUIRED /ask/0/examples/0/decision; REQUIRED /ask/0/examples/0/input"},
		"example unknown":     {with(`"ask":[{"capability":"bash","examples":[{"input":{},"decision":"ask"}]}]`), "ENUM /ask/0/examples/0/decision"},
		"example at a time":   {with(`"windows":{"w":{"from":"2026-12-18T00:00:00Z","until":"2027-01-04T00:00:00Z"}},"deny":[{"capability":"bash","when":{"time":"w"},"examples":[{"input":{},"at":"2026-12-19T00:00:00Z","decision":"DENY"},{"input":{},"at":"2026-12-17T23:59:59Z","decision":"ALLOW"},{"input":{},"decision":"DENY"}]}]`), ""},
		"example at no time":  {with(`"ask":[{"capability":"bash","examples":[{"input":{},"at":"noon","decision":"ASK"}]}]`), "RANGE /ask/0/examples/0/at"},
		"example over limits": {rule(`"amount_limit":{"of":"/a","max":10,"period":"daily"},"examples":[{"input":{"a":10},"decision":"ALLOW"},{"input":{"a":10.000001},"decision":"DENY"},{"input":{"a":"1"},"decision":"DENY"},{"input":{"a":-1},"decision":"DENY"}]`), ""},

		"budget":           {rule(`"budget_limit":{"max_usd":5.00,"period":"daily"}`), ""},
		"budget empty":     {rule(`"budget_limit":{}`), "REQUIRED /allow/0/budget_limit/max_usd; REQUIRED /allow/0/budget_limit/period"},
		"budget 0":         {rule(`"budget_limit":{"max_usd":0,"period":"daily"}`), "RANGE /allow/0/budget_limit/max_usd"},
		"budget negative":  {rule(`"budget_limit":{"max_usd":-0.01,"period":"daily"}`), "RANGE /allow/0/budget_limit/max_usd"},
		"budget a string":  {rule(`"budget_limit":{"max_usd":"5","period":"daily"}`), "TYPE /allow/0/budget_limit/max_usd"},
		"budget too fine":  {rule(`"budget_limit":{"max_usd":0.0000001,"period":"daily"}`), "RANGE /allow/0/budget_limit/max_usd"},
		"budget too large": {rule(`"budget_limit":{"max_usd":1e300,"period":"daily"}`), "RANGE /allow/0/budget_limit/max_usd"},
		"budget overflow":  {rule(`"budget_limit":{"max_usd":1e999,"period":"daily"}`), "NUMBER /allow/0/budget_limit/max_usd; RANGE /allow/0/budget_limit/max_usd"},
		"period unknown":   {rule(`"budget_limit":{"max_usd":1,"period":"yearly"}`), "ENUM /allow/0/budget_limit/period"},
		"period case":      {rule(`"budget_limit":{"max_usd":1,"period":"Daily"}`), "ENUM /allow/0/budget_limit/period"},
		"period null":      {rule(`"budget_limit":{"max_usd":1,"period":null}`), "TYPE /allow/0/budget_limit/period"},
		"rate scope":       {rule(`"rate_limit":{"max_calls":1,"window_seconds":1,"scope":"principal"}`), ""},
		"scope unknown":    {rule(`"rate_limit":{"max_calls":1,"window_seconds":1,"scope":"tree"}`), "ENUM /allow/0/rate_limit/scope"},
		"budget scope":     {rule(`"budget_limit":{"max_usd":1,"period":"daily","scope":"session"}`), ""},
		"scope a number":   {rule(`"budget_limit":{"max_usd":1,"period":"daily","scope":1}`), "TYPE /allow/0/budget_limit/scope"},
		"scope of a rule":  {rule(`"scope":"session"`), "UNKNOWN_FIELD /allow/0/scope"},
		"budget unknown":   {rule(`"budget_limit":{"max_usd":1,"period":"daily","max_eur":1}`), "UNKNOWN_FIELD /allow/0/budget_limit/max_eur"},
		"session 0":        {with(`"session_budget_usd":0`), "RANGE /session_budget_usd"},
		"session a string": {with(`"session_budget_usd":"1"`), "TYPE /session_budget_usd"},

		"email":              {with(`"email_config":{"max_emails_per_session":3,"allowed_from":["a@b.c"],"allowed_to":["*@example.com"]}`), ""},
		"email none":         {with(`"email_config":{"max_emails_per_session":0}`), ""},
		"email negative":     {with(`"email_config":{"max_emails_per_session":-1}`), "RANGE /email_config/max_emails_per_session"},
		"email null":         {with(`"email_config":null`), "TYPE /email_config"},
		"email unknown":      {with(`"email_config":{"allowed_cc":[]}`), "UNKNOWN_FIELD /email_config/allowed_cc"},
		"email tools":        {with(`"meta":{"tools":["mail"]},"email_config":{"tools":["mcp:postmark:send_*","tool:mail"]}`), ""},
		"email tool unknown": {with(`"email_config":{"tools":["tool:mail"]}`), "UNKNOWN_TOOL /email_config/tools/0"},
		"email tools none":   {with(`"email_config":{"tools":[]}`), "EMPTY /email_config/tools"},
		"email tool bare":    {with(`"email_config":{"tools":["resend-email"]}`), "CAPABILITY /email_config/tools/0"},
		"address a string":   {with(`"email_config":{"allowed_to":"a@b.c"}`), "TYPE /email_config/allowed_to"},
		"address without @":  {with(`"email_config":{"allowed_to":["example.com"]}`), "NAME /email_config/allowed_to/0"},
		"address empty":      {with(`"email_config":{"allowed_to":[""]}`), "EMPTY /email_config/allowed_to/0"},
		"address with two @": {with(`"email_config":{"allowed_to":["a@b@c"]}`), "NAME /email_config/allowed_to/0"},
		"address all":        {with(`"email_config":{"allowed_to":["*"]}`), "TOO_BROAD /email_config/allowed_to/0"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, problems := rules.ParsePolicy([]byte(tt.src))
			if got := codes(problems); got != tt.want {
				t.Errorf("got %q, want %q: %v", got, tt.want, problems)
			}
			if (p == nil) != problems.HasErrors() {
				t.Errorf("policy %v with %v", p, problems)
			}
		})
	}
}

// TestParsePolicyWhole reads a policy that uses every field of S7.
func TestParsePolicyWhole(t *testing.T) {
	t.Parallel()
	p, problems := rules.ParsePolicy([]byte(`{
		"role": "agent", "default": "deny", "session_budget_usd": 0.5,
		"allow": [{"capability": "bash", "rate_limit": {"max_calls": 100, "window_seconds": 3600}}],
		"ask": [{"capability": "mcp:filesystem:write_file", "budget_limit": {"max_usd": 5.00, "period": "daily", "scope": "session"}}],
		"deny": [{"capability": "mcp:filesystem:delete_file"}],
		"email_config": {"max_emails_per_session": 0, "allowed_to": [], "tools": ["tool:mail"]},
		"meta": {"tools": ["mail"]}
	}`))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	budget := rules.MicroUSD(500_000)
	want := &rules.Policy{
		Role: "agent", DefaultDeny: true, SessionBudget: &budget,
		Allow: []rules.Rule{{Capability: "bash", Rate: &rules.RateLimit{MaxCalls: 100, WindowSeconds: 3600}}},
		Ask:   []rules.Rule{{Capability: "mcp:filesystem:write_file", Budget: &rules.BudgetLimit{Max: 5_000_000, Period: rules.Daily, Scope: rules.PerSession}}},
		Deny:  []rules.Rule{{Capability: "mcp:filesystem:delete_file"}},
		Email: &rules.EmailLimits{Limited: true, AllowedTo: []string{}, Tools: []string{"tool:mail"}},
	}
	if diff := cmp.Diff(want, p); diff != "" {
		t.Errorf("differs (-want +got):\n%s", diff)
	}
	yaml, problems := rules.ParsePolicyYAML([]byte("role: agent\nallow:\n  - capability: bash\n"))
	if yaml == nil || yaml.Allow[0].Capability != "bash" {
		t.Errorf("YAML: %v", problems)
	}
}

// TestMicroUSD holds S7.5: decimal money, never rounded.
func TestMicroUSD(t *testing.T) {
	t.Parallel()
	for text, want := range map[document.Decimal]rules.MicroUSD{
		"0": 0, "1": 1_000_000, "0.02": 20_000, "0.000001": 1, "1e-6": 1, "-0.5": -500_000, "12.345678": 12_345_678,
		"9223372036854.775807": 9_223_372_036_854_775_807,
	} {
		got, ok := rules.ParseUSD(text)
		if !ok || got != want {
			t.Errorf("%s: got %d %v, want %d", text, got, ok, want)
		}
		if again, ok := rules.ParseUSD(document.Decimal(got.String())); !ok || again != got {
			t.Errorf("%s is written as %s", text, got)
		}
	}
	for _, text := range []document.Decimal{"", "x", "0.0000001", "9223372036854.775808", "1e300", "0.1.2", "$1", " 1"} {
		if got, ok := rules.ParseUSD(text); ok {
			t.Errorf("%q became %d", text, got)
		}
	}
}
