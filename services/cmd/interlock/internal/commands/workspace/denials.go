package workspace

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/interlock-run/interlock/services/cmd/interlock/internal/hookclient"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/jsonfile"
	"github.com/interlock-run/interlock/services/internal/hookevent"
)

// portable are the rules that keep the agent's file tools (Edit stands for all that write) out of the default data folders, which
// hold the tokens of every role, and from the pointer. They are the same on every machine, since settings may be shared.
var portable = []string{
	"Read(./.interlock)", "Edit(./.interlock)", "Read(~/.local/state/interlock)", "Edit(~/.local/state/interlock)",
}

// denialsOf returns the rules for the data folders that the hooks of settings name, beyond the portable ones.
func denialsOf(doc []jsonfile.Member) (rules []string) {
	at := jsonfile.Find(doc, "hooks")
	var hooks any
	if at < 0 || json.Unmarshal(doc[at].Value, &hooks) != nil {
		return nil
	}
	var folders []string
	for _, words := range hooksIn(hooks) {
		client := hookclient.Client{Agent: hookevent.ClaudeCode}
		if client.Parse(words[2:]) && filepath.IsAbs(client.Data) {
			folders = append(folders, denied(client.Data))
		}
	}
	slices.Sort(folders)
	for _, folder := range slices.Compact(folders) {
		if home, err := os.UserHomeDir(); err == nil && folder == filepath.Join(home, ".local", "state", "interlock") {
			continue
		}
		pattern := "//" + strings.TrimPrefix(special.Replace(filepath.ToSlash(folder)), "/")
		rules = append(rules, "Read("+pattern+")", "Edit("+pattern+")")
	}
	return rules
}

// byDefault is the name of a default data folder, in a folder called interlock.
var byDefault = regexp.MustCompile(`-[0-9a-f]{12}$`)

// denied returns the folder that agents are kept out of: that of all workspaces' data folders, for one of
// them.
func denied(data string) string {
	data = filepath.Clean(data)
	if above := filepath.Dir(data); filepath.Base(above) == "interlock" && byDefault.MatchString(data) {
		return above
	}
	return data
}

// special are the characters that mean something in patterns of permission rules.
var special = strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`)

// addDenials adds our permission rules to those that are there, and takes out those for data folders that the hooks named before.
func addDenials(doc []jsonfile.Member, was []string, indent string) ([]jsonfile.Member, error) {
	return addRules(doc, "deny", was, slices.Concat(portable, denialsOf(doc)), indent)
}

// allowancesOf returns the rules that let lines run which the hooks of settings wrap for their jails. The line that runs stands
// in them once more, and needs rules of the user's own, as ever. Hooks that call interlock by its name have none: its path
// is another one on each machine.
func allowancesOf(doc []jsonfile.Member) (rules []string) {
	at := jsonfile.Find(doc, "hooks")
	var hooks any
	if at < 0 || json.Unmarshal(doc[at].Value, &hooks) != nil {
		return nil
	}
	for _, words := range hooksIn(hooks) {
		client := hookclient.Client{Agent: hookevent.ClaudeCode}
		if client.Parse(words[2:]) && filepath.IsAbs(words[0]) && filepath.IsAbs(client.Data) {
			rules = append(rules, "Bash("+client.JailCommand(words[0])+" --run *)")
		}
	}
	slices.Sort(rules)
	if rules = slices.Compact(rules); len(rules) > 0 {
		rules = append(rules, `Bash(\builtin exit)`, `Bash(\exit)`)
	}
	return rules
}

// addAllowances adds those rules, and takes out those that the hooks needed before.
func addAllowances(doc []jsonfile.Member, was []string, indent string) ([]jsonfile.Member, error) {
	return addRules(doc, "allow", was, allowancesOf(doc), indent)
}

// addRules adds the wanted rules of one kind, and takes out those of before that are not wanted any more.
func addRules(doc []jsonfile.Member, kind string, was, wanted []string, indent string) ([]jsonfile.Member, error) {
	doc, err := withoutRules(doc, kind, slices.DeleteFunc(was, func(rule string) bool { return slices.Contains(wanted, rule) }), indent)
	if err != nil || len(wanted) == 0 {
		return doc, err
	}
	permissions, rules, err := rulesOf(doc, kind)
	if err != nil {
		return nil, err
	}
	for _, denial := range wanted {
		rule := jsonfile.Render(denial, indent, 3)
		if !slices.ContainsFunc(rules, func(r jsonfile.Member) bool { return jsonfile.Same(r.Value, rule) }) {
			rules = append(rules, jsonfile.Member{Value: rule})
		}
	}
	permissions = jsonfile.Set(permissions, kind, jsonfile.Write(rules, jsontext.KindBeginArray, indent, 2))
	return jsonfile.Set(doc, "permissions", jsonfile.Write(permissions, jsontext.KindBeginObject, indent, 1)), nil
}

// withoutRules takes permission rules out, and the lists that this leaves empty.
func withoutRules(doc []jsonfile.Member, kind string, ours []string, indent string) ([]jsonfile.Member, error) {
	permissions, rules, err := rulesOf(doc, kind)
	if err != nil {
		return nil, err
	}
	kept := slices.DeleteFunc(slices.Clone(rules), func(r jsonfile.Member) bool {
		return slices.ContainsFunc(ours, func(d string) bool { return jsonfile.Same(r.Value, jsonfile.Render(d, indent, 3)) })
	})
	if len(kept) == len(rules) {
		return doc, nil
	}
	permissions = emptied(permissions, kind, kept, jsontext.KindBeginArray, indent, 2)
	return emptied(doc, "permissions", permissions, jsontext.KindBeginObject, indent, 1), nil
}

// rulesOf returns the permissions of settings, and the rules of one kind in them.
func rulesOf(doc []jsonfile.Member, kind string) (permissions, rules []jsonfile.Member, err error) {
	if permissions, err = inside(doc, "permissions", jsontext.KindBeginObject); err != nil {
		return nil, nil, err
	}
	if rules, err = inside(permissions, kind, jsontext.KindBeginArray); err != nil {
		return nil, nil, fmt.Errorf("permissions: %w", err)
	}
	return permissions, rules, nil
}
