package jsonview

import (
	"encoding/base64"
	"errors"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	approvalv1 "github.com/interlock-run/interlock/gen/go/interlock/approval/v1"
	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	"github.com/interlock-run/interlock/pkg/signature"
	"github.com/interlock-run/interlock/services/internal/protomap"
)

// Approval is one question to humans (S9). Agents may have written its message,
// subject and data: anyone who shows them to a person shows them as data.
type Approval struct {
	ApprovalID string         `json:"approval_id"`
	Kind       string         `json:"kind" enum:"transition,tool_call,process_step"`
	Status     string         `json:"status" enum:"PENDING,GRANTED,REJECTED,EXPIRED,CANCELLED,USED,STALE"`
	RunID      string         `json:"run_id"`
	Subject    jsontext.Value `json:"subject" doc:"The request: the run, its version, and the event or the capability."`
	Data       jsontext.Value `json:"data,omitzero" doc:"The data of the request: the data of an event, or the input of a tool."`
	EditedData jsontext.Value `json:"edited_data,omitzero" doc:"The data as edited by an approver: the approved action has it."`
	EditPatch  jsontext.Value `json:"edit_patch,omitzero" doc:"JSON Patch (RFC 6902) from data to edited_data."`
	EditedBy   string         `json:"edited_by,omitzero"`
	Editable   bool           `json:"editable" doc:"True when an approver may replace the data."`
	Digest     string         `json:"digest" doc:"Hex SHA-256 of the exact action that it admits."`
	Asker      Asker          `json:"asker"`
	Message    string         `json:"message" doc:"For the approvers. An agent may have written it."`
	Terms      Terms          `json:"terms"`
	Votes      []Vote         `json:"votes" doc:"In the order in which they were cast, one for each approver."`
	Escalated  bool           `json:"escalated,omitzero" doc:"True when the fallback approvers are asked too."`
	Outcome    string         `json:"outcome" doc:"One sentence on how it stands, for the agent that waits."`
	Reason     string         `json:"reason,omitzero" doc:"Why it was cancelled or has become stale; while it is pending, why it is asked again."`
	By         string         `json:"by,omitzero" doc:"Who has cancelled it, or made it stale."`
	CreatedAt  time.Time      `json:"created_at"`
	ExpiresAt  time.Time      `json:"expires_at"`
	DecidedAt  time.Time      `json:"decided_at,omitzero"`
	UsedAt     time.Time      `json:"used_at,omitzero"`
	UsedBy     string         `json:"used_by,omitzero" doc:"The act that used it, such as a call's id."`
	Version    int64          `json:"version"`

	You             *Viewer           `json:"you,omitzero" doc:"Whether the caller that reads it may decide it."`
	Why             *Why              `json:"why,omitzero" doc:"The cause of the question."`
	Unlocks         *Unlocks          `json:"unlocks,omitzero" doc:"The effect of a grant. Not in lists."`
	EscalatesAt     time.Time         `json:"escalates_at,omitzero" doc:"When the fallback approvers are asked too; absent for never, and once it was decided."`
	EscalatesTo     *Approvers        `json:"escalates_to,omitzero" doc:"Those fallback approvers."`
	NobodyCanAnswer string            `json:"nobody_can_answer,omitzero" doc:"Why no registered people could grant it now, where only they decide; absent when they could."`
	Previous        *PreviousApproval `json:"previous,omitzero" doc:"The last grant of the same request. Not in lists."`
	Command         *CommandLine      `json:"command,omitzero" doc:"The command line that the data has, as the state judges it. Not in lists."`
	Facts           jsontext.Value    `json:"facts,omitzero" doc:"What the call does, by facet: {known, values}, and why it is not known. For people, and not in lists."`
}

// Viewer has the rights of the reader of an approval.
type Viewer struct {
	MayDecide bool   `json:"may_decide" doc:"True when the caller's vote would be accepted now."`
	Reason    string `json:"reason,omitzero" doc:"Why not, in one sentence."`
}

