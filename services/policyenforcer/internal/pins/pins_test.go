package pins_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/enforcer"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/enforcertest"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/pins"
)

var (
	theGateway = enforcer.Caller{Namespace: enforcertest.Namespace, Principal: auth.Principal{Name: "interlock", Role: auth.Service}}
	amir       = enforcer.Caller{Namespace: enforcertest.Namespace, Principal: auth.Principal{Name: "amir", Role: auth.Agent}}
	bea        = enforcer.Caller{Namespace: enforcertest.Namespace, Principal: auth.Principal{Name: "bea", Role: auth.Agent}}
)

// report reports tools of the server fs, as NAME:DIGEST, and expects those that are hidden.
func (r *rig) report(caller enforcer.Caller, tools string, want ...string) {
	r.Helper()
	var seen []pins.Offered
	for _, word := range strings.Fields(tools) {
		name, digest, _ := strings.Cut(word, ":")
		seen = append(seen, pins.Offered{Tool: name, Digest: digest, Description: "is " + digest + " says " + caller.Principal.Name})
	}
	got, err := r.replica(r.Storage).Pin(r.Context(), caller, "fs", seen, nil)
	if err != nil || !slices.Equal(got.Changed, want) || len(got.NoRoom) > 0 {
		r.Errorf("%s: %v, %v; want %v", tools, got, err, want)
	}
}

// A tool is pinned by its first report. A change is hidden, announced once, and
// accepted by its digest.
func TestUpstreamTools(t *testing.T) {
	t.Parallel()
	everywhere(t, func(r *rig) {
		accept := func(tool, digest string) error {
			got, err := r.Accept(r.Context(), enforcertest.Operator, "fs", tool, digest)
			if err == nil && (got.Tool != tool || got.Changed != "") {
				r.Errorf("accepted %+v", got)
			}
			return err
		}
		for _, caller := range []enforcer.Caller{amir, theGateway} {
			r.report(caller, "read:1 write:1")
		}
		r.report(theGateway, "read:1 write:1")
		r.report(theGateway, "read:2 write:1", "read")
		r.report(theGateway, "read:2 write:2 new:1", "read", "write")
		r.report(theGateway, "read:2 write:2", "read", "write") // announced once
		if got := r.Events(); len(got) != 2 || got[0] != "interlock.default.upstream.fs.changed" {
			r.Errorf("told %v", got)
		}
		all, err := r.List(r.Context(), enforcertest.Namespace)
		if err != nil || len(all) != 3 || all[1].Tool != "read" || all[1].Changed != "2" || all[1].Description != "is 2 says interlock" {
			r.Errorf("%+v, %v", all, err)
		}
		if err := accept("read", "2"); err != nil {
			r.Error(err)
		}
		r.report(theGateway, "read:2 write:2", "write")
		r.report(theGateway, "read:1 write:1") // earlier digests stay accepted while servers are updated
		// It changes once more after the operator has looked.
		r.report(theGateway, "write:3", "write")
		r.Refused(accept("write", "2"), fault.VersionConflict)
		r.report(theGateway, "write:2", "write")
		if err := accept("write", "2"); err != nil {
			r.Error(err)
		}
		r.report(theGateway, "read:2 write:2")
		if got := r.Events(); len(got) != 4 || got[3] != "interlock.default.upstream.fs.accepted" {
			r.Errorf("told %v", got)
		}
		r.Refused(accept("read", "2"), fault.NotFound)
		r.Refused(accept("nothing", "2"), fault.NotFound)
	})
}

// Reports of agents never hide tools of a gateway, and change no tool that an
// operator reads about it, and leaves room for others.
func TestUpstreamToolsOfAgents(t *testing.T) {
	t.Parallel()
	everywhere(t, func(r *rig) {
		changed := func(want string) {
			r.Helper()
			all, err := r.List(r.Context(), enforcertest.Namespace)
			if err != nil || len(all) == 0 {
				r.Fatal(all, err)
			}
			if got := all[0].Changed + " " + all[0].Description + " by " + all[0].ReportedBy(); got != want {
				r.Errorf("%s; want %s", got, want)
			}
		}
		// Reported before the gateway has seen it.
		r.report(amir, "read:evil")
		r.report(bea, "read:1", "read")
		changed("1 is 1 says bea by bea")
		r.report(theGateway, "read:1")
		r.report(bea, "read:1")
		r.report(amir, "read:evil", "read")
		r.report(theGateway, "read:1") // still the same
		changed("evil is evil says amir by amir")
		// The gateway reports a change: the operator reads its report.
		r.report(amir, "read:2", "read")
		r.report(theGateway, "read:2", "read")
		changed("2 is 2 says interlock by ")
		r.report(amir, "read:benign", "read")
		changed("2 is 2 says interlock by ")
		if _, err := r.Accept(r.Context(), enforcertest.Operator, "fs", "read", "benign"); fault.ReasonOf(err) != fault.VersionConflict {
			r.Error(err)
		}
	})
}

