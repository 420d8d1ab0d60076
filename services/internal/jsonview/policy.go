package jsonview

import (
	"time"

	"github.com/go-json-experiment/json/jsontext"

	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	"github.com/interlock-run/interlock/pkg/rules"
	"github.com/interlock-run/interlock/services/internal/protomap"
)

// Policy is one version of a policy (S7).
type Policy struct {
	Name          string         `json:"name"`
	Version       int64          `json:"version"`
	Digest        string         `json:"digest" doc:"Hex SHA-256 of the canonical JSON (RFC 8785)."`
	Definition    jsontext.Value `json:"definition,omitzero" doc:"The definition as it was written. Not in lists."`
	LiveVersion   int64          `json:"live_version" doc:"The version that is enforced; 0 when there is none."`
	ShadowVersion int64          `json:"shadow_version" doc:"The version that is judged alongside it, and not enforced; 0 when there is none."`
	Attachments   []Attachment   `json:"attachments"`
	CreatedAt     time.Time      `json:"created_at"`
	UpdatedAt     time.Time      `json:"updated_at" doc:"The same as created_at: a version never changes."`
	CreatedBy     string         `json:"created_by"`
}

// Attachment is an object whose calls a policy judges.
type Attachment struct {
	Kind string `json:"kind" enum:"workflow,process,session,role,principal,human,group,agent,everyone"`
	ID   string `json:"id" doc:"The name of the workflow, process, role, principal, human, group or agent, or the session's id or name; * for everyone."`
}

// PolicyOf returns the JSON of a policy.
func PolicyOf(p *policyv1.Policy) Policy {
	return Policy{
		Name: p.GetName(), Version: p.GetVersion(), Digest: p.GetDigest(), Definition: rawOf(p.GetDefinition()),
		LiveVersion: p.GetLiveVersion(), ShadowVersion: p.GetShadowVersion(), Attachments: Each(p.GetAttachments(), attachmentOf),
		CreatedAt: Time(p.GetCreatedAt()), UpdatedAt: Time(p.GetCreatedAt()), CreatedBy: p.GetCreatedBy(),
	}
}

func attachmentOf(a *policyv1.Attachment) Attachment {
	return Attachment{Kind: lower(a.GetKind().String(), attachmentPrefix), ID: a.GetId()}
}

const attachmentPrefix = "ATTACHMENT_KIND_"

// AttachmentKinds returns the names of all kinds, in the contract's order.
func AttachmentKinds() []string { return lowerNames(policyv1.AttachmentKind_name, attachmentPrefix) }

// Usage is the count of one limit of a policy.
type Usage struct {
	Capability string `json:"capability" doc:"Pattern of the rule; empty for limits of the session itself."`
	Measure    string `json:"measure" enum:"calls,money,emails"`
	Scope      string `json:"scope" enum:"policy,principal,session"`
	Subject    string `json:"subject" doc:"The principal or session."`
	Used       int64  `json:"used" doc:"Calls, emails, or micro-dollars."`
	Max        int64  `json:"max"`
	UsedUSD    string `json:"used_usd,omitzero" doc:"Of money: the same in decimal dollars."`
	MaxUSD     string `json:"max_usd,omitzero"`
	// WindowSeconds is of rolling windows, Period and ResetsAt of the others.
	WindowSeconds int64     `json:"window_seconds,omitzero" doc:"Of rolling windows."`
	Period        string    `json:"period,omitzero" doc:"hourly, daily or monthly, in UTC."`
	ResetsAt      time.Time `json:"resets_at,omitzero" doc:"The end of the present period."`
}

// UsageOf returns the JSON of a usage.
func UsageOf(u *policyv1.Usage) Usage {
	out := Usage{
		Capability: u.GetCapability(), Measure: protomap.LowerWord(u.GetMeasure(), "MEASURE_"), Scope: protomap.LowerWord(u.GetScope(), "LIMIT_SCOPE_"), Subject: u.GetSubject(),
		Used: u.GetUsed(), Max: u.GetMax(), WindowSeconds: secondsOf(u.GetWindow()), Period: protomap.LowerWord(u.GetPeriod(), "PERIOD_"), ResetsAt: Time(u.GetResetsAt()),
	}
	if u.GetMeasure() == policyv1.Measure_MEASURE_MONEY {
		out.UsedUSD, out.MaxUSD = rules.MicroUSD(u.GetUsed()).String(), rules.MicroUSD(u.GetMax()).String()
	}
	return out
}
