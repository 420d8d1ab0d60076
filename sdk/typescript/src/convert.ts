import { toJson, type DescEnum } from "@bufbuild/protobuf";
import { durationMs, timestampDate, type Timestamp } from "@bufbuild/protobuf/wkt";
import { ApprovalKindSchema, ApprovalStatus, ApprovalStatusSchema, type Approval as ApprovalMessage } from "./gen/interlock/approval/v1/approval_pb.js";
import {
  BranchStatusSchema,
  GuardOperatorSchema,
  HoldCauseSchema,
  RejectionCodeSchema,
  RunStatus,
  RunStatusSchema,
  type GuardResult as GuardMessage,
  type LegalEvent as LegalEventMessage,
  type Rejection,
  type Run as RunMessage,
} from "./gen/interlock/engine/v1/run_pb.js";
import type { ForceStateResponse, TransitionRunResponse } from "./gen/interlock/engine/v1/run_service_pb.js";
import { Decision as DecisionKind, DecisionCodeSchema } from "./gen/interlock/policy/v1/decision_pb.js";
import { ExplanationSchema, type Explanation } from "./gen/interlock/policy/v1/explanation_pb.js";
import type { CheckToolCallResponse, ReportToolCallResponse } from "./gen/interlock/policy/v1/policy_enforcer_service_pb.js";
import { SessionStatusSchema, StateUpdateStatusSchema, type Session as SessionMessage } from "./gen/interlock/state/v1/session_pb.js";
import { StateChangeTypeSchema, type State as StateMessage, type StateVersion } from "./gen/interlock/state/v1/state_pb.js";
import type { GetStateResponse } from "./gen/interlock/state/v1/state_service_pb.js";
import { AwaitingApproval, Denied, Rejected, Unavailable } from "./errors.js";
import { decode, text, type Json } from "./json.js";
import type { Approval, ApprovalKind, ApprovalStatus as ApprovalWord } from "./approval-types.js";
import type { Change, Session, SessionStatus, State, StateUpdateStatus } from "./state-types.js";
import type {
  BranchStatus, Decision, DecisionCode, DueKind, GuardResult, HoldCause, LegalEvent, Report, Run, RunStatus as RunWord, StopCause,
} from "./types.js";
import { humanOf } from "./who.js";

/** A value of an enum without its prefix, empty for unspecified; a number for one that this version does not know. */
export function word(desc: DescEnum, value: number): string {
  if (value === 0) return "";
  const found = desc.value[value];
  return found ? found.name.slice((desc.sharedPrefix ?? "").length) : String(value);
}

export function time(stamp: Timestamp | undefined): Date | undefined {
  return stamp && timestampDate(stamp);
}

function events(list: readonly LegalEventMessage[]): LegalEvent[] {
  return list.map(({ event, targets, guards, requiresApproval, frozen }) => ({ event, targets, guards, requiresApproval, frozen }));
}

export function explanationOf(e: Explanation | undefined): Json | undefined {
  return e && (toJson(ExplanationSchema, e, { useProtoFieldName: true }) as Json);
}

/**
 * Reads a decision. Anything but ALLOW, ASK or DENY, or an ALLOW of another call, is an Unavailable. Policies alone judge calls of a
 * session that drives no run: such an ALLOW has no run, and is reported by its session.
 */
export function decisionOf(asked: { tool: string; callId: string; sessionId: string; dryRun: boolean; jailLevel: number }, r: CheckToolCallResponse): Decision {
  const { tool, callId, sessionId, dryRun } = asked;
  const kinds: { readonly [kind: number]: Decision["decision"] } = {
    [DecisionKind.ALLOW]: "ALLOW",
    [DecisionKind.ASK]: "ASK",
    [DecisionKind.DENY]: "DENY",
  };
  const decision = kinds[r.decision];
  if (decision === undefined) {
    throw new Unavailable(`the call was not made: this version does not know the decision ${r.decision}`, { callId });
  }
  if (decision === "ALLOW" && !dryRun && (r.callId !== callId || (r.runId === "" && sessionId === ""))) {
    throw new Unavailable("the call was not made: the response was for another call", { callId });
  }
  if (decision === "ALLOW" && r.jail && asked.jailLevel === 0) {
    throw new Unavailable("the call was not made: the server demands a jail for it, which only guardCommand has", { callId });
  }
  return {
    decision,
    tool,
    callId: dryRun ? "" : callId,
    runId: r.runId,
    sessionId,
    code: word(DecisionCodeSchema, r.code) as DecisionCode,
    message: r.message,
    allowedTools: r.allowedTools,
    toolsRestricted: r.toolsRestricted,
    legalEvents: events(r.legalEvents),
    approvalId: r.approvalId,
    state: r.state,
    branch: r.branch,
    iterations: Number(r.iterations),
    maxIterations: Number(r.maxIterations),
    dryRun,
    jail: r.jail && { level: r.jail.level, digest: r.jail.digest },
    explanation: explanationOf(r.explanation),
  };
}

