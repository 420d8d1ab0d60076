/**
 * Puts tool calls of an agent before Interlock, moves runs on, and shares state with other agents.
 *
 * @packageDocumentation
 */
export { Interlock } from "./client.js";
export type { ApprovalStats, DecideOptions, QuestionCount, Statement } from "./approvals.js";
export type { ChangeOptions, Options } from "./base.js";
export type { BreakGlassOptions } from "./breakglass.js";
export type { CheckOptions, CommandOptions } from "./calls.js";
export { commandLine, type Command, type Jail, type JailOptions } from "./command.js";
export type { NewException } from "./identity.js";
export type { AgentSpec, Attachment, DefinitionText, StagedOptions, VersionOptions } from "./registry.js";
export type { LoadOptions, WaitRunOptions } from "./runs.js";
export type { NewSession, StopOptions, TokenOptions } from "./sessions.js";
export {
  AwaitingApproval, ConfigurationError, Denied, Fault, InterlockError, NotPermitted, Rejected, ReportError, Unavailable, reason,
  type Denial, type Violation,
} from "./errors.js";
export { JsonText, parse, stringify, type Json } from "./json.js";
export { add, copy, move, remove, replace, test, type Op } from "./patch.js";
export type { CallOptions } from "./retry.js";
export type { Schedule, ScheduleOutcome, ScheduleSpec, Triggered } from "./schedules.js";
export type { ApplyOptions, DefinitionKind, DefinitionSet, SetChange, SetObject, SetShadow, ShadowedObject } from "./sets.js";
export { Stream, type Streamed } from "./stream.js";
export { defaultServer, type TLS } from "./target.js";
export { Result } from "./types.js";
export type { Caller, ExceptionScope, Freeze, Halt, HaltScope, Human, Identity, PolicyException, Refusal, SessionToken } from "./who.js";
export type { Approval, ApprovalKind, ApprovalStatus, Lease, Vote } from "./approval-types.js";
export type { Agent, Change, Component, Execution, Session, SessionStatus, State, StateUpdateStatus, Stopped } from "./state-types.js";
export type {
  Branch, BranchStatus, Cost, Decision, DecisionCode, DecisionRecord, DecisionValue, Definition, Due, DueKind, Evidence, GuardResult, HistoryEntry,
  Hold, HoldCause, Interrupted, LegalEvent, OpenCall, Outcome, Ping, Problem, Report, Run, RunFreeze, RunHalt, RunStatus, StopCause, Turn, Usage,
} from "./types.js";
