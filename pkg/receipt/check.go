package receipt

import (
	"fmt"
	"strconv"

	"github.com/go-json-experiment/json"
)

// CheckLog checks that the records of the log lead to the head that is stated, and that the
// checkpoint and the subject are of that log. It says every fault.
func (s *Statement) CheckLog() (faults []string) {
	p := &s.Predicate
	links, err := Chain(p.Namespace, p.Partition, p.Log)
	if err != nil {
		return []string{err.Error()}
	}
	for i := range links {
		if p.Log[i].Hash != links[i].String() {
			faults = append(faults, fmt.Sprintf("record %d of the log is not the one that was sealed", p.Log[i].Sequence))
			break
		}
	}
	head := Head(p.Namespace, p.Partition, links).String()
	if p.Head != head {
		faults = append(faults, "the log does not lead to the head that is stated")
	}
	if p.Checkpoint != CheckpointOf(p.Namespace, p.Partition, links) {
		faults = append(faults, "the checkpoint is of another log")
	}
	if len(s.Subject) != 1 || s.Subject[0].Name != "interlock:"+p.Namespace+"/"+p.RunID || s.Subject[0].Digest.SHA256 != head {
		faults = append(faults, "the subject is another run, or another state of its log")
	}
	return faults
}

// change has the checked fields of a change of a run.
type change struct {
	RunVersion      int64  `json:"run_version"`
	WorkflowVersion int64  `json:"workflow_version"`
	Type            string `json:"type"`
	To              string `json:"to"`
	Status          string `json:"status"`
	ApprovalID      string `json:"approval_id"`
}

// decision has the checked fields of a record of the log.
type decision struct {
	RunID         string `json:"run_id"`
	RunVersion    int64  `json:"run_version"`
	Workflow      string `json:"workflow"`
	Policy        string `json:"policy"`
	PolicyVersion int64  `json:"policy_version"`
	ApprovalID    string `json:"approval_id"`
	Decision      string `json:"decision"`
}

// CheckRecord checks that the parts of a receipt fit each other: the history has no gap and
// ends as stated, and the parts are exactly those that it names. It says every fault.
func (s *Statement) CheckRecord() []string {
	c := &recordCheck{p: &s.Predicate, versions: map[int64]bool{}, policies: map[Ref]bool{}, approvals: map[string]bool{}}
	c.history()
	c.log()
	c.texts()
	c.asked()
	return c.faults
}

// Ref names one version of a policy.
type Ref struct {
	Name    string
	Version int64
}

type recordCheck struct {
	p         *Predicate
	versions  map[int64]bool
	policies  map[Ref]bool
	approvals map[string]bool
	last      change
	faults    []string
}

func (c *recordCheck) say(format string, args ...any) {
	c.faults = append(c.faults, fmt.Sprintf(format, args...))
}

func (c *recordCheck) history() {
	version := int64(0)
	for i := range c.p.History {
		var e change
		if err := json.Unmarshal(c.p.History[i], &e); err != nil {
			c.say("entry %d of the history cannot be read: %v", i+1, err)
			return
		}
		if e.Type == "tool_result" {
			continue
		}
		version++
		if e.RunVersion != version {
			c.say("version %d of the history comes where version %d must be", e.RunVersion, version)
			return
		}
		if (e.Type == "started") != (version == 1) {
			c.say("version %d of the history is %s", version, strconv.Quote(e.Type))
		}
		c.versions[e.WorkflowVersion] = true
		if e.ApprovalID != "" {
			c.approvals[e.ApprovalID] = true
		}
		c.last = e
	}
	switch {
	case version == 0:
		c.say("it has no history")
	case c.last.Status != c.p.Status:
		c.say("the run is stated to be %s, and its history ends as %s", c.p.Status, c.last.Status)
	}
}

func (c *recordCheck) log() {
	for i := range c.p.Log {
		var d decision
		if err := json.Unmarshal([]byte(c.p.Log[i].Record), &d); err != nil {
			c.say("record %d of the log cannot be read: %v", c.p.Log[i].Sequence, err)
			continue
		}
		if d.RunID != c.p.RunID {
			continue // of the run's family
		}
		if d.Workflow != c.p.Workflow {
			c.say("record %d of the log is of workflow %s", c.p.Log[i].Sequence, strconv.Quote(d.Workflow))
		}
		if d.RunVersion < 1 || d.RunVersion > c.last.RunVersion {
			c.say("record %d of the log is of version %d of the run, which the history does not have", c.p.Log[i].Sequence, d.RunVersion)
		}
		if d.Policy != "" {
			c.policies[Ref{d.Policy, d.PolicyVersion}] = true
		}
		if d.ApprovalID != "" {
			c.approvals[d.ApprovalID] = true
		}
	}
}

func (c *recordCheck) texts() {
	have := map[int64]bool{}
	for i := range c.p.Definitions {
		d := &c.p.Definitions[i]
		if d.Name != c.p.Workflow || have[d.Version] || !c.versions[d.Version] {
			c.say("version %d of %s is not one that the history names once", d.Version, strconv.Quote(d.Name))
		}
		have[d.Version] = true
	}
	for version := range c.versions {
		if !have[version] {
			c.say("version %d of the definition is missing", version)
		}
	}
	for i := range c.p.Policies {
		p := &c.p.Policies[i]
		if !c.policies[Ref{p.Name, p.Version}] {
			c.say("version %d of policy %s is not one that the log names once", p.Version, strconv.Quote(p.Name))
		}
		delete(c.policies, Ref{p.Name, p.Version})
	}
	for p := range c.policies {
		c.say("version %d of policy %s is missing", p.Version, strconv.Quote(p.Name))
	}
}

func (c *recordCheck) asked() {
	for i := range c.p.Approvals {
		var a struct {
			ApprovalID string `json:"approval_id"`
			RunID      string `json:"run_id"`
		}
		if err := json.Unmarshal(c.p.Approvals[i], &a); err != nil {
			c.say("approval %d cannot be read: %v", i+1, err)
			continue
		}
		if !c.approvals[a.ApprovalID] || a.RunID != c.p.RunID {
			c.say("approval %s is not one that the run names once", strconv.Quote(a.ApprovalID))
		}
		delete(c.approvals, a.ApprovalID)
	}
	for id := range c.approvals {
		c.say("approval %s is missing", strconv.Quote(id))
	}
}
