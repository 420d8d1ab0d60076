// Package receipts makes receipts of runs, and checks them.
package receipts

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	approvalv1 "github.com/interlock-run/interlock/gen/go/interlock/approval/v1"
	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/receipt"
	"github.com/interlock-run/interlock/pkg/verify"
	"github.com/interlock-run/interlock/services/internal/build"
	"github.com/interlock-run/interlock/services/internal/definition"
	"github.com/interlock-run/interlock/services/internal/jsonview"
	"github.com/interlock-run/interlock/services/internal/recorded"
)

// mostStates are explored for one property of a certificate: a second or so.
const mostStates = 100_000

// Sources are the services that have the records.
type Sources struct {
	recorded.Sources
	Approvals approvalv1.ApprovalServiceClient
	// Sets says which set has made a version live.
	Sets policyv1.SetServiceClient
}

// Make makes the receipt of a run, as far as the run and its log are now.
func Make(ctx context.Context, from Sources, namespace, runID string, key receipt.Signer, now time.Time) (*receipt.File, error) {
	r, err := recorded.Load(ctx, from.Sources, runID, true)
	if err != nil {
		return nil, err
	}
	p := &receipt.Predicate{
		Format: receipt.Format, IssuedAt: now.UTC().Truncate(time.Second), Version: build.Version(), Namespace: namespace, RunID: r.RunID, Workflow: r.Workflow,
		SessionID: r.SessionID, Status: r.View.Status, State: r.View.State, Partition: r.Partition,
		Certificates: []jsontext.Value{}, Approvals: []jsontext.Value{}, Log: []receipt.Entry{},
	}
	if p.Definitions, err = textsOf(ctx, from, r.Versions); err != nil {
		return nil, err
	}
	if p.Policies, err = textsOf(ctx, from, r.Policies); err != nil {
		return nil, err
	}
	if p.Partition == "" { // no decision was made yet: the log is empty
		p.Partition = p.RunID
	}
	if err := addLog(p, r); err != nil {
		return nil, err
	}
	for i := range r.History {
		text, err := json.Marshal(&r.History[i], json.Deterministic(true))
		if err != nil {
			return nil, fault.From(err)
		}
		p.History = append(p.History, text)
	}
	if err := addApprovals(ctx, p, from, asked(r)); err != nil {
		return nil, err
	}
	if err := addCertificates(p); err != nil {
		return nil, err
	}
	f, err := receipt.Seal(p, key)
	if err != nil {
		return nil, fault.From(err)
	}
	return f, nil
}

// textsOf returns versions with the sets that have made them live.
func textsOf(ctx context.Context, from Sources, versions []recorded.Version) ([]receipt.Text, error) {
	texts := []receipt.Text{}
	for _, v := range versions {
		set, err := origin(ctx, from, &v)
		if err != nil {
			return nil, err
		}
		texts = append(texts, receipt.Text{Name: v.Name, Version: v.Version, Definition: v.Definition, Set: set})
	}
	return texts, nil
}

// origin returns the set that has made a version live; nil for none.
func origin(ctx context.Context, from Sources, v *recorded.Version) (*receipt.Set, error) {
	value, problem := document.Parse(v.Definition, document.Limits{})
	if problem != nil {
		return nil, fault.From(fmt.Errorf("version %d of %s: %s", v.Version, v.Name, problem.Message))
	}
	kind := policyv1.DefinitionKind_value["DEFINITION_KIND_"+strings.ToUpper(document.KindOf(value))]
	if kind == 0 { // a definition that no set can have
		return nil, nil
	}
	resp, err := from.Sets.ListSets(ctx, &policyv1.ListSetsRequest{Kind: policyv1.DefinitionKind(kind), Name: v.Name, Version: v.Version})
	if err != nil || len(resp.GetSets()) == 0 {
		return nil, err
	}
	s := resp.GetSets()[0]
	return &receipt.Set{
		Name: s.GetName(), Version: s.GetVersion(), Repo: s.GetRepo(), Commit: s.GetCommit(), AppliedBy: s.GetAppliedBy(), AppliedAt: s.GetAppliedAt().AsTime(),
		Bundle: s.GetBundleDigest(),
	}, nil
}

