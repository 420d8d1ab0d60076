package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// entry is what is read of a change of the run, of a record of the log and of an approval.
type entry struct {
	Type            string `json:"type"`
	RunID           string `json:"run_id"`
	RunVersion      int64  `json:"run_version"`
	WorkflowVersion int64  `json:"workflow_version"`
	From            string `json:"from"`
	To              string `json:"to"`
	Branch          string `json:"branch"`
	Status          string `json:"status"`
	State           string `json:"state"`
	Workflow        string `json:"workflow"`
	Policy          string `json:"policy"`
	PolicyVersion   int64  `json:"policy_version"`
	ApprovalID      string `json:"approval_id"`
	Asker           struct {
		Principal string `json:"principal"`
	} `json:"asker"`
	Subject struct {
		RunID string `json:"run_id"`
		Event string `json:"event"`
	} `json:"subject"`
	Event string `json:"event"`
	Terms struct {
		Required int  `json:"required"`
		Presence bool `json:"presence"`
	} `json:"terms"`
	Votes      []vote          `json:"votes"`
	Kind       string          `json:"kind"`
	Digest     string          `json:"digest"`
	Data       json.RawMessage `json:"data"`
	EditedData json.RawMessage `json:"edited_data"`
	CallID     string          `json:"call_id"`
	Decision   string          `json:"decision"`
	JailDigest string          `json:"jail_digest"`
	ToolResult *result         `json:"tool_result"`
	Kept       struct {
		Gives []string `json:"gives"`
	} `json:"kept"`
}

// result is how a call has ended, and what a jail has witnessed of it.
type result struct {
	CallID   string   `json:"call_id"`
	Evidence []string `json:"evidence"`
	Tree     string   `json:"tree"`
	Witness  string   `json:"witness"`
}

// record checks that the history has no gap and that everything it names is there, once.
func (c *checker) record() {
	p := &c.s.Predicate
	named := map[string]bool{}
	events := map[string]string{} // of approvals that a transition has used
	var last entry
	branches := false
	var seen []result
	jailed := map[string][]string{} // the evidence that a call in a jail may give
	for _, raw := range p.History {
		var e entry
		c.want(unique(json.NewDecoder(bytes.NewReader(raw))) == nil && json.Unmarshal(raw, &e) == nil, "an entry of the history cannot be read")
		if e.Type == "tool_result" {
			if r := e.ToolResult; r != nil && (r.Witness != "" || r.Tree != "") {
				seen = append(seen, *r)
			}
			continue
		}
		c.want(e.RunVersion == last.RunVersion+1, "version %d of the history is not in its place", e.RunVersion)
		c.want((e.Type == "started") == (e.RunVersion == 1), "version %d is %q", e.RunVersion, e.Type)
		branches = branches || e.Branch != "" || e.Type == "fork.started"
		c.want(branches || e.RunVersion == 1 || e.From == last.To, "version %d begins in %q, and the one before ends in %q", e.RunVersion, e.From, last.To)
		named[fmt.Sprintf("definition %s@%d", p.Workflow, e.WorkflowVersion)] = true
		if e.ApprovalID != "" {
			named["approval "+e.ApprovalID] = true
			if e.Type == "transitioned" {
				events[e.ApprovalID] = e.Event
			}
		}
		last = e
	}
	c.want(last.RunVersion > 0 && last.Status == p.Status && (branches || last.To == p.State), "the history ends otherwise than the run")
	for _, l := range p.Log {
		var e entry
		c.want(json.Unmarshal([]byte(l.Record), &e) == nil, "record %d cannot be read", l.Sequence)
		if e.RunID != p.RunID {
			continue
		}
		if e.Decision == "ALLOW" && e.JailDigest != "" {
			jailed[e.CallID] = e.Kept.Gives
		}
		c.want(e.Workflow == p.Workflow && e.RunVersion >= 1 && e.RunVersion <= last.RunVersion, "record %d is of another run", l.Sequence)
		if e.Policy != "" {
			named[fmt.Sprintf("policy %s@%d", e.Policy, e.PolicyVersion)] = true
		}
		if e.ApprovalID != "" {
			named["approval "+e.ApprovalID] = true
		}
	}
	for _, r := range seen {
		gives, known := jailed[r.CallID]
		c.want(known && r.Witness != "", "call %q has a witness, and the log allows no such command in a jail", r.CallID)
		for _, name := range r.Evidence {
			c.want(slices.Contains(gives, name), "call %q gives evidence %q, and its command gives none of that name", r.CallID, name)
		}
		if len(r.Evidence) > 0 {
			c.shows = append(c.shows, fmt.Sprintf("a jail has witnessed %s on %s (call %q, witness %s)",
				strings.Join(r.Evidence, ", "), cmp.Or(r.Tree, "files that are not known"), r.CallID, r.Witness))
		}
	}
	take := func(what string) {
		c.want(named[what], "%s is not one that is named once", what)
		delete(named, what)
	}
	for _, d := range p.Definitions {
		take(fmt.Sprintf("definition %s@%d", d.Name, d.Version))
		c.origin("definition", &d)
	}
	for _, d := range p.Policies {
		take(fmt.Sprintf("policy %s@%d", d.Name, d.Version))
		c.origin("policy", &d)
	}
	for _, raw := range p.Approvals {
		var a entry
		c.want(json.Unmarshal(raw, &a) == nil, "an approval cannot be read")
		take("approval " + a.ApprovalID)
		c.signatures(&a, raw)
		c.approval(&a, events[a.ApprovalID])
	}
	for what := range named {
		c.want(false, "%s is missing", what)
	}
}

// origin says which set has made a version live.
func (c *checker) origin(what string, t *text) {
	if t.Set == nil {
		return
	}
	c.want(t.Set.Name != "" && t.Set.Version > 0 && t.Set.AppliedBy != "", "the set of %s %s@%d cannot be read", what, t.Name, t.Version)
	from := t.Set.Repo
	if t.Set.Commit != "" {
		from += "@" + t.Set.Commit
	}
	c.shows = append(c.shows, fmt.Sprintf("%s %s@%d is of set %q version %d, from %q, applied by %q", what, t.Name, t.Version, t.Set.Name, t.Set.Version, from, t.Set.AppliedBy))
}

// approval checks who has decided.
func (c *checker) approval(a *entry, event string) {
	agreed := map[string]bool{}
	for _, v := range a.Votes {
		c.want(v.By != a.Asker.Principal, "approval %s was decided by who has asked", a.ApprovalID)
		if v.Approve && (!a.Terms.Presence || v.Signature != nil) {
			agreed[v.By] = true
		}
	}
	c.want(a.RunID == c.s.Predicate.RunID && a.Subject.RunID == a.RunID, "approval %s is of another run", a.ApprovalID)
	c.want(a.Status != "USED" && a.Status != "GRANTED" || len(agreed) >= max(a.Terms.Required, 1), "approval %s was not agreed to", a.ApprovalID)
	c.want(event == "" || a.Subject.Event == event && (a.Status == "USED" || a.Status == "GRANTED"), "approval %s did not let %q through", a.ApprovalID, event)
}
