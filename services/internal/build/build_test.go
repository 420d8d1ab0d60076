package build

import (
	"os/exec"
	"runtime/debug"
	"strings"
	"testing"
)

// TestZones: every program knows the zones of windows by itself, on machines that have none (S21.5).
func TestZones(t *testing.T) {
	t.Parallel()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-f", `{{if eq .Name "main"}}{{.ImportPath}}: {{join .Deps " "}} {{end}}`, "../../cmd/...").Output()
	if err != nil {
		t.Fatal(err)
	}
	programs := strings.Split(strings.TrimSpace(string(out)), "\n")
	if len(programs) < 6 {
		t.Errorf("%d programs", len(programs))
	}
	for _, program := range programs {
		if name, imports, _ := strings.Cut(program, ":"); !strings.Contains(imports, " time/tzdata ") {
			t.Errorf("%s has no zones; import time/tzdata, as this package does", name)
		}
	}
}

func TestMerge(t *testing.T) {
	t.Parallel()
	settings := func(pairs ...string) (s []debug.BuildSetting) {
		for i := 0; i < len(pairs); i += 2 {
			s = append(s, debug.BuildSetting{Key: pairs[i], Value: pairs[i+1]})
		}
		return s
	}
	copied := settings("vcs.revision", "abc", "vcs.time", "2026-01-02T03:04:05Z", "vcs.modified", "false")
	for name, c := range map[string]struct {
		set      Info
		recorded *debug.BuildInfo
		want     Info
	}{
		"nothing is known":       {Info{}, nil, Info{Version: "dev"}},
		"the linker's":           {Info{"v1.2.3", "abc", "2026"}, nil, Info{"v1.2.3", "abc", "2026"}},
		"an installed release":   {Info{}, &debug.BuildInfo{Main: debug.Module{Version: "v1.2.3", Sum: "h1:x"}}, Info{Version: "v1.2.3"}},
		"a working copy":         {Info{}, &debug.BuildInfo{Main: debug.Module{Version: "v0.0.0-2026-abc"}, Settings: copied}, Info{"dev", "abc", "2026-01-02T03:04:05Z"}},
		"no module":              {Info{}, &debug.BuildInfo{Main: debug.Module{Version: "(devel)"}}, Info{Version: "dev"}},
		"a changed working copy": {Info{}, &debug.BuildInfo{Settings: settings("vcs.revision", "abc", "vcs.modified", "true")}, Info{Version: "dev", Commit: "abc-dirty"}},
		"the linker knows best":  {Info{"v2", "def", "2027"}, &debug.BuildInfo{Main: debug.Module{Version: "v1", Sum: "h1:x"}, Settings: copied}, Info{"v2", "def", "2027"}},
	} {
		if got := merge(c.set, c.recorded); got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}