// Why is the cause of a question. It is not part of the agreement.
type Why struct {
	Policy          string `json:"policy,omitzero"`
	PolicyVersion   int64  `json:"policy_version,omitzero"`
	Rule            string `json:"rule,omitzero" doc:"JSON Pointer of the rule in the policy."`
	State           string `json:"state,omitzero" doc:"The state that the run was in."`
	Workflow        string `json:"workflow,omitzero"`
	WorkflowVersion int64  `json:"workflow_version,omitzero"`
}

// Unlocks is the effect of a grant.
type Unlocks struct {
	State        string    `json:"state,omitzero" doc:"The state that the run goes to, or in which the tool may be called."`
	AllowedTools *[]string `json:"allowed_tools,omitzero" doc:"The tools that may be called there; absent when the state does not restrict tools."`
	Instructions string    `json:"instructions,omitzero" doc:"Instructions of the agent there."`
}

// PreviousApproval is the newest approval that was granted for the same: for calls of the
// same capability, or the same event of the same workflow.
type PreviousApproval struct {
	ApprovalID string         `json:"approval_id"`
	Data       jsontext.Value `json:"data,omitzero" doc:"The granted data, as it was edited."`
	DecidedAt  time.Time      `json:"decided_at"`
	DecidedBy  string         `json:"decided_by"`
}

// Asker is who wants something done. Neither it nor a session of its tree decides.
type Asker struct {
	Principal     string `json:"principal"`
	Person        string `json:"person,omitzero" doc:"The person that the principal is."`
	SessionID     string `json:"session_id,omitzero"`
	RootSessionID string `json:"root_session_id,omitzero" doc:"Name of the root of the session's tree."`
}

// Terms say who decides an approval, how many, and until when.
type Terms struct {
	Required             int32      `json:"required" doc:"Approvals that grant it."`
	DenyThreshold        int32      `json:"deny_threshold" doc:"Rejections that reject it."`
	Eligible             Approvers  `json:"eligible" doc:"Who may decide it."`
	ExpiresSeconds       int64      `json:"expires_seconds"`
	EscalateAfterSeconds int64      `json:"escalate_after_seconds,omitzero" doc:"Age at which the fallback approvers are asked too."`
	EscalateTo           *Approvers `json:"escalate_to,omitzero" doc:"The fallback approvers."`
	Also                 []Circle   `json:"also,omitzero" doc:"Further circles, each of which must agree too: the terms of the workflow that apply."`
	Danger               string     `json:"danger,omitzero" doc:"How much harm a wrong approval does: low, medium or high; absent for medium."`
	Presence             bool       `json:"presence,omitzero" doc:"True when only votes count whose signature shows that the person was there."`
	DistinctPeople       bool       `json:"distinct_people,omitzero" doc:"True when only registered people decide, each once under all their tokens."`
}

// Circle is a number of approvers who must agree. A vote counts in every circle that has its voter.
type Circle struct {
	Term     string     `json:"term" doc:"The term that asks for it: a JSON Pointer into the workflow."`
	Required int32      `json:"required" doc:"Approvals that it takes."`
	Eligible *Approvers `json:"eligible,omitzero" doc:"Its people; absent for those who may decide without it."`
}

// Approvers are people by their roles or by their names; either is enough.
type Approvers struct {
	Roles []string `json:"roles"`
	Names []string `json:"names"`
}

// Vote is the answer of one approver.
type Vote struct {
	By      string    `json:"by"`
	Role    string    `json:"role"`
	Approve bool      `json:"approve"`
	Note    string    `json:"note,omitzero"`
	Time    time.Time `json:"time"`

	Person    bool           `json:"person,omitzero" doc:"True when by is a registered person."`
	Principal string         `json:"principal,omitzero" doc:"Name of the token, when it is another one."`
	Relay     string         `json:"relay,omitzero" doc:"The program that passed the vote on."`
	Identity  string         `json:"identity,omitzero" doc:"The name by which that program knows the person."`
	Signature *VoteSignature `json:"signature,omitzero" doc:"The signature of the vote, with the key that checks it."`
}

// PasskeyAssertion is the answer of a passkey to a challenge. Its bytes are base64url without padding.
type PasskeyAssertion struct {
	CredentialID      string `json:"credential_id"`
	AuthenticatorData string `json:"authenticator_data"`
	ClientDataJSON    string `json:"client_data_json"`
	Signature         string `json:"signature"`
}

