package jail

import (
	"maps"
	"path"
	"slices"
	"strings"
)

// Plan is a profile in terms of one machine: its paths are absolute and clean, and may still be patterns
// of path.Match.
type Plan struct {
	Level             Level
	Workspace, Folder string
	Home              string
	Writes            Writes
	Write             []string
	Caches            []string
	Protect           []string
	Below             []string // names
	Hide              []string
	Network           Network
	Hosts             []string
	DropEnv           []string
	SetEnv            map[string]string
	Lend              []string
	Background, Nest  bool
	Limits            Limits
	// Program stays executable, and readable where a folder around it is hidden.
	Program string
}

// The limits of files where they are 0.
const (
	DefaultScratchMB = 2048
	DefaultKeptMB    = 4096
)

// On returns the profile's plan for a machine. Interlock's own folders, and the folder of the user's
// sockets, are hidden and protected in every plan.
func (p *Profile) On(m Machine) *Plan {
	at := func(list []string, more ...string) []string {
		var paths []string
		for _, entry := range list {
			if full := p.at(entry, m); full != "" {
				paths = append(paths, full)
			}
		}
		for _, entry := range more {
			if entry != "" {
				paths = append(paths, path.Clean(entry))
			}
		}
		slices.Sort(paths)
		return slices.Compact(paths)
	}
	plan := &Plan{
		Level: p.Level, Workspace: p.at(p.Workspace, m), Folder: p.at(p.Folder, m), Home: m.Home,
		Writes: p.Writes, Write: at(p.Write), Caches: at(p.Caches),
		Protect: at(p.Protect, m.DataFolder, m.ConfigFolder), Below: p.Below,
		Hide:    at(p.Hide, m.DataFolder, m.ConfigFolder, m.RuntimeDir),
		Network: p.Network, Hosts: slices.Clone(p.Hosts),
		DropEnv: slices.Clone(p.DropEnv), SetEnv: maps.Clone(p.SetEnv), Lend: slices.Clone(p.Lend),
		Background: p.Background, Nest: p.Nest, Limits: p.Limits, Program: m.Program,
	}
	if plan.Folder == "" {
		plan.Folder = plan.Workspace
	}
	if plan.Limits.ScratchMB == 0 {
		plan.Limits.ScratchMB = DefaultScratchMB
	}
	if plan.Limits.KeptMB == 0 {
		plan.Limits.KeptMB = DefaultKeptMB
	}
	return plan
}

// at returns an entry's absolute path: "~" is the home folder, and a relative path is in the workspace.
// An entry that needs what the machine or the profile does not have has no path.
func (p *Profile) at(entry string, m Machine) string {
	entry = strings.ReplaceAll(entry, "\\", "/")
	switch {
	case entry == "":
		return ""
	case entry == "~" || strings.HasPrefix(entry, "~/"):
		if m.Home == "" {
			return ""
		}
		return path.Join(m.Home, entry[1:])
	case path.IsAbs(entry):
		return path.Clean(entry)
	case p.Workspace == "":
		return ""
	}
	return path.Join(p.at(p.Workspace, m), entry)
}

// Environment returns the variables that the plan leaves of env. Names are compared without regard to case.
// Variables of Interlock itself are removed, because some hold its secrets.
func (p *Plan) Environment(env []string) []string {
	kept := make([]string, 0, len(env)+len(p.SetEnv))
	for _, variable := range env {
		name, _, ok := strings.Cut(variable, "=")
		if _, set := p.SetEnv[name]; !ok || name == "" || set || p.drops(name) {
			continue
		}
		kept = append(kept, variable)
	}
	for _, name := range slices.Sorted(maps.Keys(p.SetEnv)) {
		kept = append(kept, name+"="+p.SetEnv[name])
	}
	return kept
}

func (p *Plan) drops(name string) bool {
	upper := strings.ToUpper(name)
	if strings.HasPrefix(upper, "INTERLOCK_") {
		return true
	}
	if slices.Contains(p.Lend, name) {
		return false
	}
	for _, pattern := range p.DropEnv {
		if ok, err := path.Match(strings.ToUpper(pattern), upper); ok || err != nil {
			return true // a pattern that cannot be read drops
		}
	}
	return false
}
