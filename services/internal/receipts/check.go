package receipts

import (
	"crypto/ed25519"
	"fmt"
	"slices"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/receipt"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/pkg/verify"
	"github.com/interlock-run/interlock/pkg/verify/conform"
	"github.com/interlock-run/interlock/pkg/workflow"
	"github.com/interlock-run/interlock/services/internal/jsonview"
	"github.com/interlock-run/interlock/services/internal/ledger"
	"github.com/interlock-run/interlock/services/internal/recorded"
)

// Checked has the findings about a receipt.
type Checked struct {
	Statement *receipt.Statement
	// Faults is empty for a receipt that holds.
	Faults []string
	// Cosigned are the witnesses that were asked for.
	Cosigned []receipt.Cosignature
	// Conformance of the run to its definitions and policies.
	Conformance conform.Conformance
	// Proved are the properties of each version of the definition.
	Proved map[int64][]verify.Certified

	approvals []jsonview.Approval
	signed    map[string][]signedVote     // by approval
	terms     map[int64]*workflow.Machine // that has those of approvals, by version of the definition
	calls     []*ledger.Decision          // of the run
	history   []jsonview.HistoryEntry
	allowed   map[string]int // by tool
	denied    int
	open      int // allowed calls that no rule of a state has judged
}

// Check checks a receipt: signatures, chain, its statement of itself, and whether its history
// follows from its definitions and policies.
func Check(text []byte, key ed25519.PublicKey, witnesses []ed25519.PublicKey) (*Checked, error) {
	f, s, err := receipt.Read(text)
	if err != nil {
		return nil, err
	}
	c := &Checked{Statement: s, Proved: map[int64][]verify.Certified{}, allowed: map[string]int{}, terms: map[int64]*workflow.Machine{}, signed: map[string][]signedVote{}}
	c.Cosigned, c.Faults = f.CheckSignatures(s, key, witnesses)
	c.Faults = append(c.Faults, s.CheckLog()...)
	c.Faults = append(c.Faults, s.CheckRecord()...)
	c.conformance()
	c.certificates()
	c.decided()
	c.witnessed()
	return c, nil
}

// witnessed checks the claimed observations of jails: they are of commands that were allowed in a jail, and
// that may give such evidence.
func (c *Checked) witnessed() {
	for i := range c.history {
		r := c.history[i].ToolResult
		if r == nil || r.Witness == "" && r.Tree == "" {
			continue
		}
		at := slices.IndexFunc(c.calls, func(d *ledger.Decision) bool {
			return d.CallID == r.CallID && d.Decision == toolcall.Allow && d.JailDigest != ""
		})
		switch {
		case r.Witness == "":
			c.say("result %d is of tree %s, and no jail has witnessed it", r.Number, r.Tree)
		case at < 0:
			c.say("result %d has a witness, and the log allows no command %q in a jail", r.Number, r.CallID)
		default:
			for _, name := range r.Evidence {
				if !slices.Contains(c.calls[at].Kept.Gives, name) {
					c.say("result %d gives evidence %q, and its command gives none of that name", r.Number, name)
				}
			}
		}
	}
}

func (c *Checked) say(format string, args ...any) {
	c.Faults = append(c.Faults, fmt.Sprintf(format, args...))
}

// conformance decides everything again.
func (c *Checked) conformance() {
	p := &c.Statement.Predicate
	r := &recorded.Run{
		Format: recorded.Format, RunID: p.RunID, Workflow: p.Workflow, SessionID: p.SessionID, Workspace: p.Workspace,
		Versions: versionsOf(p.Definitions), Policies: versionsOf(p.Policies),
	}
	for i, text := range p.History {
		var e jsonview.HistoryEntry
		if err := json.Unmarshal(text, &e, json.RejectUnknownMembers(true)); err != nil {
			c.say("entry %d of the history cannot be read: %v", i+1, err)
			return
		}
		r.History = append(r.History, e)
	}
	for i := range p.Log {
		e := &p.Log[i]
		d, err := ledger.DecodeDecision(p.Partition, store.HistoryEntry{Version: e.Sequence, At: time.UnixMicro(e.CommittedUS), Data: []byte(e.Record)})
		if err != nil {
			c.say("%v", err)
			continue
		}
		if d.RunID != p.RunID {
			continue
		}
		r.Decisions = append(r.Decisions, recordOf(d))
		c.calls = append(c.calls, d)
		if d.Decision == "ALLOW" {
			c.allowed[d.Tool]++
			if d.Code == toolcall.CodeNotEnforced {
				c.open++
			}
		} else {
			c.denied++
		}
	}
	c.history = r.History
	trace, err := r.Trace()
	if err != nil {
		c.say("%v", err)
		return
	}
	c.Conformance = conform.Conform(trace)
	for _, d := range c.Conformance.Differences {
		c.say("%s", d.String())
	}
	if status, state, known := c.ends(); known && (state != p.State || status != p.Status) {
		c.say("the run is stated to be %s in state %q, and its history ends as %s in %q", p.Status, p.State, status, state)
	}
}

