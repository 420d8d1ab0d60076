package sdk

import (
	"context"
	"strings"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	statev1 "github.com/interlock-run/interlock/gen/go/interlock/state/v1"
)

// Definition is a version of a workflow, policy, process or schema that was registered.
type Definition struct {
	Name    string
	Version int64
	// Digest is of the canonical JSON.
	Digest string
	// Created is false when exactly this was the latest version already.
	Created bool
	// Warnings name parts that are valid and probably mistakes.
	Warnings []Problem
}

// Problem is a finding about a definition.
type Problem struct {
	// Pointer is a JSON Pointer (RFC 6901) into the definition.
	Pointer, Code, Message string
}

// RegisterWorkflow registers a workflow: JSON, or a value that encodes to it.
func (g *registryGroup) RegisterWorkflow(ctx context.Context, definition any, opts ...ChangeOption) (Definition, error) {
	body, err := encode("workflow", text(definition))
	if err != nil {
		return Definition{}, err
	}
	resp, err := retry(ctx, g.workflows.RegisterWorkflow, &enginev1.RegisterWorkflowRequest{Definition: body, IdempotencyKey: keyOf(opts), Staged: staged(opts)})
	w := resp.GetWorkflow()
	return Definition{w.GetName(), w.GetVersion(), w.GetDigest(), resp.GetCreated(), each(resp.GetWarnings(), problemOf)}, err
}

// RegisterProcess registers a process: JSON, or a value that encodes to it.
func (g *registryGroup) RegisterProcess(ctx context.Context, definition any, opts ...ChangeOption) (Definition, error) {
	body, err := encode("process", text(definition))
	if err != nil {
		return Definition{}, err
	}
	resp, err := retry(ctx, g.processes.RegisterProcess, &enginev1.RegisterProcessRequest{Definition: body, IdempotencyKey: keyOf(opts), Staged: staged(opts)})
	p := resp.GetProcess()
	return Definition{p.GetName(), p.GetVersion(), p.GetDigest(), resp.GetCreated(), each(resp.GetWarnings(), problemOf)}, err
}

// RegisterPolicy registers a policy, as an operator: JSON, or a value that encodes to it. An empty name is
// that of the definition. Unless it is staged, it is live at once, and judges the calls of its attachments: see [Client.AttachPolicy].
func (g *registryGroup) RegisterPolicy(ctx context.Context, name string, definition any, opts ...ChangeOption) (Definition, error) {
	body, err := encode("policy", text(definition))
	if err != nil {
		return Definition{}, err
	}
	resp, err := retry(ctx, g.policies.RegisterPolicy, &policyv1.RegisterPolicyRequest{Name: name, Definition: body, IdempotencyKey: keyOf(opts), Staged: staged(opts)})
	p := resp.GetPolicy()
	return Definition{Name: p.GetName(), Version: p.GetVersion(), Digest: p.GetDigest(), Created: resp.GetCreated(), Warnings: each(resp.GetWarnings(), policyProblemOf)}, err
}

// RegisterSchema registers a JSON Schema of shared state, as an operator: JSON, or a value that encodes to it.
func (g *registryGroup) RegisterSchema(ctx context.Context, name string, schema any, opts ...ChangeOption) (Definition, error) {
	body, err := encode("schema", text(schema))
	if err != nil {
		return Definition{}, err
	}
	resp, err := retry(ctx, g.schemas.RegisterSchema, &statev1.RegisterSchemaRequest{Name: name, JsonSchema: body, IdempotencyKey: keyOf(opts)})
	s := resp.GetSchema()
	return Definition{Name: s.GetName(), Version: s.GetVersion(), Digest: s.GetDigest(), Created: resp.GetCreated()}, err
}

// text takes a definition that is a text for JSON.
func text(definition any) any {
	if s, is := definition.(string); is {
		return []byte(s)
	}
	return definition
}

func problemOf(p *enginev1.Problem) Problem {
	return Problem{Pointer: p.GetPointer(), Code: p.GetCode(), Message: p.GetMessage()}
}

func policyProblemOf(p *policyv1.PolicyProblem) Problem {
	return Problem{Pointer: p.GetPointer(), Code: p.GetCode(), Message: p.GetMessage()}
}

// Attachment names a subject of a policy: a workflow, process, session, agent, role, principal, human or group by its
// name, or everyone.
type Attachment = policyv1.Attachment

// AttachTo names the subject of a policy. kind is "workflow", "process", "session", "agent", "role", "principal", "human",
// "group" or "everyone", which has no id.
func AttachTo(kind, id string) *Attachment {
	number := policyv1.AttachmentKind_value["ATTACHMENT_KIND_"+strings.ToUpper(kind)]
	return &Attachment{Kind: policyv1.AttachmentKind(number), Id: id}
}

// AttachPolicy makes a policy hold for subjects, in one commit, as an operator.
func (g *registryGroup) AttachPolicy(ctx context.Context, name string, to ...*Attachment) error {
	_, err := retry(ctx, g.policies.AttachPolicy, &policyv1.AttachPolicyRequest{Name: name, To: to})
	return err
}

// DetachPolicy makes a policy hold for subjects no longer, in one commit, as an operator.
func (g *registryGroup) DetachPolicy(ctx context.Context, name string, from ...*Attachment) error {
	_, err := retry(ctx, g.policies.DetachPolicy, &policyv1.DetachPolicyRequest{Name: name, From: from})
	return err
}
