package importer_test

import (
	"strings"
	"testing"

	"github.com/interlock-run/interlock/pkg/importer"
)

// TestHostileSources translates texts that are written to get more than their source allows, or to
// break the reader.
func TestHostileSources(t *testing.T) {
	t.Parallel()
	settings := func(list, rule string) string { return `{"permissions": {"` + list + `": ["` + rule + `"]}}` }
	cedar := func(condition string) string {
		return `permit(principal, action == Action::"s___t", resource) when {` + condition + `};`
	}
	for name, test := range map[string]struct {
		from, src, never string
	}{
		"a * in a tool of Cedar":         {importer.Cedar, `permit(principal, action == Action::"s___*", resource);`, `"allow"`},
		"no action at all":               {importer.Cedar, `permit(principal, action in [], resource);`, `"allow"`},
		"a resource without an entity":   {importer.Cedar, `permit(principal, action == Action::"s___t", resource == []);`, `"allow"`},
		"a resource of a folder":         {importer.Cedar, `permit(principal, action == Action::"s___t", resource in Folder::"x");`, `"allow"`},
		"a type and an entity":           {importer.Cedar, `permit(principal is User in Group::"g", action == Action::"s___t", resource);`, `"allow"`},
		"a slot of a template":           {importer.Cedar, `permit(principal == ?principal, action == Action::"s___t", resource);`, `"allow"`},
		"a condition in a comment":       {importer.Cedar, "permit(principal, action == Action::\"s___t\", resource) when { //\n context.other };", `"allow"`},
		"a brace in a text":              {importer.Cedar, cedar(`context.input.a == "}" && context.other`), `"allow"`},
		"arithmetic":                     {importer.Cedar, cedar(`context.input.a + 1 < 5`), `"allow"`},
		"if, which is not read":          {importer.Cedar, cedar(`if context.input.a then true else false`), `"allow"`},
		"a literal * in like":            {importer.Cedar, cedar(`context.input.a like "\*"`), `"allow"`},
		"a ? in like":                    {importer.Cedar, cedar(`context.input.a like "a?"`), `"allow"`},
		"in, which fails for texts":      {importer.Cedar, cedar(`context.input.a in ["x"]`), `"allow"`},
		"the context itself":             {importer.Cedar, cedar(`context.input == "x"`), `"allow"`},
		"an attribute of *":              {importer.Cedar, cedar(`context.input["*"] == "x"`), `"allow"`},
		"a method of decimals":           {importer.Cedar, cedar(`context.input.a.lessThan(decimal("1.0"))`), `"allow"`},
		"many parts":                     {importer.Cedar, cedar(strings.Repeat(`context.input.a > 1 || `, 100) + `context.input.b > 1`), `"allow"`},
		"a command behind an operator":   {importer.ClaudeCode, settings("allow", "Bash(git status && rm:*)"), `rm`},
		"a command with a variable":      {importer.ClaudeCode, settings("allow", "Bash($X:*)"), `"command"`},
		"a group of commands":            {importer.ClaudeCode, settings("allow", "Bash(@inert:*)"), `inert`},
		"a pattern as first word":        {importer.ClaudeCode, settings("allow", "Bash(*)x)"), `"command"`},
		"a class of characters":          {importer.ClaudeCode, settings("allow", "Bash(git [a-z]*)"), `a-z`},
		"a folder above":                 {importer.ClaudeCode, settings("allow", "Edit(../x/**)"), `"writes"`},
		"a folder above, in the middle":  {importer.ClaudeCode, settings("allow", "Edit(/src/../../x)"), `"writes"`},
		"a path of Write, never asked":   {importer.ClaudeCode, settings("allow", "Write(/src/**)"), `"writes"`},
		"all hosts":                      {importer.ClaudeCode, settings("allow", "WebFetch(domain:*)"), `"host"`},
		"all servers":                    {importer.ClaudeCode, settings("allow", "mcp__*"), `mcp`},
		"all tools":                      {importer.ClaudeCode, settings("allow", "*"), `"*"`},
		"arguments of an MCP tool":       {importer.ClaudeCode, settings("allow", "mcp__db__query(select *)"), `mcp`},
		"a * in a tool of Intercept":     {importer.Intercept, "version: \"1\"\ndefault: deny\ntools:\n  \"get_*\":\n    rules: []\n", `"allow"`},
		"a limit on all, for few tools":  {importer.Intercept, "version: \"1\"\ndefault: deny\ntools:\n  \"*\":\n    rules:\n    - {name: n, rate_limit: 5/hour}\n", `"allow"`},
		"a requirement with a wildcard":  {importer.Intercept, "version: \"1\"\ntools:\n  t:\n    rules:\n    - {name: n, conditions: [{path: args.a, op: contains, value: \"*\"}]}\n", `unless`},
		"a path with a wildcard":         {importer.Intercept, "version: \"1\"\ntools:\n  t:\n    rules:\n    - {name: n, conditions: [{path: \"args.*\", op: eq, value: x}]}\n", `unless`},
		"an operator that is not known":  {importer.Intercept, "version: \"1\"\ntools:\n  t:\n    rules:\n    - {name: n, conditions: [{path: args.a, op: matches, value: x}]}\n", `unless`},
		"a list as the value of a field": {importer.Intercept, "version: \"1\"\ntools:\n  t:\n    rules:\n    - {name: n, conditions: [{path: args.a, op: eq, value: [x]}]}\n", `unless`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			result, err := importer.Translate(test.from, []byte(test.src), importer.Options{Server: "s"})
			if err != nil {
				t.Fatal(err)
			}
			if policy := result.Policy.String(); strings.Contains(policy, test.never) {
				t.Errorf("the policy has %s: %s", test.never, policy)
			}
			if len(result.Left) == 0 {
				t.Error("nothing is listed as not translated")
			}
		})
	}
}