// addLog adds the log of the run's family. A record that is not the one that was sealed, or
// that is missing, makes no receipt.
func addLog(p *receipt.Predicate, r *recorded.Run) error {
	for _, d := range r.Log {
		p.Log = append(p.Log, receipt.Entry{Sequence: d.GetSequence(), CommittedUS: d.GetCommittedUs(), Record: string(d.GetRaw())})
	}
	links, err := receipt.Chain(p.Namespace, p.Partition, p.Log)
	if err != nil {
		return fault.New(fault.FailedPrecondition, "there can be no receipt of run %s any more: %s; the log is kept as long as --retention says", p.RunID, err)
	}
	for i, d := range r.Log {
		if d.GetHash() != "" && d.GetHash() != links[i].String() {
			return fault.New(fault.FailedPrecondition, "there is no receipt of run %s: record %d of its log is not the sealed one; run interlock audit verify",
				p.RunID, d.GetSequence())
		}
		p.Log[i].Hash = links[i].String()
	}
	p.Head = receipt.Head(p.Namespace, p.Partition, links).String()
	p.Checkpoint = receipt.CheckpointOf(p.Namespace, p.Partition, links)
	return nil
}

// asked returns the approvals that a run names.
func asked(r *recorded.Run) []string {
	var ids []string
	add := func(id string) {
		if id != "" && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	for i := range r.History {
		add(r.History[i].ApprovalID)
	}
	for i := range r.Decisions {
		add(r.Decisions[i].ApprovalID)
	}
	return ids
}

func addApprovals(ctx context.Context, p *receipt.Predicate, from Sources, ids []string) error {
	for _, id := range ids {
		got, err := from.Approvals.GetApproval(ctx, &approvalv1.GetApprovalRequest{ApprovalId: id})
		if fault.ReasonOf(err) == fault.NotFound {
			return fault.New(fault.FailedPrecondition, "there can be no receipt of run %s any more: approval %s is no longer kept", p.RunID, id)
		}
		if err != nil {
			return err
		}
		a := jsonview.ApprovalOf(got.GetApproval())
		a.You, a.Unlocks, a.Previous, a.Command = nil, nil, nil, nil // parts for its reader only
		text, err := json.Marshal(&a, json.Deterministic(true))
		if err != nil {
			return fault.From(err)
		}
		p.Approvals = append(p.Approvals, text)
	}
	return nil
}

// addCertificates proves the properties of each definition.
func addCertificates(p *receipt.Predicate) error {
	for i := range p.Definitions {
		m, model, err := modelOf(&p.Definitions[i])
		if err != nil {
			return fault.From(err)
		}
		properties := m.Definition().Properties
		if len(properties) == 0 {
			continue
		}
		o := verify.Options{MaxStates: mostStates}
		report := verify.Check(model, properties, o)
		certificate := verify.Certify(model, &report, o, p.Version)
		text, err := json.Marshal(&certificate, json.Deterministic(true))
		if err != nil {
			return fault.From(err)
		}
		p.Certificates = append(p.Certificates, text)
	}
	return nil
}

// modelOf returns the model of a definition. Policies are not part of it: proofs hold with
// any policies.
func modelOf(t *receipt.Text) (definition.Compiled, *verify.Model, error) {
	m, err := definition.Flags{}.Compile(t.Definition, t.Version)
	if err != nil {
		return m, nil, fmt.Errorf("version %d of %s: %w", t.Version, t.Name, err)
	}
	text, problem := document.Parse(t.Definition, document.Limits{})
	if problem != nil {
		return m, nil, fmt.Errorf("version %d of %s: %s", t.Version, t.Name, problem.Message)
	}
	return m, &verify.Model{Main: verify.Definition{Machine: m.Machine, Process: m.Process, Text: text}}, nil
}
