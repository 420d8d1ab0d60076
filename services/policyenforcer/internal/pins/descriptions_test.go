package pins_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/enforcer"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/enforcertest"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/pins"
)

// see reports one tool of a server, with its draft.
func (r *rig) see(caller enforcer.Caller, server, tool, digest, draft string) {
	r.Helper()
	seen := []pins.Offered{{Tool: tool, Digest: digest, Draft: draft, Others: "/x of " + caller.Principal.Name}}
	if _, err := r.replica(r.Storage).Pin(r.Context(), caller, server, seen, nil); err != nil {
		r.Error(err)
	}
}

// proposed returns the proposal for a text and checks it.
func (r *rig) proposed(server, text, want string) *pins.Proposal {
	r.Helper()
	p, err := r.replica(r.Storage).Propose(r.Context(), enforcertest.Namespace, server, text)
	if err != nil {
		r.Fatal(err)
	}
	if p.JSON() != want {
		r.Errorf("proposed %s, want %s", p.JSON(), want)
	}
	return p
}

// knows expects that the tools with an accepted description are these.
func (r *rig) knows(want ...string) {
	r.Helper()
	for _, tool := range []string{"mcp__web__get", "mcp__web__put", "mcp__db__get"} {
		d, err := r.replica(r.Storage).Described(r.Context(), enforcertest.Namespace, tool)
		if _, ok := d[tool]; err != nil || ok != slices.Contains(want, tool) || len(d) > 1 {
			r.Errorf("%s: %+v, %v", tool, d, err)
		}
	}
}

func (r *rig) acceptAll(server, text, digest string) error {
	_, err := r.replica(r.Storage).AcceptDescriptions(r.Context(), enforcertest.Operator, server, text, digest)
	return err
}

// A draft is accepted by the digest that a person has seen, and counts until its tool changes (S21.14).
func TestDescriptionsAreAccepted(t *testing.T) {
	t.Parallel()
	everywhere(t, func(r *rig) {
		const urls = `{"urls":["/url"]}`
		r.see(theGateway, "web", "get", "1", urls)
		r.see(theGateway, "web", "put", "1", "")
		r.knows()
		p := r.proposed("web", "", `{"mcp__web__get":`+urls+`}`)
		if !slices.Equal(p.Undescribed, []string{"mcp__web__put"}) || p.Others["mcp__web__get"] != "/x of interlock" || len(p.ByAgents)+len(p.Accepted) > 0 {
			r.Errorf("%+v", p)
		}
		r.Refused(r.acceptAll("web", "", strings.Repeat("0", 64)), fault.VersionConflict)
		r.Refused(r.acceptAll("web", `{"mcp__web__get": {"urls": []}}`, p.Digest), fault.VersionConflict) // other words
		r.knows()
		if err := r.acceptAll("web", "", p.Digest); err != nil {
			r.Fatal(err)
		}
		r.knows("mcp__web__get")
		if got := r.Events(); len(got) != 1 || got[0] != "interlock.default.upstream.web.described" {
			r.Errorf("told %v", got)
		}

		// An operator's own words, for a tool without a draft too.
		const edited = `{"mcp__web__put":{"urls":["/to"],"reads":[],"writes":[]},"mcp__web__get":{"urls":["/url"],"closed":true}}`
		const sorted = `{"mcp__web__get":{"urls":["/url"],"closed":true},"mcp__web__put":{"urls":["/to"],"reads":[],"writes":[]}}`
		if err := r.acceptAll("web", edited, r.proposed("web", edited, sorted).Digest); err != nil {
			r.Fatal(err)
		}
		r.knows("mcp__web__get", "mcp__web__put")
		if p := r.proposed("web", "", sorted); len(p.Accepted) != 2 || len(p.Undescribed) > 0 { // and no draft
			r.Errorf("%+v", p)
		}

		// A tool that is left out is not described any more.
		const less = `{"mcp__web__get":{}}`
		if err := r.acceptAll("web", less, r.proposed("web", less, less).Digest); err != nil {
			r.Fatal(err)
		}
		r.knows("mcp__web__get")

		// A tool that has changed is not described, nor when the change is accepted, until it is described anew.
		before := r.proposed("web", "", less)
		r.see(theGateway, "web", "get", "2", `{"urls":["/link"]}`)
		r.knows()
		r.Refused(r.acceptAll("web", "", before.Digest), fault.VersionConflict)
		r.proposed("web", "", `{}`)
		if _, err := r.Accept(r.Context(), enforcertest.Operator, "web", "get", "2"); err != nil {
			r.Fatal(err)
		}
		r.knows()
		p = r.proposed("web", "", `{"mcp__web__get":{"urls":["/link"]}}`)
		if err := r.acceptAll("web", "", p.Digest); err != nil {
			r.Fatal(err)
		}
		r.see(theGateway, "web", "get", "1", urls) // a replica of the server that is not updated yet
		r.knows("mcp__web__get")
		if _, err := r.Forget(r.Context(), enforcertest.Operator, "web", "get"); err != nil {
			r.Fatal(err)
		}
		r.knows()
		r.see(theGateway, "web", "get", "2", urls)
		r.knows()
	})
}