// VoteSignature is the signature of a vote (S23.20).
type VoteSignature struct {
	Statement        string            `json:"statement" doc:"The signed text: canonical JSON."`
	Passkey          *PasskeyAssertion `json:"passkey,omitzero" doc:"An assertion whose challenge is the SHA-256 of the statement."`
	PasskeyPublicKey string            `json:"passkey_public_key,omitzero" doc:"The COSE key of the passkey, as base64url."`
	RPID             string            `json:"rp_id,omitzero" doc:"The relying party that the passkey was used for."`
	Origins          []string          `json:"origins,omitzero" doc:"The origins that were accepted."`
	SSH              string            `json:"ssh,omitzero" doc:"The output of ssh-keygen -Y sign -n interlock-approval over the statement."`
	SSHPublicKey     string            `json:"ssh_public_key,omitzero" doc:"The key: a line of an authorized_keys file."`
	Present          bool              `json:"present,omitzero" doc:"True when the signature shows that the person was there."`
}

// ApprovalOf returns the JSON of an approval.
func ApprovalOf(a *approvalv1.Approval) Approval {
	return Approval{
		ApprovalID: a.GetApprovalId(), Kind: lower(a.GetKind().String(), "APPROVAL_KIND_"), Status: ApprovalStatus(a.GetStatus()),
		RunID: a.GetRunId(), Subject: objectOf(a.GetSubject()), Data: rawOf(a.GetData()),
		EditedData: rawOf(a.GetEditedData()), EditPatch: rawOf(a.GetEditPatch()), EditedBy: a.GetEditedBy(), Editable: a.GetEditable(),
		Digest: a.GetDigest(), Message: a.GetMessage(), Terms: termsOf(a.GetTerms()), Votes: Each(a.GetVotes(), voteOf),
		Asker: Asker{
			Principal: a.GetAsker().GetPrincipal(), Person: a.GetAsker().GetPerson(), SessionID: a.GetAsker().GetSessionId(), RootSessionID: a.GetAsker().GetRootSessionId(),
		},
		Escalated: a.GetEscalated(), Outcome: a.GetOutcome(), Reason: a.GetReason(), By: a.GetBy(),
		CreatedAt: Time(a.GetCreatedAt()), ExpiresAt: Time(a.GetExpiresAt()), DecidedAt: Time(a.GetDecidedAt()),
		UsedAt: Time(a.GetUsedAt()), UsedBy: a.GetUsedBy(), Version: a.GetVersion(),
		You: viewerOf(a.GetYou()), Why: whyOf(a.GetWhy()), Unlocks: unlocksOf(a.GetUnlocks()), EscalatesAt: Time(a.GetEscalatesAt()),
		EscalatesTo: fallbackOf(a.GetEscalatesTo()), Previous: previousOf(a.GetPrevious()), NobodyCanAnswer: a.GetNobodyCanAnswer(), Command: CommandLineOf(a.GetCommand()),
		Facts: rawOf(a.GetFacts()),
	}
}

func viewerOf(v *approvalv1.Viewer) *Viewer {
	if v == nil {
		return nil
	}
	return &Viewer{MayDecide: v.GetMayDecide(), Reason: v.GetReason()}
}

func whyOf(w *approvalv1.Why) *Why {
	if w == nil {
		return nil
	}
	return &Why{
		Policy: w.GetPolicy(), PolicyVersion: w.GetPolicyVersion(), Rule: w.GetRule(),
		State: w.GetState(), Workflow: w.GetWorkflow(), WorkflowVersion: w.GetWorkflowVersion(),
	}
}

func unlocksOf(u *approvalv1.Unlocks) *Unlocks {
	if u == nil {
		return nil
	}
	return &Unlocks{State: u.GetState(), AllowedTools: ListOf(u.GetToolsRestricted(), u.GetAllowedTools()), Instructions: u.GetInstructions()}
}

func fallbackOf(a *approvalv1.Approvers) *Approvers {
	if a == nil {
		return nil
	}
	return new(approversOf(a))
}

