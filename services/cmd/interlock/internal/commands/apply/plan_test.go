package apply

import (
	"strings"
	"testing"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/services/internal/jsonview"
)

// The action for an object follows from the file, the server, and the record of the set (S26.6, S26.7).
func TestDecide(t *testing.T) {
	t.Parallel()
	file := &local{object: object{kindPolicy, "p"}, digests: []string{"file", "file with enforcement"}}
	owns := &local{object: object{kindPolicy, "p"}, digests: []string{"file"}, attach: []jsonview.Attachment{{Kind: "role", ID: "agent"}}}
	for name, tt := range map[string]struct {
		local  *local
		remote remote
		prune  bool
		terms  terms
		want   action
		why    string
	}{
		"new":                          {file, remote{noContent: true}, false, terms{}, add, ""},
		"equal":                        {file, remote{live: 1, digest: "file", owner: "gov", recorded: "file"}, false, terms{}, keep, ""},
		"equal, and of no set":         {file, remote{live: 1, digest: "file"}, false, terms{}, keep, ""},
		"equal, with enforcement":      {file, remote{live: 1, digest: "file with enforcement", owner: "gov"}, false, terms{}, keep, ""},
		"equal, and a hotfix before":   {file, remote{live: 2, digest: "file", owner: "gov", recorded: "old"}, false, terms{}, keep, ""},
		"changed":                      {file, remote{live: 1, digest: "old", owner: "gov", recorded: "old"}, false, terms{}, change, ""},
		"retired":                      {file, remote{live: 1, digest: "file", owner: "gov", recorded: "file", retired: true}, false, terms{}, change, ""},
		"retired, and of no set":       {file, remote{live: 1, digest: "old", retired: true}, false, terms{}, change, ""},
		"attached elsewhere":           {owns, remote{live: 1, digest: "file", owner: "gov", recorded: "file"}, false, terms{}, change, ""},
		"a hotfix":                     {file, remote{live: 2, digest: "hot", owner: "gov", recorded: "old", by: "eve"}, false, terms{}, conflict, "was changed by eve"},
		"a hotfix that is taken":       {file, remote{live: 2, digest: "hot", owner: "gov", recorded: "old"}, false, terms{take: []string{"policy/p"}}, change, ""},
		"a hotfix that is adopted":     {file, remote{live: 2, digest: "hot", owner: "gov", recorded: "old"}, false, terms{adopted: map[object]int64{{kindPolicy, "p"}: 2}}, change, ""},
		"a hotfix after an adoption":   {file, remote{live: 3, digest: "hot", owner: "gov", recorded: "old"}, false, terms{adopted: map[object]int64{{kindPolicy, "p"}: 2}}, conflict, "was changed by"},
		"of no set":                    {file, remote{live: 1, digest: "other", by: "eve"}, false, terms{}, conflict, "no set owns it"},
		"of no set, and taken":         {file, remote{live: 1, digest: "other"}, false, terms{take: []string{"p"}}, change, ""},
		"another set's":                {file, remote{live: 1, digest: "file", owner: "team"}, false, terms{}, conflict, `belongs to set "team"`},
		"another set's, and taken":     {file, remote{live: 1, digest: "old", owner: "team"}, false, terms{take: []string{"p"}}, change, ""},
		"taken as another kind":        {file, remote{live: 1, digest: "old", owner: "team"}, false, terms{take: []string{"workflow/p"}}, conflict, "belongs"},
		"gone, without prune":          {nil, remote{live: 1, digest: "old", owner: "gov", recorded: "old"}, false, terms{}, left, "prune: true"},
		"gone":                         {nil, remote{live: 1, digest: "old", owner: "gov", recorded: "old"}, true, terms{}, remove, ""},
		"gone, with runs":              {nil, remote{live: 1, digest: "old", owner: "gov", recorded: "old", running: 2}, true, terms{}, conflict, "2 of its runs"},
		"gone, with runs, and taken":   {nil, remote{live: 1, digest: "old", owner: "gov", recorded: "old", running: 2}, true, terms{take: []string{"p"}}, conflict, "2 of its runs"},
		"gone, and a hotfix":           {nil, remote{live: 2, digest: "hot", owner: "gov", recorded: "old"}, true, terms{}, conflict, "was changed by"},
		"gone, and a hotfix, taken":    {nil, remote{live: 2, digest: "hot", owner: "gov", recorded: "old"}, true, terms{take: []string{"p"}}, remove, ""},
		"gone here and there":          {nil, remote{owner: "gov", recorded: "old", noContent: true}, true, terms{}, remove, ""},
		"gone, and retired by a human": {nil, remote{live: 1, digest: "old", owner: "gov", recorded: "old", retired: true, running: 1}, true, terms{}, remove, ""},
	} {
		r := tt.remote
		r.object = object{kindPolicy, "p"}
		got := decide("gov", tt.prune, tt.local, &r, tt.terms)
		if got.action != tt.want || !strings.Contains(got.why, tt.why) || (tt.why == "") != (got.why == "") {
			t.Errorf("%s: %s, %q; want %s, %q", name, got.action, got.why, tt.want, tt.why)
		}
	}
}