// An agent's report takes no description of a tool of a gateway away and drafts none; one of its own tools is marked,
// and a gateway's first report ends the descriptions that were accepted on an agent's word (S21.14).
func TestDescriptionsAndAgents(t *testing.T) {
	t.Parallel()
	everywhere(t, func(r *rig) {
		const honest, lie = `{"urls":["/url"]}`, `{"urls":[]}`
		r.see(theGateway, "web", "get", "1", "")
		r.see(amir, "web", "get", "1", lie)
		p := r.proposed("web", "", `{}`)
		if p.Others["mcp__web__get"] != "/x of interlock" {
			r.Errorf("%+v", p)
		}
		if err := r.acceptAll("web", `{"mcp__web__get":`+honest+`}`, r.proposed("web", `{"mcp__web__get":`+honest+`}`, `{"mcp__web__get":`+honest+`}`).Digest); err != nil {
			r.Fatal(err)
		}
		r.see(amir, "web", "get", "9", lie)
		r.knows("mcp__web__get")

		r.see(amir, "db", "get", "1", lie)
		p = r.proposed("db", "", `{"mcp__db__get":`+lie+`}`)
		if !slices.Equal(p.ByAgents, []string{"mcp__db__get"}) {
			r.Errorf("%+v", p)
		}
		if err := r.acceptAll("db", "", p.Digest); err != nil {
			r.Fatal(err)
		}
		r.knows("mcp__web__get", "mcp__db__get")
		r.see(bea, "db", "get", "2", lie) // its word is as good as the first
		r.knows("mcp__web__get")
		r.see(theGateway, "db", "get", "3", honest)
		if p = r.proposed("db", "", `{"mcp__db__get":`+honest+`}`); len(p.ByAgents) > 0 {
			r.Errorf("%+v", p)
		}
		r.knows("mcp__web__get")
	})
}

// A draft that is no description, a name that two tools could have, and descriptions with faults are not accepted
// (S21.14).
func TestBadDescriptions(t *testing.T) {
	t.Parallel()
	everywhere(t, func(r *rig) {
		for i, draft := range []string{`{"urls":"/url"}`, `{"nothing":1}`, `{`, `[]`, `null`} {
			r.see(amir, "bad", string(rune('a'+i)), "1", draft)
		}
		r.proposed("bad", "", `{}`)
		for _, server := range []string{"a__b", "a_"} {
			r.see(theGateway, server, "get", "1", `{"urls":["/url"]}`)
			if p := r.proposed(server, "", `{}`); len(p.Undescribed) != 1 {
				r.Errorf("%+v", p)
			}
		}
		r.see(theGateway, "web", "get", "1", "")
		for text, want := range map[string]string{
			`{`:                                 "cannot be read",
			`[]`:                                "must be an object by the names of tools",
			`{"mcp__web__put":{}}`:              "is no tool of the server",
			`{"get":{}}`:                        "is no tool of the server",
			`{"mcp__bad__a":{}}`:                "is no tool of the server",
			`{"mcp__web__get":{"urls":"/url"}}`: "has a fault",
			`{"mcp__web__get":{"url":["/u"]}}`:  "has a fault",
			`{"mcp__web__get":null}`:            "has a fault",
			`{"mcp__web__get":{"urls":["` + strings.Repeat(`/u","`, 40) + `"]}}`: "has a fault",
		} {
			_, err := r.Propose(r.Context(), enforcertest.Namespace, "web", text)
			if fault.ReasonOf(err) != fault.InvalidRequest || !strings.Contains(err.Error(), want) {
				r.Errorf("%s: %v", text, err)
			}
			if err := r.acceptAll("web", text, strings.Repeat("0", 64)); fault.ReasonOf(err) != fault.InvalidRequest {
				r.Errorf("%s: %v", text, err)
			}
		}
		_, err := r.Propose(r.Context(), enforcertest.Namespace, "none", "")
		r.Refused(err, fault.NotFound)
		r.Refused(r.acceptAll("none", "", ""), fault.NotFound)

		long := `{"mcp__web__get":{"urls":["/` + strings.Repeat("x", 270_000) + `"]}}`
		if p, err := r.Propose(r.Context(), enforcertest.Namespace, "web", long); err == nil {
			r.Refused(r.acceptAll("web", long, p.Digest), fault.TooLarge)
		} else {
			r.Refused(err, fault.InvalidRequest)
		}
		r.knows()
	})
}

// Warnings know the arguments of tools as they were accepted (S21.21).
func TestArguments(t *testing.T) {
	t.Parallel()
	everywhere(t, func(r *rig) {
		expect := func(want string) {
			r.Helper()
			all, err := r.replica(r.Storage).Arguments(r.Context(), enforcertest.Namespace)
			if got := fmt.Sprint(all); err != nil || got != want {
				r.Errorf("%s, %v, want %s", got, err, want)
			}
		}
		expect("map[]")
		seen := []pins.Offered{
			{Tool: "get", Digest: "1", Draft: `{"urls":["/url"]}`, Others: "/depth"},
			{Tool: "put", Digest: "1", Others: "60 arguments"},
			{Tool: "a__b", Digest: "1", Others: "/x"},
			{Tool: "bare", Digest: "1"},
		}
		if _, err := r.Pin(r.Context(), theGateway, "web", seen, nil); err != nil {
			r.Fatal(err)
		}
		if _, err := r.Pin(r.Context(), theGateway, "odd__web", seen, nil); err != nil { // its tools could be those of "odd"
			r.Fatal(err)
		}
		expect("map[mcp__web__a__b:[/x] mcp__web__get:[/depth /url]]")
		r.see(theGateway, "web", "get", "2", `{"urls":["/link"]}`)
		expect("map[mcp__web__a__b:[/x]]")
	})
}