func previousOf(p *approvalv1.PreviousApproval) *PreviousApproval {
	if p == nil {
		return nil
	}
	return &PreviousApproval{ApprovalID: p.GetApprovalId(), Data: rawOf(p.GetData()), DecidedAt: Time(p.GetDecidedAt()), DecidedBy: p.GetDecidedBy()}
}

func voteOf(v *approvalv1.Vote) Vote {
	return Vote{
		By: v.GetBy(), Role: protomap.LowerWord(v.GetRole(), "APPROVER_ROLE_"), Approve: v.GetApprove(), Note: v.GetNote(), Time: Time(v.GetTime()),
		Person: v.GetPerson(), Principal: v.GetPrincipal(), Relay: v.GetRelay(), Identity: v.GetIdentity(), Signature: signatureOf(v.GetSignature()),
	}
}

func signatureOf(s *approvalv1.VoteSignature) *VoteSignature {
	if s == nil {
		return nil
	}
	out := &VoteSignature{
		Statement: string(s.GetSignature().GetStatement()), PasskeyPublicKey: base64URL(s.GetPasskeyPublicKey()), RPID: s.GetRpId(),
		Origins: s.GetOrigins(), SSH: s.GetSignature().GetSsh(), SSHPublicKey: s.GetSshPublicKey(), Present: s.GetPresent(),
	}
	if p := s.GetSignature().GetPasskey(); p != nil {
		out.Passkey = &PasskeyAssertion{
			CredentialID: base64URL(p.GetCredentialId()), AuthenticatorData: base64URL(p.GetAuthenticatorData()),
			ClientDataJSON: base64URL(p.GetClientDataJson()), Signature: base64URL(p.GetSignature()),
		}
	}
	return out
}

// Signed returns the signature as package signature checks it.
func (s *VoteSignature) Signed() (*signature.Signed, error) {
	out := &signature.Signed{Statement: []byte(s.Statement), RPID: s.RPID, Origins: s.Origins, SSH: s.SSH, SSHKey: s.SSHPublicKey}
	var err error
	if out.PasskeyKey, err = FromBase64URL(s.PasskeyPublicKey); err == nil && s.Passkey != nil {
		out.Passkey, err = s.Passkey.Assertion()
	}
	return out, err
}

// Assertion returns the assertion as package signature checks it.
func (p *PasskeyAssertion) Assertion() (*signature.Assertion, error) {
	a := &signature.Assertion{}
	for _, part := range []struct {
		to   *[]byte
		text string
	}{
		{&a.CredentialID, p.CredentialID}, {&a.AuthenticatorData, p.AuthenticatorData}, {&a.ClientDataJSON, p.ClientDataJSON}, {&a.Signature, p.Signature},
	} {
		var err error
		if *part.to, err = FromBase64URL(part.text); err != nil {
			return nil, err
		}
	}
	return a, nil
}

