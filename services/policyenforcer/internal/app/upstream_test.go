package app_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/app"
)

// A tool is pinned at first sight; what has changed is hidden, announced once, and
// accepted by name or all at once.
func TestUpstreamTools(t *testing.T) {
	t.Parallel()
	everywhere(t, func(r *rig) {
		agent := app.Caller{Namespace: ns, Principal: auth.Principal{Name: "amir", Role: auth.Agent}}
		observe := func(tools string, want ...string) {
			r.Helper()
			var seen []app.ObservedTool
			for _, word := range strings.Fields(tools) {
				name, digest, _ := strings.Cut(word, ":")
				seen = append(seen, app.ObservedTool{Tool: name, Digest: digest, Description: "is " + digest})
			}
			got, err := r.replica(r.store).ObserveTools(r.Context(), agent, "fs", seen)
			if err != nil || !slices.Equal(got, want) {
				r.Errorf("%s: %v, %v; want %v", tools, got, err, want)
			}
		}
		observe("read:1 write:1")
		observe("read:1 write:1")
		observe("read:2 write:1", "read")
		observe("read:2 write:2 new:1", "read", "write")
		observe("read:2 write:2", "read", "write") // told once
		if got := r.events(); len(got) != 2 || got[0] != "interlock.default.upstream.fs.changed" {
			r.Errorf("told %v", got)
		}
		all, err := r.UpstreamTools(r.Context(), ns)
		if err != nil || len(all) != 3 || all[1].Tool != "read" || all[1].Changed != "2" || all[1].Description != "is 2" {
			r.Errorf("%+v, %v", all, err)
		}
		if got, err := r.AcceptTools(r.Context(), operator, "fs", "read"); err != nil || len(got) != 1 || got[0].Changed != "" {
			r.Errorf("%+v, %v", got, err)
		}
		observe("read:2 write:2", "write")
		observe("read:1 write:1") // what was accepted before holds while servers are updated
		if got, err := r.AcceptTools(r.Context(), operator, "fs", ""); err != nil || len(got) != 1 || got[0].Tool != "write" {
			r.Errorf("%+v, %v", got, err)
		}
		observe("read:2 write:2")
		if got := r.events(); len(got) != 2 || got[1] != "interlock.default.upstream.fs.accepted" {
			r.Errorf("told %v", got)
		}
		_, err = r.AcceptTools(r.Context(), operator, "fs", "read")
		r.refused(err, fault.NotFound)
		var many []app.ObservedTool
		for i := range 4096 {
			many = append(many, app.ObservedTool{Tool: fmt.Sprint(i), Digest: "1"})
		}
		_, err = r.ObserveTools(r.Context(), agent, "many", many)
		r.refused(err, fault.LimitReached)
	})
}