// A plan's id changes with everything that it does or rests on, and with nothing else.
func TestPlanID(t *testing.T) {
	t.Parallel()
	base := func() *plan {
		return &plan{set: "gov", version: 3, migrate: "proved", items: []*item{{
			object: object{kindPolicy, "p"}, action: change, local: &local{digests: []string{"new"}}, remote: &remote{live: 1, digest: "old", owner: "gov"},
		}}}
	}
	id := base().id()
	for name, edit := range map[string]func(*plan){
		"set": func(p *plan) { p.set = "x" }, "namespace": func(p *plan) { p.namespace = "x" }, "version": func(p *plan) { p.version++ }, "migrate": func(p *plan) { p.migrate = "all" },
		"action": func(p *plan) { p.items[0].action = add }, "content": func(p *plan) { p.items[0].local.digests[0] = "x" },
		"live": func(p *plan) { p.items[0].remote.live++ }, "digest": func(p *plan) { p.items[0].remote.digest = "x" },
		"owner": func(p *plan) { p.items[0].remote.owner = "x" }, "take": func(p *plan) { p.items[0].take = true },
		"attachments": func(p *plan) { p.items[0].remote.attached = []jsonview.Attachment{{Kind: "role", ID: "agent"}} },
		"attach":      func(p *plan) { p.items[0].local.attach = []jsonview.Attachment{} },
		"item":        func(p *plan) { p.items = nil },
	} {
		p := base()
		if edit(p); p.id() == id {
			t.Errorf("%s: the same id", name)
		}
	}
	p := base()
	p.items[0].moves, p.items[0].what = []move{{Runs: 4}}, []string{"words"}
	if p.id() != id {
		t.Error("runs and words are in the id")
	}
}

// New permissions are accepted by a digest of their change.
func TestAccept(t *testing.T) {
	t.Parallel()
	loosened := func(digest string, t terms) *item {
		i := &item{object: object{kindPolicy, "p"}, local: &local{digests: []string{digest}}, remote: &remote{digest: "old"}}
		i.loosen(t, "more")
		return i
	}
	first := loosened("new", terms{})
	if first.accepted || first.accept == "" {
		t.Fatalf("%+v", first)
	}
	if !loosened("new", terms{accept: []string{first.accept}}).accepted {
		t.Error("what was accepted is not")
	}
	if loosened("newer", terms{accept: []string{first.accept}}).accepted {
		t.Error("another change is accepted")
	}
}

// A set file is read strictly.
func TestSetFile(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"{name: gov, files: [a.json, pol/...], verify: strict, prune: true, sources: {repo: r, commit: c}, attach: {p: [\"role:agent\", everyone]}}": "",
		"{naem: gov}":                   "UNKNOWN_FIELD",
		"{verify: maybe}":               "ENUM",
		"{files: [\"[\"]}":              "PATTERN",
		"{attach: {p: [\"planet:x\"]}}": "ATTACHMENT",
		"{sources: {url: x}}":           "UNKNOWN_FIELD",
		"[]":                            "TYPE",
	} {
		value, problems := document.FromYAML([]byte(text))
		if problems.HasErrors() {
			t.Fatal(problems)
		}
		s := &setFile{}
		problems = s.parse(value)
		got := ""
		if len(problems) > 0 {
			got = problems[0].Code
		}
		if got != want {
			t.Errorf("%s: %v, want %q", text, problems, want)
		}
		if want != "" {
			continue
		}
		for file, in := range map[string]bool{"a.json": true, "b.json": false, "pol/x.yaml": true, "pol/deep/x.yaml": true, "policies/x.yaml": false} {
			if s.has(file) != in {
				t.Errorf("%s: %t", file, !in)
			}
		}
		if len(s.attach["p"]) != 2 || s.attach["p"][1].ID != "*" || !s.prune || s.verify != verifyStrict || s.repo != "r" || s.commit != "c" {
			t.Errorf("%+v", s)
		}
	}
}
