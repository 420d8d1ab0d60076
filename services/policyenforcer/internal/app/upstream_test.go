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

var (
	theGateway = app.Caller{Namespace: ns, Principal: auth.Principal{Name: "interlock", Role: auth.Service}}
	amir       = app.Caller{Namespace: ns, Principal: auth.Principal{Name: "amir", Role: auth.Agent}}
	bea        = app.Caller{Namespace: ns, Principal: auth.Principal{Name: "bea", Role: auth.Agent}}
)

// observe reports tools of the server fs, as NAME:DIGEST, and expects those that are hidden.
func (r *rig) observe(caller app.Caller, tools string, want ...string) {
	r.Helper()
	var seen []app.ObservedTool
	for _, word := range strings.Fields(tools) {
		name, digest, _ := strings.Cut(word, ":")
		seen = append(seen, app.ObservedTool{Tool: name, Digest: digest, Description: "is " + digest + " says " + caller.Principal.Name})
	}
	got, err := r.replica(r.store).ObserveTools(r.Context(), caller, "fs", seen)
	if err != nil || !slices.Equal(got, want) {
		r.Errorf("%s: %v, %v; want %v", tools, got, err, want)
	}
}

// A tool is pinned at first sight; what has changed is hidden, announced once, and
// accepted by its digest.
func TestUpstreamTools(t *testing.T) {
	t.Parallel()
	everywhere(t, func(r *rig) {
		accept := func(tool, digest string) error {
			got, err := r.AcceptTool(r.Context(), operator, "fs", tool, digest)
			if err == nil && (got.Tool != tool || got.Changed != "") {
				r.Errorf("accepted %+v", got)
			}
			return err
		}
		for _, caller := range []app.Caller{amir, theGateway} {
			r.observe(caller, "read:1 write:1")
		}
		r.observe(theGateway, "read:1 write:1")
		r.observe(theGateway, "read:2 write:1", "read")
		r.observe(theGateway, "read:2 write:2 new:1", "read", "write")
		r.observe(theGateway, "read:2 write:2", "read", "write") // told once
		if got := r.events(); len(got) != 2 || got[0] != "interlock.default.upstream.fs.changed" {
			r.Errorf("told %v", got)
		}
		all, err := r.UpstreamTools(r.Context(), ns)
		if err != nil || len(all) != 3 || all[1].Tool != "read" || all[1].Changed != "2" || all[1].Description != "is 2 says interlock" {
			r.Errorf("%+v, %v", all, err)
		}
		if err := accept("read", "2"); err != nil {
			r.Error(err)
		}
		r.observe(theGateway, "read:2 write:2", "write")
		r.observe(theGateway, "read:1 write:1") // what was accepted before holds while servers are updated
		// It changes once more after the operator has looked.
		r.observe(theGateway, "write:3", "write")
		r.refused(accept("write", "2"), fault.VersionConflict)
		r.observe(theGateway, "write:2", "write")
		if err := accept("write", "2"); err != nil {
			r.Error(err)
		}
		r.observe(theGateway, "read:2 write:2")
		if got := r.events(); len(got) != 4 || got[3] != "interlock.default.upstream.fs.accepted" {
			r.Errorf("told %v", got)
		}
		r.refused(accept("read", "2"), fault.NotFound)
		r.refused(accept("nothing", "2"), fault.NotFound)
	})
}

// What an agent reports about a server hides nothing of a gateway's, changes nothing that an
// operator reads about it, and leaves room for others.
func TestUpstreamToolsOfAgents(t *testing.T) {
	t.Parallel()
	everywhere(t, func(r *rig) {
		changed := func(want string) {
			r.Helper()
			all, err := r.UpstreamTools(r.Context(), ns)
			if err != nil || len(all) == 0 {
				r.Fatal(all, err)
			}
			if got := all[0].Changed + " " + all[0].Description + " by " + all[0].ReportedBy(); got != want {
				r.Errorf("%s; want %s", got, want)
			}
		}
		// Reported before the gateway has seen it.
		r.observe(amir, "read:evil")
		r.observe(bea, "read:1", "read")
		changed("1 is 1 says bea by bea")
		r.observe(theGateway, "read:1")
		r.observe(bea, "read:1")
		r.observe(amir, "read:evil", "read")
		r.observe(theGateway, "read:1") // still the same
		changed("evil is evil says amir by amir")
		// The gateway sees a change: its word is what the operator reads.
		r.observe(amir, "read:2", "read")
		r.observe(theGateway, "read:2", "read")
		changed("2 is 2 says interlock by ")
		r.observe(amir, "read:benign", "read")
		changed("2 is 2 says interlock by ")
		if _, err := r.AcceptTool(r.Context(), operator, "fs", "read", "benign"); fault.ReasonOf(err) != fault.VersionConflict {
			r.Error(err)
		}

		many := func(caller app.Caller, server string, n int) error {
			seen := make([]app.ObservedTool, n)
			for i := range seen {
				seen[i] = app.ObservedTool{Tool: fmt.Sprint(i), Digest: "1"}
			}
			_, err := r.ObserveTools(r.Context(), caller, server, seen)
			return err
		}
		r.refused(many(amir, "many", 513), fault.QuotaExceeded)
		for i := range 4 {
			one := app.Caller{Namespace: ns, Principal: auth.Principal{Name: fmt.Sprint("agent", i), Role: auth.Agent}}
			if err := many(one, fmt.Sprint("many", i), 512); err != nil {
				r.Error(err)
			}
		}
		r.refused(many(amir, "more", 1), fault.LimitReached)
		if err := many(theGateway, "many", 4095); err != nil { // with fs's
			r.Error(err)
		}
		r.refused(many(theGateway, "more", 1), fault.LimitReached)
	})
}
