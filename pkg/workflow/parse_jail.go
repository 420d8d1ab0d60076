package workflow

import (
	"slices"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/jail"
)

var (
	jailFields  = []string{"level", "writes", "read", "write", "caches", "hosts", "lend", "background", "limits"}
	limitsOfRun = []string{"processes", "memory_mb", "cpu_seconds", "wall_seconds", "output_bytes", "scratch_mb", "kept_mb"}
)

// stateJail reads jail of a state: the least level alone, or an object (S20).
func (r stateSection) stateJail(f document.Fields, s *State) {
	if v, _ := f.Value.Get("jail"); v.Kind() == document.Number {
		s.Jail.Level = jailLevel(f, "jail")
		return
	}
	if f.Has("jail") {
		s.Jail = r.jail(f, "give the least level as a number from 0 to 3, or an object")
	}
	if table := newToolTable(s); s.Jail.Writes != "" && (!s.ToolsRestricted || table.editable) {
		r.report.Warnf(f.At.Key("jail").Key("writes"), document.CodeNoEffect,
			"the state allows a tool that edits, so commands change the workspace as well; restrict \"allowed_tools\" or remove it")
	}
	for i, name := range s.Jail.Lend {
		if slices.Contains(s.BlockedEnv, name) {
			r.report.Warnf(f.At.Key("jail").Key("lend").At(i), document.CodeNoEffect, "%s is also in \"blocked_env\", which takes precedence; remove one", document.Quote(name))
		}
	}
}

// jailLevel reads a level, as a field of that name.
func jailLevel(f document.Fields, name string) jail.Level {
	n, ok := f.Integer(name, 0)
	if ok && n > int64(jail.Full) {
		f.Report.Errorf(f.At.Key(name), document.CodeRange, "%q is %d; the levels are 0 (none), 1 (files), 2 (also signals and ports) and 3 (all)", name, n)
		return jail.Full
	}
	return jail.Level(n)
}

// jail reads the object of the field jail.
func (r stateSection) jail(f document.Fields, fix string) (rules jail.Rules) {
	v, _ := f.Value.Get("jail")
	if v.Kind() != document.Object {
		r.report.Errorf(f.At.Key("jail"), document.CodeType, "\"jail\" must be an object, not %s; %s", v.Kind(), fix)
		return rules
	}
	j := document.Fields{Report: f.Report, Value: v, At: f.At.Key("jail")}
	j.Known("a jail", jailFields...)
	rules.Level = jailLevel(j, "level")
	if writes, ok := j.Enum("writes", string(jail.WritesDeny), string(jail.WritesDiscard)); ok {
		rules.Writes = jail.Writes(writes)
	}
	rules.Read = r.jailPaths(j, "read", jail.CheckRead)
	rules.Write = r.jailPaths(j, "write", func(name string) error {
		if slices.Contains(rules.Read, jail.Clean(name)) {
			return nil
		}
		return jail.CheckWrite(name)
	})
	rules.Caches = r.jailPaths(j, "caches", jail.CheckWrite)
	rules.Hosts = r.jailHosts(j)
	if lend, ok := j.Strings("lend", maxItems); ok {
		for _, item := range lend {
			r.variable(item.Text, item.At)
		}
		r.report.Duplicates(lend)
		rules.Lend = document.Texts(lend)
	}
	rules.Background = j.Bool("background")
	if limits, ok := j.Object("limits"); ok {
		rules.Limits = jailLimits(limits)
	}
	return rules
}

func (r stateSection) jailPaths(j document.Fields, name string, check func(name string) error) []string {
	items, ok := j.Strings(name, maxItems)
	if !ok {
		return nil
	}
	for _, item := range items {
		if err := jail.CheckPath(item.Text); err != nil {
			r.report.Errorf(item.At, document.CodeName, "%s: %v", document.Quote(item.Text), err)
		} else if err := check(item.Text); err != nil {
			r.report.Warnf(item.At, document.CodeNoEffect, "%s: %v", document.Quote(item.Text), err)
		}
	}
	r.report.Duplicates(items)
	return document.Texts(items)
}

func (r stateSection) jailHosts(j document.Fields) []string {
	items, ok := j.Strings("hosts", maxItems)
	if !ok {
		return nil
	}
	for _, item := range items {
		if _, err := jail.ParseHost(item.Text); err != nil {
			r.report.Errorf(item.At, document.CodeName, "%v", err)
		}
	}
	r.report.Duplicates(items)
	if hosts := document.Texts(items); len(hosts) > 1 && slices.Contains(hosts, "*") {
		i := slices.Index(hosts, "*")
		r.report.Warnf(items[i].At, CodeTooBroad, "\"*\" is every host, so %d others have no effect; name the hosts, or remove the others", len(hosts)-1)
	}
	return document.Texts(items)
}

func jailLimits(f document.Fields) (l jail.Limits) {
	f.Known("\"limits\"", limitsOfRun...)
	processes, _ := f.Integer("processes", 1)
	l.Processes = int(min(processes, 1<<22))
	l.MemoryMB, _ = f.Integer("memory_mb", 1)
	l.CPUSeconds, _ = f.Integer("cpu_seconds", 1)
	l.WallSeconds, _ = f.Integer("wall_seconds", 1)
	l.OutputBytes, _ = f.Integer("output_bytes", 1)
	l.ScratchMB, _ = f.Integer("scratch_mb", 1)
	l.KeptMB, _ = f.Integer("kept_mb", 1)
	return l
}

// metaJail reads meta.jail, the settings of every state.
func (r stateSection) metaJail(m document.Fields) {
	if m.Has("jail") {
		r.def.Meta.Jail = r.jail(m, "give its settings, such as {\"level\": 2}")
	}
}