/** Throws unless a decision is ALLOW: Denied, Unavailable or AwaitingApproval. */
export function refuse(decision: Decision): void {
  switch (decision.decision) {
    case "ALLOW":
      return;
    case "ASK":
      throw new AwaitingApproval(decision);
    default:
      if (decision.code === "POLICY_UNAVAILABLE") throw new Unavailable(decision.message, { callId: decision.callId, retriable: true });
      throw new Denied(decision);
  }
}

export function reportOf(r: ReportToolCallResponse): Report {
  return {
    accounted: r.accounted,
    interrupt: r.interrupt && { name: r.interrupt.name, from: r.interrupt.from, to: r.interrupt.to, notice: r.interrupt.notice },
    warning: r.warning,
    evidence: r.evidence,
    run: r.run && runOf(r.run),
    notice: [r.interrupt?.notice, r.warning].filter(Boolean).join("\n"),
  };
}

export function runOf(r: RunMessage | undefined, more: { resumed?: boolean; note?: string } = {}): Run {
  if (!r) throw new TypeError("the answer has no run");
  const status = word(RunStatusSchema, r.status) as RunWord;
  const rules = r.rules;
  return {
    id: r.runId,
    workflow: r.workflow,
    workflowVersion: Number(r.workflowVersion),
    status,
    state: r.state,
    ended: ["COMPLETED", "FAILED", "BLOCKED", "CANCELLED"].includes(status),
    context: decode(r.context) ?? {},
    contextJson: text(r.context),
    version: Number(r.version),
    transitionCount: Number(r.transitionCount),
    sessionId: r.sessionId,
    workspace: r.workspace,
    instructions: rules?.instructions ?? "",
    legalEvents: events(rules?.legalEvents ?? []),
    evidence: r.evidence.map((e) => ({
      name: e.name,
      held: e.held,
      since: time(e.since),
      voidedBy: e.voidedBy,
      missing: e.missing,
      needs: e.needs,
      tree: e.tree,
    })),
    toolsRestricted: rules?.toolsRestricted ?? false,
    allowedTools: rules?.allowedTools ?? [],
    disallowedTools: rules?.disallowedTools ?? [],
    iterations: Number(r.usage?.iterations ?? 0),
    maxIterations: Number(rules?.maxIterations ?? 0),
    envOverrides: Object.fromEntries((rules?.envOverrides ?? []).map((v) => [v.name, v.value])),
    blockedEnv: rules?.blockedEnv ?? [],
    branch: r.branch,
    branches: (r.fork?.branches ?? []).map((b) => ({
      name: b.name,
      status: word(BranchStatusSchema, b.status) as BranchStatus,
      state: b.state,
      sessionId: b.sessionId,
    })),
    interrupt: r.interrupt?.name ?? "",
    returnTo: r.interrupt?.returnTo ?? "",
    parentId: r.parentRunId,
    halt: r.halt && { id: r.halt.haltId, scope: r.halt.scope, reason: r.halt.reason, createdBy: r.halt.createdBy, createdAt: time(r.halt.createdAt) },
    freeze: r.freeze && { id: r.freeze.freezeId, reason: r.freeze.reason, createdBy: r.freeze.createdBy, until: time(r.freeze.until) },
    resumed: more.resumed ?? false,
    note: more.note ?? "",
    createdAt: time(r.createdAt),
    updatedAt: time(r.updatedAt),
    schedule: r.schedule,
    arrivedAt: time(r.arrivedAt),
    deadline: time(r.deadline),
    lastActivity: time(r.lastActivity),
    dues: r.dues.map((d) => ({
      kind: d.kind as DueKind,
      event: d.event,
      branch: d.branch,
      afterSeconds: d.after ? durationMs(d.after) / 1000 : 0,
      at: time(d.at),
      stoppedBy: d.stoppedBy as StopCause,
      leftSeconds: d.left ? durationMs(d.left) / 1000 : 0,
      blocked: d.blocked,
      targets: d.targets,
      holds: d.holds,
    })),
    holds: r.holds.map((h) => ({ by: h.by, cause: word(HoldCauseSchema, h.cause).toLowerCase() as HoldCause, reason: h.reason, since: time(h.since) })),
  };
}

function guardOf(g: GuardMessage): GuardResult {
  return {
    name: g.name,
    field: g.field,
    op: word(GuardOperatorSchema, g.operator).toLowerCase(),
    expected: decode(g.expected),
    actual: decode(g.actual),
    passed: g.passed,
  };
}

