/** Reads the answers about definitions, records, components and agents. */
import { HistoryTypeSchema, RunStatusSchema, type HistoryEntry as HistoryMessage } from "./gen/interlock/engine/v1/run_pb.js";
import type { Lease as LeaseMessage } from "./gen/interlock/approval/v1/approval_pb.js";
import { DecisionCodeSchema, DecisionSchema, type DecisionRecord as RecordMessage } from "./gen/interlock/policy/v1/decision_pb.js";
import type { Explanation } from "./gen/interlock/policy/v1/explanation_pb.js";
import type { OpenCall as OpenCallMessage } from "./gen/interlock/policy/v1/policy_enforcer_service_pb.js";
import { LimitScopeSchema, MeasureSchema, type Usage as UsageMessage } from "./gen/interlock/policy/v1/policy_pb.js";
import type { Agent as AgentMessage } from "./gen/interlock/state/v1/agent_pb.js";
import { PersistenceSchema, type Component as ComponentMessage, type Execution as ExecutionMessage } from "./gen/interlock/state/v1/component_pb.js";
import { explanationOf, time, word } from "./convert.js";
import { decode } from "./json.js";
import { identityOf } from "./who.js";
import type { Lease } from "./approval-types.js";
import type { Agent, Component, Execution } from "./state-types.js";
import type { DecisionCode, DecisionRecord, DecisionValue, Definition, HistoryEntry, OpenCall, Problem, RunStatus, Usage } from "./types.js";

export function leaseOf(l: LeaseMessage): Lease {
  return {
    id: l.leaseId, approvalId: l.approvalId, runId: l.runId, sessionId: l.sessionId, state: l.state, policy: l.policy,
    capability: l.capability, pattern: l.pattern, only: decode(l.only), callsLeft: Number(l.callsLeft), expiresAt: time(l.expiresAt), grantedBy: l.grantedBy,
  };
}

export function historyOf(h: HistoryMessage): HistoryEntry {
  const r = h.toolResult;
  return {
    type: word(HistoryTypeSchema, h.type), version: Number(h.runVersion), time: time(h.time), actor: h.actor, event: h.event, from: h.from,
    to: h.to, data: decode(h.data), rationale: h.rationale, status: word(RunStatusSchema, h.status) as RunStatus, reason: h.reason,
    branch: h.branch, sessionId: h.sessionId, approvalId: h.approvalId,
    result: r && { callId: r.callId, tool: r.tool, ok: r.ok, output: Buffer.from(r.output).toString(), evidence: r.evidence },
  };
}

export function recordOf(d: RecordMessage, explanation?: Explanation): DecisionRecord {
  return {
    partition: d.partition, sequence: Number(d.sequence), time: time(d.time), principal: d.principal, sessionId: d.sessionId, runId: d.runId,
    workflow: d.workflow, state: d.state, callId: d.callId, tool: d.tool, capability: d.capability,
    decision: word(DecisionSchema, d.decision) as DecisionValue | "", code: word(DecisionCodeSchema, d.code) as DecisionCode, message: d.message,
    policy: d.policy, rule: d.rule, approvalId: d.approvalId, identity: identityOf(d), exceptions: d.exceptions, explanation: explanationOf(explanation),
  };
}

export function openCallOf(c: OpenCallMessage): OpenCall {
  return {
    callId: c.callId, runId: c.runId, tool: c.tool, what: c.what, madeBy: c.madeBy, allowedAt: time(c.allowedAt), dueAt: time(c.dueAt),
    unknown: c.unknown,
  };
}

/** The members that all definitions have. */
interface Defined {
  name: string;
  version: bigint;
  digest: string;
  createdBy: string;
  createdAt?: Parameters<typeof time>[0];
}

export function definitionOf(
  d: Defined | undefined,
  definition: Uint8Array | undefined,
  more: { created?: boolean; warnings?: readonly Problem[] } = {},
): Definition {
  if (!d) throw new TypeError("the answer has no definition");
  return {
    name: d.name, version: Number(d.version), digest: d.digest, definition: definition && decode(definition), createdBy: d.createdBy,
    createdAt: time(d.createdAt), created: more.created ?? false,
    warnings: (more.warnings ?? []).map(({ pointer, code, message }) => ({ pointer, code, message })),
  };
}

export function usageOf(u: UsageMessage): Usage {
  return {
    capability: u.capability, measure: word(MeasureSchema, u.measure), scope: word(LimitScopeSchema, u.scope), subject: u.subject,
    used: Number(u.used), max: Number(u.max), resetsAt: time(u.resetsAt),
  };
}

export function componentOf(c: ComponentMessage | undefined): Component {
  if (!c) throw new TypeError("the answer has no component");
  return {
    slug: c.slug, name: c.name, description: c.description, tags: c.tags, schema: decode(c.schemaDefinition),
    initialValues: decode(c.initialValues), persistence: word(PersistenceSchema, c.persistence), version: Number(c.version),
  };
}

export function executionOf(e: ExecutionMessage | undefined): Execution {
  if (!e) throw new TypeError("the answer has no execution");
  return {
    id: e.executionId, slug: e.slug, values: decode(e.values), version: Number(e.version), persistence: word(PersistenceSchema, e.persistence),
    sessionId: e.sessionId, subject: e.subject, unset: e.unset,
  };
}

export function agentOf(a: AgentMessage | undefined): Agent {
  const s = a?.spec;
  if (!a || !s) throw new TypeError("the answer has no agent");
  return {
    id: a.agentId, name: s.name, modelRef: s.modelRef, instructions: s.instructions, toolRefs: s.toolRefs, stateRefs: s.stateRefs,
    workflow: s.workflow, policy: s.policy, enableConversations: s.enableConversations, version: Number(a.version),
  };
}