// TestNoPolicy refuses texts that are not policies of the product.
func TestNoPolicy(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		from, src, server string
	}{
		"another product":             {"opa", "{}", ""},
		"settings that are a list":    {importer.ClaudeCode, "[]", ""},
		"settings with a name twice":  {importer.ClaudeCode, `{"permissions": {}, "permissions": {}}`, ""},
		"a server with a wildcard":    {importer.ClaudeCode, "{}", "*"},
		"a server of two parts":       {importer.ClaudeCode, "{}", "a:b"},
		"Intercept without a server":  {importer.Intercept, "version: \"1\"\n", ""},
		"another version":             {importer.Intercept, "version: \"2\"\n", "s"},
		"a default that is not known": {importer.Intercept, "version: \"1\"\ndefault: ask\n", "s"},
		"Cedar without a policy":      {importer.Cedar, "// none\n", ""},
		"Cedar with an open text":     {importer.Cedar, `permit(principal, action == A::"x`, ""},
		"Cedar with an open bracket":  {importer.Cedar, `permit(principal, action, resource) when { (a ;`, ""},
		"Cedar with another letter":   {importer.Cedar, "permit(principal, аction, resource);", ""},
		"Cedar with a word":           {importer.Cedar, "allow(principal, action, resource);", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if result, err := importer.Translate(test.from, []byte(test.src), importer.Options{Server: test.server}); err == nil {
				t.Errorf("it is translated: %s", result.Policy)
			}
		})
	}
}

// FuzzTranslate feeds texts that are no policies: none may break a reader, and none may give a
// policy without its effect on other calls.
func FuzzTranslate(f *testing.F) {
	for _, src := range []string{"", `{"permissions": {"allow": ["Bash(a:*)"]}}`, "version: \"1\"\ntools: {t: {rules: [{name: n, rate_limit: 1/day}]}}", `permit(principal, action, resource) when { context.input.a == "\u{41}" };`, "@a(\"b\")forbid(principal,action in[A::\"x\"],resource)unless{!(context.arg_x has y)};"} {
		f.Add(src)
	}
	f.Fuzz(func(t *testing.T, src string) {
		for _, from := range []string{importer.ClaudeCode, importer.Intercept, importer.Cedar} {
			result, err := importer.Translate(from, []byte(src), importer.Options{Server: "s", Workspace: "/w", Home: "/h"})
			if err != nil {
				continue
			}
			if fallback, _ := result.Policy.Get("default"); from != importer.Intercept && fallback.Str() != "deny" {
				t.Errorf("a policy of %s allows what no rule matches", from)
			}
		}
	})
}