/** Reads the answer to a forced state. Throws Rejected. */
export function forced(r: ForceStateResponse): Run {
  if (r.accepted) return runOf(r.run);
  throw rejected(r.rejection);
}

function rejected(rejection: Rejection | undefined): Rejected {
  return new Rejected({
    code: word(RejectionCodeSchema, rejection?.code ?? 0),
    message: rejection?.message ?? "the event was not accepted",
    guards: (rejection?.guards ?? []).map(guardOf),
    legalEvents: events(rejection?.legalEvents ?? []),
    state: rejection?.state ?? "",
    status: word(RunStatusSchema, rejection?.status ?? 0),
  });
}

/** Reads the answer to an event. Throws Rejected or AwaitingApproval. */
export function moved(r: TransitionRunResponse): Run {
  const rejection = r.rejection;
  const parked = !r.accepted || r.run?.status === RunStatus.AWAITING_APPROVAL;
  if (r.approvalId !== "" && !rejection && parked) {
    throw new AwaitingApproval({
      code: "APPROVAL_REQUIRED",
      message: "a human must approve this transition first",
      approvalId: r.approvalId,
      ...(r.run && { run: runOf(r.run, { note: r.note }) }),
    });
  }
  if (r.accepted) return runOf(r.run, { note: r.note });
  throw rejected(rejection);
}

export function stateOf(s: StateMessage | undefined, parts: GetStateResponse["parts"] = []): State {
  if (!s) throw new TypeError("the answer has no state");
  return {
    id: s.stateId,
    schemaName: s.schemaName,
    schemaVersion: Number(s.schemaVersion),
    rootSessionId: s.rootSessionId,
    rootSessionName: s.rootSessionName,
    version: Number(s.version),
    data: decode(s.data),
    dataJson: text(s.data),
    parts: new Map(parts.filter((p) => p.found).map((p) => [p.pointer, decode(p.value) ?? null])),
    updatedBy: s.updatedBy,
    createdAt: time(s.createdAt),
    updatedAt: time(s.updatedAt),
  };
}

export function changeOf(stateId: string, v: StateVersion): Change {
  return {
    stateId,
    version: Number(v.version),
    time: time(v.time),
    sessionId: v.sessionId,
    sessionName: v.sessionName,
    actor: v.actor,
    type: word(StateChangeTypeSchema, v.type).toLowerCase(),
    patch: decode(v.patch),
    schemaVersion: Number(v.schemaVersion),
    deleted: false,
  };
}

export function deletedChange(stateId: string): Change {
  return {
    stateId, version: 0, time: undefined, sessionId: "", sessionName: "", actor: "", type: "", patch: undefined, schemaVersion: 0,
    deleted: true,
  };
}

export function sessionOf(s: SessionMessage | undefined): Session {
  if (!s) throw new TypeError("the answer has no session");
  return {
    id: s.sessionId,
    name: s.name,
    parentId: s.parentSessionId,
    rootId: s.rootSessionId,
    status: word(SessionStatusSchema, s.status) as SessionStatus,
    stateId: s.workflowStateId,
    stateUpdate: word(StateUpdateStatusSchema, s.stateUpdateStatus) as StateUpdateStatus,
    openChildren: Number(s.openChildren),
    labels: s.labels,
    agent: s.agent,
    only: decode(s.only),
    human: humanOf(s.human),
    error: s.error,
    createdAt: time(s.createdAt),
    updatedAt: time(s.updatedAt),
  };
}

export function approvalOf(a: ApprovalMessage): Approval {
  return {
    id: a.approvalId,
    status: word(ApprovalStatusSchema, a.status) as ApprovalWord,
    granted: a.status === ApprovalStatus.GRANTED || a.status === ApprovalStatus.USED,
    kind: word(ApprovalKindSchema, a.kind) as ApprovalKind,
    message: a.message,
    reason: a.reason,
    outcome: a.outcome,
    runId: a.runId,
    principal: a.asker?.principal ?? "",
    sessionId: a.asker?.sessionId ?? "",
    by: a.by,
    expiresAt: time(a.expiresAt),
    subject: decode(a.subject),
    data: decode(a.editedData.length > 0 ? a.editedData : a.data),
    editable: a.editable,
    digest: a.digest,
    votes: a.votes.map((vote) => ({ by: vote.by, approve: vote.approve, note: vote.note, time: time(vote.time) })),
    createdAt: time(a.createdAt),
    decidedAt: time(a.decidedAt),
    usedBy: a.usedBy,
    mayDecide: a.you?.mayDecide ?? false,
  };
}
