package jail

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// Words returns what the profile holds, for people: one line a rule.
func (p *Profile) Words() []string {
	lines := []string{fmt.Sprintf("level: %d (%s)", p.Level, levelWords[min(max(p.Level, None), Full)])}
	add := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	if p.Workspace != "" {
		writes := p.Writes
		if writes == WritesDiscard && p.Level < Full {
			writes = WritesDeny
		}
		add("workspace: %s, %s", p.Workspace, writesWords[writes])
	}
	list := func(what string, items []string) {
		if len(items) > 0 {
			add("%s: %s", what, strings.Join(items, " "))
		}
	}
	list("writable", p.Write)
	list("caches, changed in a copy", p.Caches)
	list("protected", p.Protect)
	list("put back in folders below", p.Below)
	list("hidden", p.Hide)
	switch p.Network {
	case NetworkNone:
		add("network: none")
	case NetworkHosts:
		add("network: %s", strings.Join(p.Hosts, " "))
	case NetworkOpen:
		add("network: every host")
	}
	list("variables removed", p.DropEnv)
	list("variables lent", p.Lend)
	names := make([]string, 0, len(p.SetEnv))
	for name := range p.SetEnv {
		names = append(names, name)
	}
	slices.Sort(names)
	list("variables set", names)
	if p.Background {
		add("programs may outlive the command")
	} else {
		add("programs end with the command")
	}
	if p.Fresh {
		add("starts from the machine's own caches and an empty /tmp, and keeps no files there: its outcome is evidence")
	}
	list("limits", p.Limits.words())
	return lines
}

// Brief returns one sentence on what a program notices of the jail.
func (p *Profile) Brief() string {
	var parts []string
	switch {
	case p.Workspace == "" || p.Writes == WritesAllow:
	case p.Writes == WritesDiscard && p.Level >= Full:
		parts = append(parts, "changes of files are discarded when the line ends")
	default:
		parts = append(parts, "changes of files fail")
	}
	switch {
	case p.Network == NetworkNone, p.Network == NetworkHosts && p.Level < Full:
		parts = append(parts, "there is no network")
	case p.Network == NetworkHosts:
		parts = append(parts, "the network reaches only "+strings.Join(p.Hosts[:min(len(p.Hosts), mostBrief)], ", "))
		if more := len(p.Hosts) - mostBrief; more > 0 {
			parts[len(parts)-1] += fmt.Sprintf(" and %d more hosts", more)
		}
	}
	if !p.Background {
		parts = append(parts, "programs end with their line")
	}
	if last := len(parts) - 1; last > 0 {
		parts[last] = "and " + parts[last]
	}
	separator := ", "
	if len(parts) == 2 {
		separator = " "
	}
	if parts == nil {
		return "Command lines run in a jail."
	}
	return "Command lines run in a jail: " + strings.Join(parts, separator) + "."
}

// mostBrief bounds the hosts that Brief names.
const mostBrief = 5

var (
	levelWords  = []string{"no jail", "files", "files, signals and ports", "files, signals, processes and network"}
	writesWords = map[Writes]string{
		WritesAllow: "writable", WritesDeny: "read-only", WritesDiscard: "writes are discarded when the command ends",
	}
)

func (l Limits) words() (words []string) {
	for _, limit := range []struct {
		name string
		n    int64
	}{
		{"processes", int64(l.Processes)},
		{"memory_mb", l.MemoryMB},
		{"cpu_seconds", l.CPUSeconds},
		{"wall_seconds", l.WallSeconds},
		{"output_bytes", l.OutputBytes},
		{"scratch_mb", l.ScratchMB},
		{"kept_mb", l.KeptMB},
	} {
		if limit.n > 0 {
			words = append(words, fmt.Sprintf("%s %d", limit.name, limit.n))
		}
	}
	return words
}

// Why explains one entry: whether a command reads and writes a path, reaches a host, or sees a variable,
// by which rule, and the line of a workflow that would change it. A path begins with "/", "~" or ".", or
// has a slash; a variable is in capitals; any other text is a host.
func (p *Profile) Why(entry string) string {
	switch {
	case entry == "":
		return "name a path, a host or a variable"
	case isVariable(entry):
		return p.whyVariable(entry)
	case strings.HasPrefix(entry, "/"), strings.HasPrefix(entry, "~"), strings.HasPrefix(entry, "."),
		strings.Contains(entry, "/") && !strings.Contains(entry, "://"):
		return p.whyPath(entry)
	default:
		return p.whyHost(entry)
	}
}

