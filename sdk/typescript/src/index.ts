/**
 * Puts tool calls of an agent before Interlock, moves runs on, and shares state with other agents.
 *
 * @packageDocumentation
 */
export { Interlock } from "./client.js";
export type { DecideOptions } from "./approvals.js";
export type { ChangeOptions, Options } from "./base.js";
export type { CheckOptions, CommandOptions } from "./calls.js";
export { commandLine, type Command, type Jail, type JailOptions } from "./command.js";
export type { AgentSpec, Attachment, DefinitionText, VersionOptions } from "./registry.js";
export type { LoadOptions, WaitRunOptions } from "./runs.js";
export type { NewSession, StopOptions } from "./sessions.js";
export {
  AwaitingApproval, ConfigurationError, Denied, Fault, InterlockError, NotPermitted, Rejected, ReportError, Unavailable, reason,
  type Denial, type Violation,
} from "./errors.js";
export { JsonText, parse, stringify, type Json } from "./json.js";
export { add, copy, move, remove, replace, test, type Op } from "./patch.js";
export type { CallOptions } from "./retry.js";
export { Stream, type Streamed } from "./stream.js";
export { defaultServer, type TLS } from "./target.js";
export { Result } from "./types.js";
export type {
  Agent, Approval, ApprovalKind, ApprovalStatus, Branch, BranchStatus, Change, Component, Cost, Decision, DecisionCode, DecisionRecord,
  DecisionValue, Definition, Evidence, Execution, GuardResult, HistoryEntry, Interrupted, Lease, LegalEvent, OpenCall, Outcome, Ping, Problem,
  Report, Run, RunStatus, Session, SessionStatus, State, StateUpdateStatus, Stopped, Turn, Usage, Vote,
} from "./types.js";