// Tools take room of their server, of the agent that reported them, and of all agents. Only tools without
// room are hidden. An operator makes room.
func TestRoomForUpstreamTools(t *testing.T) {
	t.Parallel()
	everywhere(t, func(r *rig) {
		many := func(caller enforcer.Caller, server string, n, without int) {
			r.Helper()
			seen := make([]pins.Offered, n)
			for i := range seen {
				seen[i] = pins.Offered{Tool: fmt.Sprint(i), Digest: "1"}
			}
			got, err := r.Pin(r.Context(), caller, server, seen, nil)
			if err != nil || len(got.Changed) > 0 || len(got.NoRoom) != without {
				r.Errorf("%d of %s by %s: %d without room, %v; want %d", n, server, caller.Principal.Name, len(got.NoRoom), err, without)
			}
		}
		agent := func(i int) enforcer.Caller {
			return enforcer.Caller{Namespace: enforcertest.Namespace, Principal: auth.Principal{Name: fmt.Sprint("agent", i), Role: auth.Agent}}
		}
		many(amir, "one", 130, 2) // of a server
		for i := range 3 {
			many(amir, fmt.Sprint("next", i), 128, 0)
		}
		many(amir, "last", 1, 1) // of the agent
		many(bea, "last", 1, 0)
		many(amir, "last", 1, 0) // it is known now
		for i := range 16 {      // each agent reports four servers
			without := 0
			switch { // 512 and 1 are taken
			case i == 11:
				without = 1
			case i > 11:
				without = 128
			}
			many(agent(i/4), fmt.Sprint("of", i), 128, without)
		}
		many(agent(9), "late", 1, 1) // of all agents
		many(theGateway, "big", 2049, 1)
		many(theGateway, "one", 2048, 0) // agents take no places from it, and lose theirs
		many(theGateway, "more", 1, 1)

		if _, err := r.Forget(r.Context(), enforcertest.Operator, "big", "2048"); fault.ReasonOf(err) != fault.NotFound {
			r.Error(err)
		}
		if gone, err := r.Forget(r.Context(), enforcertest.Operator, "big", "7"); err != nil || len(gone) != 1 || gone[0].Tool != "7" {
			r.Error(gone, err)
		}
		many(theGateway, "more", 1, 0)
		if gone, err := r.Forget(r.Context(), enforcertest.Operator, "next0", ""); err != nil || len(gone) != 128 {
			r.Error(len(gone), err)
		}
		many(amir, "next9", 128, 0)
		if _, err := r.Forget(r.Context(), enforcertest.Operator, "next0", ""); fault.ReasonOf(err) != fault.NotFound {
			r.Error(err)
		}
		if got := r.Events(); len(got) != 2 || got[0] != "interlock.default.upstream.big.forgotten" {
			r.Errorf("announced %v", got)
		}
	})
}

// A tool that was forgotten is pinned anew.
func TestForgottenToolIsPinnedAnew(t *testing.T) {
	t.Parallel()
	everywhere(t, func(r *rig) {
		r.report(theGateway, "read:1 write:1")
		r.report(theGateway, "read:2", "read")
		if _, err := r.Forget(r.Context(), enforcertest.Operator, "fs", "read"); err != nil {
			r.Fatal(err)
		}
		r.report(theGateway, "read:2 write:1")
		r.report(theGateway, "read:1 write:2", "read", "write")
	})
}

// A tool that cannot be relayed is listed with why, until its server offers it as one that can. An agent's word changes
// no tool of a gateway.
func TestLeftOutTools(t *testing.T) {
	t.Parallel()
	everywhere(t, func(r *rig) {
		leave := func(caller enforcer.Caller, left map[string]string) {
			if _, err := r.Pin(r.Context(), caller, "fs", nil, left); err != nil {
				r.Errorf("%v: %v", left, err)
			}
		}
		want := func(words ...string) {
			r.Helper()
			all, err := r.List(r.Context(), enforcertest.Namespace)
			var got []string
			for _, one := range all {
				got = append(got, one.Tool+":"+strings.Join(one.Accepted, "+")+":"+one.LeftOut+":"+one.By)
			}
			if err != nil || !slices.Equal(got, words) {
				r.Errorf("%q, %v; want %q", got, err, words)
			}
		}
		r.report(theGateway, "read:1")
		leave(theGateway, map[string]string{"odd": "no schema"})
		leave(amir, map[string]string{"odd": "a lie", "read": "a lie", "hers": "no name"})
		want("hers::no name:amir", "odd::no schema:", "read:1::")
		leave(theGateway, map[string]string{"hers": "bad", "read": "bad"})
		want("hers::bad:amir", "odd::no schema:", "read:1:bad:")
		r.report(amir, "read:1")
		want("hers::bad:amir", "odd::no schema:", "read:1:bad:")
		r.report(theGateway, "hers:1 odd:1 read:2", "read") // it has changed, too
		want("hers:1::", "odd:1::", "read:1::")
	})
}
