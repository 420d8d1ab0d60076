package jail

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
)

// With returns the rules of a state under those of its workflow: lists are joined, the higher level
// counts, and other settings of the state replace those of the workflow. An empty list of hosts in
// the state allows none.
func (r Rules) With(state Rules) Rules {
	r.Level = max(r.Level, state.Level)
	r.Writes = cmp.Or(state.Writes, r.Writes)
	r.Read = slices.Concat(r.Read, state.Read)
	r.Write = slices.Concat(r.Write, state.Write)
	r.Caches = slices.Concat(r.Caches, state.Caches)
	r.Lend = slices.Concat(r.Lend, state.Lend)
	switch {
	case state.Hosts == nil:
	case len(state.Hosts) == 0:
		r.Hosts = []string{}
	default:
		r.Hosts = slices.Concat(r.Hosts, state.Hosts)
	}
	r.Background = r.Background || state.Background
	r.Limits = r.Limits.with(state.Limits)
	return r
}

func (l Limits) with(state Limits) Limits {
	return Limits{
		Processes:   cmp.Or(state.Processes, l.Processes),
		MemoryMB:    cmp.Or(state.MemoryMB, l.MemoryMB),
		CPUSeconds:  cmp.Or(state.CPUSeconds, l.CPUSeconds),
		WallSeconds: cmp.Or(state.WallSeconds, l.WallSeconds),
		OutputBytes: cmp.Or(state.OutputBytes, l.OutputBytes),
		ScratchMB:   cmp.Or(state.ScratchMB, l.ScratchMB),
		KeptMB:      cmp.Or(state.KeptMB, l.KeptMB),
	}
}

// Compile returns what the kernel enforces on one command (S20). The same rules and call give the
// same profile; lists are sorted, with each entry once.
func Compile(rules Rules, call Command) Profile {
	p := Profile{
		Version: 1, Level: max(rules.Level, call.Level), Workspace: call.Workspace, Folder: call.Folder,
		Writes: WritesAllow, Write: cleaned(rules.Write), Network: NetworkOpen,
		SetEnv: maps.Clone(call.SetEnv), Background: rules.Background, Fresh: call.Check, Reread: call.Reread, Limits: rules.Limits,
	}
	if call.ReadOnly && !call.Writes {
		p.Writes = cmp.Or(rules.Writes, WritesDiscard)
		if call.Repository {
			p.Write = sorted(append(p.Write, ".git"))
		}
	}
	if slices.Contains(call.Programs, "git") {
		p.SetEnv = ofLentGit(p.SetEnv)
	}
	if len(p.SetEnv) == 0 {
		p.SetEnv = nil
	}
	p.Limits.Processes = cmp.Or(p.Limits.Processes, mostProcesses)
	p.Caches = sorted(slices.Concat(caches(), cleaned(rules.Caches)))
	files, variables := lentTo(call.Programs)
	p.Protect = sorted(slices.Concat(hookFiles(), without(runLater(), slices.Concat(p.Write, lifted(call.Remotes)))))
	if p.Workspace != "" {
		p.Below = below()
	}
	p.Hide = sorted(without(hidden(), slices.Concat(cleaned(rules.Read), files)))
	p.network(rules.Hosts, call)
	p.DropEnv = sorted(slices.Concat(secretVariables(), call.DropEnv))
	p.Lend = sorted(slices.DeleteFunc(slices.Concat(rules.Lend, variables), func(name string) bool { return meets(call.DropEnv, name) }))
	return p
}

// network decides which hosts the command reaches.
func (p *Profile) network(hosts []string, call Command) {
	switch {
	case slices.Contains(hosts, "*"):
	case len(hosts) > 0:
		p.Network, p.Hosts = NetworkHosts, sorted(lowered(hosts))
	case hosts != nil, call.ReadOnly && !call.Reaches:
		p.Network = NetworkNone
	}
}

// Keeps reports that a variable of the caller's environment is left to the command.
func (p *Profile) Keeps(name string) bool {
	return slices.Contains(p.Lend, name) || !meets(p.DropEnv, name)
}

// meets reports that a pattern is of a variable's name, in any letter case.
func meets(patterns []string, name string) bool { return meeting(patterns, name) != "" }

// meeting returns the first pattern that is of a variable's name; one that cannot be read is.
func meeting(patterns []string, name string) string {
	name = strings.ToUpper(name)
	for _, pattern := range patterns {
		if is, err := path.Match(strings.ToUpper(pattern), name); is || err != nil {
			return pattern
		}
	}
	return ""
}

// lentTo returns the credentials of programs.
func lentTo(programs []string) (files, variables []string) {
	for _, c := range lent() {
		if slices.ContainsFunc(programs, func(name string) bool { return slices.Contains(c.programs, name) }) {
			files, variables = append(files, c.files...), append(variables, c.variables...)
		}
	}
	return files, variables
}

// ofLentGit adds variables for a git that has credentials: a repository on this disk runs programs that it names itself, and
// so does one in a folder of the workspace.
func ofLentGit(env map[string]string) map[string]string {
	set := map[string]string{"GIT_ALLOW_PROTOCOL": "git:http:https:ssh", "GIT_CONFIG_COUNT": "3"}
	for i, setting := range []string{"fetch.recurseSubmodules", "submodule.recurse", "push.recurseSubmodules"} {
		set[fmt.Sprintf("GIT_CONFIG_KEY_%d", i)], set[fmt.Sprintf("GIT_CONFIG_VALUE_%d", i)] = setting, "false"
	}
	maps.Copy(set, env)
	return set
}

// lifted returns the protected files that git changes in its work, where the author names it: it keeps the
// remotes and the upstreams of branches in its configuration.
func lifted(remotes bool) []string {
	if remotes {
		return []string{".git/config", ".git/config.worktree", ".git/modules", ".git/worktrees", ".gitmodules"}
	}
	return nil
}

// Clean returns a path of a rule in its one spelling: "~/x", "/x", or "x" of the workspace.
func Clean(name string) string {
	home, rest := strings.CutPrefix(name, "~/")
	if rest {
		return path.Join("~", path.Clean("/"+home))
	}
	return path.Clean(name)
}

func cleaned(names []string) []string {
	clean := make([]string, len(names))
	for i, name := range names {
		clean[i] = Clean(name)
	}
	return sorted(clean)
}

// without returns the names that are not among others.
func without(names, others []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return slices.Contains(others, name) })
}

// sorted returns the distinct texts in order; nil for none.
func sorted(texts []string) []string {
	if len(texts) == 0 {
		return nil
	}
	texts = slices.Clone(texts)
	slices.Sort(texts)
	return slices.Compact(texts)
}

func lowered(texts []string) []string {
	lower := make([]string, len(texts))
	for i, text := range texts {
		lower[i] = strings.ToLower(text)
	}
	return lower
}