func isVariable(text string) bool {
	return strings.Trim(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == ""
}

// of returns the entry of a list that a path is in; empty for none.
func (p *Profile) of(list []string, name string) string {
	for _, entry := range list {
		if within(name, entry) || p.Workspace != "" && !absolute(entry) && within(name, path.Join(p.Workspace, entry)) {
			return entry
		}
	}
	return ""
}

func absolute(name string) bool { return path.IsAbs(name) || strings.HasPrefix(name, "~/") }

func (p *Profile) whyPath(name string) string {
	name = Clean(name)
	if !absolute(name) && p.Workspace != "" {
		name = path.Join(p.Workspace, name)
	}
	if entry := p.of(p.Hide, name); entry != "" {
		return fmt.Sprintf(`%s is hidden, because %s holds credentials or leads to a service that acts for the user. To show it: "jail": {"read": [%q]}`, name, entry, entry)
	}
	entry := p.of(p.Protect, name)
	hook := slices.ContainsFunc(hookFiles(), func(file string) bool { return file == entry })
	switch inside := p.Workspace != "" && within(name, p.Workspace); {
	case entry != "" && hook:
		return fmt.Sprintf("%s is readable and protected: %s hooks Interlock into clients, and no rule lets a command change it", name, entry)
	case entry != "":
		return fmt.Sprintf(`%s is readable and protected, because programs outside of the jail run or obey %s later. To let commands change it: "jail": {"write": [%q]}`, name, entry, entry)
	case p.belowOf(name) != "" && p.Writes == WritesAllow:
		return p.whyBelow(name)
	case p.of(p.Write, name) != "":
		return fmt.Sprintf(`%s is readable and writable, by %q in "write"`, name, p.of(p.Write, name))
	case p.of(p.Caches, name) != "":
		return fmt.Sprintf("%s is readable, and is changed in a copy of the run, because %s is a cache. To let commands change it for good, name it in \"write\"", name, p.of(p.Caches, name))
	case inside && p.Writes == WritesAllow:
		return fmt.Sprintf("%s is readable and writable: it is in the workspace, and commands may change files here", name)
	case inside && p.Writes == WritesDiscard:
		return fmt.Sprintf(`%s is readable; a write succeeds in a copy, and is discarded when the command ends, because the state has no tool that edits. To keep it: "jail": {"write": [%q]}`, name, relative(p.Workspace, name))
	case inside:
		return fmt.Sprintf(`%s is readable, and a write fails, by "writes": "deny". To let commands change it: "jail": {"write": [%q]}`, name, relative(p.Workspace, name))
	default:
		return fmt.Sprintf(`%s is readable and not writable: it is outside of the workspace. To let commands change it: "jail": {"write": [%q]}`, name, name)
	}
}

// whyBelow explains a protected name in a folder of the workspace.
func (p *Profile) whyBelow(name string) string {
	entry, inside := p.belowOf(name), relative(p.Workspace, name)
	switch {
	case hooksBelow(inside) != "":
		return fmt.Sprintf("%s is readable, and is put back as it was when the command ends: %s hooks Interlock into clients, in each folder, and no rule lets a command change it", name, entry)
	case entry == Repositories:
		repository := inside[:strings.LastIndex("/"+inside+"/", "/"+Repositories+"/")+len(Repositories)]
		return fmt.Sprintf(`%s is readable, and is put back when the command ends, because git obeys it outside of the jail; settings of a new repository that run no program, such as remotes, stay. To let commands change it: "jail": {"write": [%q]}`, name, repository)
	}
	setting := inside[:strings.LastIndex("/"+inside+"/", "/"+entry+"/")+len(entry)]
	return fmt.Sprintf(`%s is readable, and is put back as it was when the command ends, because programs outside of the jail run or obey %s in each folder. To let commands change it: "jail": {"write": [%q]}`, name, entry, setting)
}

// relative is a path of a workspace as rules have it.
func relative(workspace, name string) string {
	if rest := strings.TrimPrefix(name, workspace+"/"); rest != name {
		return rest
	}
	return name
}

func (p *Profile) whyVariable(name string) string {
	if value, set := p.SetEnv[name]; set {
		return fmt.Sprintf("%s is %q, by \"env_overrides\"", name, value)
	}
	if slices.Contains(p.Lend, name) {
		return fmt.Sprintf(`%s is lent, by "lend" or because "allowed_commands" names a program that needs it`, name)
	}
	if pattern := meeting(p.DropEnv, name); pattern != "" {
		return fmt.Sprintf(`%s is removed, by the pattern %s. To lend it: "jail": {"lend": [%q]}; a variable of "blocked_env" is never lent`, name, pattern, name)
	}
	return name + ` reaches commands: no pattern removes it. To remove it: "blocked_env": ["` + name + `"]`
}

func (p *Profile) whyHost(name string) string {
	switch p.Network {
	case NetworkOpen:
		return fmt.Sprintf(`%s is reachable: the network is open. To name the hosts: "jail": {"hosts": [...]}`, name)
	case NetworkHosts:
		rules, err := ParseHosts(p.Hosts)
		if err != nil {
			return fmt.Sprintf("%s is not reachable: %v", name, err)
		}
		host, port := name, 443
		if n, text, found := cutPort(name); found {
			if number, ok := parsePort(text); ok {
				host, port = n, int(number)
			}
		}
		if why := rules.Refusal(host, port); why != "" {
			return fmt.Sprintf("%s is not reachable: %s", name, why)
		}
		return fmt.Sprintf("%s is reachable, by \"hosts\"", name)
	default:
		return fmt.Sprintf(`%s is not reachable: the state has no tool that edits, or "hosts" is empty, so commands have no network. To let them reach it: "jail": {"hosts": [%q]}`, name, name)
	}
}