func base64URL(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

// FromBase64URL reads base64url without padding.
func FromBase64URL(text string) ([]byte, error) {
	b, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil {
		return nil, errors.New("it is no base64url without padding")
	}
	return b, nil
}

// SigningKey is a key of a person that can sign decisions.
type SigningKey struct {
	CredentialID string `json:"credential_id,omitzero" doc:"Id of the passkey, as base64url."`
	SSHPublicKey string `json:"ssh_public_key,omitzero" doc:"A line of an authorized_keys file."`
	Label        string `json:"label,omitzero" doc:"The name that the person gave it."`
}

// ApprovalStatement is a statement to sign.
type ApprovalStatement struct {
	Statement string       `json:"statement" doc:"The text to sign: canonical JSON. Send it back as it is."`
	Challenge string       `json:"challenge" doc:"Its SHA-256, as base64url: the challenge of a passkey."`
	Shown     string       `json:"shown" doc:"The statement as text for the person."`
	Presence  bool         `json:"presence" doc:"True when the terms demand a signature that shows that the person is there."`
	RPID      string       `json:"rp_id,omitzero" doc:"The relying party of passkeys."`
	Keys      []SigningKey `json:"keys" doc:"The caller's keys."`
	ExpiresAt time.Time    `json:"expires_at" doc:"When a vote with this statement is no longer accepted."`
}

// ApprovalStatementOf returns the JSON of a statement to sign.
func ApprovalStatementOf(s *approvalv1.GetApprovalStatementResponse) ApprovalStatement {
	return ApprovalStatement{
		Statement: string(s.GetStatement()), Challenge: base64URL(s.GetDigest()), Shown: s.GetShown(), Presence: s.GetPresence(), RPID: s.GetRpId(),
		Keys: Each(s.GetKeys(), func(k *approvalv1.SigningKey) SigningKey {
			return SigningKey{CredentialID: base64URL(k.GetCredentialId()), SSHPublicKey: k.GetSshPublicKey(), Label: k.GetLabel()}
		}),
		ExpiresAt: Time(s.GetExpiresAt()),
	}
}

func termsOf(t *approvalv1.Terms) Terms {
	out := Terms{
		Required: t.GetRequired(), DenyThreshold: t.GetDenyThreshold(), Eligible: approversOf(t.GetEligible()),
		ExpiresSeconds: secondsOf(t.GetExpiresAfter()), EscalateAfterSeconds: secondsOf(t.GetEscalateAfter()),
		Presence: t.GetPresence(), DistinctPeople: t.GetDistinctPeople(), Danger: t.GetDanger(),
	}
	if to := approversOf(t.GetEscalateTo()); len(to.Roles)+len(to.Names) > 0 {
		out.EscalateTo = &to
	}
	for _, c := range t.GetAlso() {
		out.Also = append(out.Also, Circle{Term: c.GetTerm(), Required: c.GetRequired(), Eligible: fallbackOf(c.GetEligible())})
	}
	return out
}

func approversOf(a *approvalv1.Approvers) Approvers {
	return Approvers{Roles: a.GetRoles(), Names: a.GetNames()}
}

const approvalStatusPrefix = "APPROVAL_STATUS_"

// ApprovalStatus returns a status without its contract prefix: "PENDING".
func ApprovalStatus(s approvalv1.ApprovalStatus) string {
	return strings.TrimPrefix(s.String(), approvalStatusPrefix)
}

// ApprovalStatuses returns the names of all statuses, in the contract's order.
func ApprovalStatuses() []string {
	return protomap.Names(approvalv1.ApprovalStatus_name, approvalStatusPrefix)
}

// PendingApproval is a transition that waits for humans (S9.1).
type PendingApproval struct {
	ApprovalID string    `json:"approval_id"`
	Event      string    `json:"event"`
	To         string    `json:"to" doc:"The state that it leads to."`
	Message    string    `json:"message" doc:"For the approvers, as the definition has it."`
	AskedBy    string    `json:"asked_by"`
	Since      time.Time `json:"since"`
}

// LastApproval is the outcome of the last transition that humans were asked
// about and that did not fire, until the branch moves on.
type LastApproval struct {
	ApprovalID string `json:"approval_id"`
	Event      string `json:"event"`
	To         string `json:"to"`
	Outcome    string `json:"outcome" enum:"REJECTED,EXPIRED,CANCELLED,STALE"`
	Note       string `json:"note,omitzero" doc:"For the agent."`
	DecidedBy  string `json:"decided_by,omitzero"`
}

// runApprovals returns those of a run: the one that waits, or else the last one.
func runApprovals(a *enginev1.RunApproval) (pending *PendingApproval, last *LastApproval) {
	switch {
	case a == nil:
		return nil, nil
	case a.GetPending():
		return &PendingApproval{
			ApprovalID: a.GetApprovalId(), Event: a.GetEvent(), To: a.GetTo(), Message: a.GetMessage(),
			AskedBy: a.GetAskedBy(), Since: Time(a.GetSince()),
		}, nil
	default:
		return nil, &LastApproval{
			ApprovalID: a.GetApprovalId(), Event: a.GetEvent(), To: a.GetTo(),
			Outcome: protomap.Word(a.GetOutcome(), "APPROVAL_OUTCOME_"), Note: a.GetNote(), DecidedBy: a.GetDecidedBy(),
		}
	}
}