// ends describes how the history leaves the run, for callers that work in no branch of their
// own. A change in a branch says where that branch is.
func (c *Checked) ends() (status, state string, known bool) {
	if run := c.Conformance.Run; run != nil {
		at := run.At("")
		return string(at.Status), at.State, true
	}
	last := c.last()
	if last == nil || last.Branch != "" {
		return "", "", false
	}
	return last.Status, last.To, true
}

// last returns the last change of the run.
func (c *Checked) last() *jsonview.HistoryEntry {
	for i := range slices.Backward(c.history) {
		if c.history[i].ToolResult == nil {
			return &c.history[i]
		}
	}
	return nil
}

func versionsOf(texts []receipt.Text) []recorded.Version {
	var all []recorded.Version
	for _, t := range texts {
		all = append(all, recorded.Version{Name: t.Name, Version: t.Version, Definition: t.Definition})
	}
	return all
}

// recordOf returns a decision as conformance takes it.
func recordOf(d *ledger.Decision) jsonview.DecisionRecord {
	r := jsonview.DecisionRecord{
		Sequence: d.Sequence, Time: d.Time, Principal: d.Principal, SessionID: d.SessionID, RunID: d.RunID, RunVersion: d.RunVersion,
		Workflow: d.Workflow, WorkflowVersion: d.WorkflowVersion, State: d.State, Branch: d.Branch, CallID: d.CallID, Tool: d.Tool, Capability: d.Capability,
		Decision: string(d.Decision), Code: string(d.Code), Policy: d.Policy, PolicyVersion: d.PolicyVersion, InputDigest: d.InputDigest,
		Input: jsontext.Value(d.Input), ApprovalID: d.ApprovalID, LeaseID: d.LeaseID,
	}
	if d.JailLevel != 0 {
		r.Jail = &jsonview.Jail{Level: int32(d.JailLevel), Digest: d.JailDigest} //nolint:gosec // at most 3
	}
	return r
}

// certificates explores claimed proofs again. Every version that has properties has one.
func (c *Checked) certificates() {
	p := &c.Statement.Predicate
	left := p.Certificates
	for i := range p.Definitions {
		t := &p.Definitions[i]
		m, model, err := modelOf(t)
		if err != nil {
			c.say("%v", err)
			continue
		}
		c.terms[t.Version] = m.Machine
		properties := m.Definition().Properties
		if len(properties) == 0 {
			continue
		}
		at := slices.IndexFunc(left, func(text jsontext.Value) bool {
			var certificate verify.Certificate
			return json.Unmarshal(text, &certificate) == nil && certificate.Definition == document.Digest(model.Main.Text)
		})
		if at < 0 {
			c.say("version %d of %s has properties, and no certificate", t.Version, t.Name)
			continue
		}
		c.certificate(t, left[at], model, properties)
		left = slices.Delete(slices.Clone(left), at, at+1)
	}
	if len(left) > 0 {
		c.say("%d certificates are of other definitions", len(left))
	}
}

func (c *Checked) certificate(t *receipt.Text, text jsontext.Value, model *verify.Model, properties []workflow.Property) {
	var certificate verify.Certificate
	if err := json.Unmarshal(text, &certificate, json.RejectUnknownMembers(true)); err != nil {
		c.say("the certificate of version %d cannot be read: %v", t.Version, err)
		return
	}
	if certificate.MaxStates > mostStates {
		c.say("the certificate of version %d is of %d states: more than a receipt has", t.Version, certificate.MaxStates)
		return
	}
	for _, differs := range verify.Confirm(&certificate, model, properties, verify.Options{}) {
		c.say("the certificate of version %d: %s", t.Version, differs)
	}
	c.Proved[t.Version] = certificate.Properties
}
