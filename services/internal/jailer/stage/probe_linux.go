package stage

import (
	"errors"
	"syscall"
)

// probe tries the parts of a jail, and returns those that do not work, each with its reason, in the order
// in which they need each other.
func probe(o *Order) []string {
	var lacks []string
	note := func(part string, err error) {
		if err != nil {
			lacks = append(lacks, part+": "+err.Error())
		}
	}
	if o.Namespaces {
		o.Discard, o.Workspace = true, "/usr"
		v, err := build(o)
		if err == nil && len(v.notes) > 0 {
			err = errors.New(v.notes[0])
		}
		note("mounts", err)
		note("network namespaces", loopback())
		note("capabilities", dropCapabilities(o.Root))
	}
	note("no_new_privs", noNewPrivileges())
	if abi := ABI(); abi == 0 {
		note("Landlock", syscall.ENOSYS)
	} else if w, err := buildWall(abi, true); err != nil {
		note("Landlock", err)
	} else {
		w.allow("/", readRights)
		note("Landlock", w.enforce())
	}
	note("seccomp", install(filter(o)))
	return lacks
}
