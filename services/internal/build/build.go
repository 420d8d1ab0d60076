// Package build describes the sources of this program.
package build

import (
	"cmp"
	"runtime/debug"
	"strings"
	_ "time/tzdata" // for windows of policies, on machines and in images that have no time zones
)

// The linker sets these in builds of the Makefile, of releases and of images:
// -X github.com/interlock-run/interlock/services/internal/build.version=v1.2.3
var version, commit, date string

// Info describes the sources of a program.
type Info struct {
	// Version is that of the release, such as v1.2.3; "dev" for builds of a working copy.
	Version string
	// Commit is the full hash of the commit, with "-dirty" for changes that are not
	// committed; empty when it is not known, as for `go install` of a release.
	Commit string
	// Date is when the commit was made, in RFC 3339; empty when it is not known.
	// It is not when the program was built, so that equal sources give equal programs.
	Date string
}

// Get returns those of this program.
func Get() Info {
	info, _ := debug.ReadBuildInfo()
	return merge(Info{Version: version, Commit: commit, Date: date}, info)
}

// Version returns that of Get.
func Version() string { return Get().Version }

// merge completes the values of the linker by those of the go command.
func merge(set Info, recorded *debug.BuildInfo) Info {
	if recorded != nil {
		// `go install MODULE@VERSION` records the version. For a working copy the go command
		// makes one up, which sorts between releases: it says less than "dev" and the commit.
		if v := recorded.Main.Version; recorded.Main.Sum != "" && v != "(devel)" {
			set.Version = cmp.Or(set.Version, v)
		}
		vcs := map[string]string{}
		for _, s := range recorded.Settings {
			if name, ok := strings.CutPrefix(s.Key, "vcs."); ok {
				vcs[name] = s.Value
			}
		}
		if set.Commit == "" && vcs["revision"] != "" {
			set.Commit = vcs["revision"]
			if vcs["modified"] == "true" {
				set.Commit += "-dirty"
			}
			set.Date = cmp.Or(set.Date, vcs["time"])
		}
	}
	set.Version = cmp.Or(set.Version, "dev")
	return set
}
