package jail

import (
	"fmt"
	"slices"
)

// Gained returns what a profile lets a command do that another one does not, in words.
func (p *Profile) Gained(before *Profile) (all []string) {
	add := func(format string, args ...any) { all = append(all, fmt.Sprintf(format, args...)) }
	beyond := func(format string, is, was []string) {
		for _, item := range is {
			if !slices.Contains(was, item) {
				add(format, item)
			}
		}
	}
	if p.Level < before.Level {
		add("a jail of level %d, and it was %d", p.Level, before.Level)
	}
	if p.Writes != before.Writes && before.Writes != WritesAllow {
		switch p.Writes {
		case WritesAllow:
			add("commands change the workspace")
		case WritesDiscard:
			add("writes into the workspace succeed and are discarded, and they failed")
		case WritesDeny:
		}
	}
	beyond("commands write %s", p.Write, before.Write)
	beyond("commands write a copy of %s", p.Caches, before.Caches)
	beyond("commands read %s", before.Hide, p.Hide)
	beyond("%s is no longer protected", before.Protect, p.Protect)
	beyond("%s is no longer protected in folders below", before.Below, p.Below)
	switch {
	case p.Network == NetworkOpen && before.Network != NetworkOpen:
		add("commands reach every host")
	case p.Network == NetworkHosts && before.Network != NetworkOpen:
		beyond("commands reach %s", p.Hosts, before.Hosts)
	}
	beyond("variables %s reach commands", before.DropEnv, p.DropEnv)
	beyond("the variable %s is lent", p.Lend, before.Lend)
	if p.Background && !before.Background {
		add("programs outlive the command that has started them")
	}
	return append(all, p.Limits.gained(before.Limits)...)
}

func (l Limits) gained(before Limits) (all []string) {
	for _, limit := range []struct {
		name    string
		was, is int64
	}{
		{"processes", int64(before.Processes), int64(l.Processes)},
		{"memory_mb", before.MemoryMB, l.MemoryMB},
		{"cpu_seconds", before.CPUSeconds, l.CPUSeconds},
		{"wall_seconds", before.WallSeconds, l.WallSeconds},
		{"output_bytes", before.OutputBytes, l.OutputBytes},
		{"scratch_mb", before.ScratchMB, l.ScratchMB},
		{"kept_mb", before.KeptMB, l.KeptMB},
	} {
		switch {
		case limit.was == 0:
		case limit.is == 0:
			all = append(all, fmt.Sprintf("no limit %s, and it was %d", limit.name, limit.was))
		case limit.is > limit.was:
			all = append(all, fmt.Sprintf("limit %s %d, and it was %d", limit.name, limit.is, limit.was))
		}
	}
	return all
}
