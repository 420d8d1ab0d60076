/**
 * Puts tool calls of an agent before Interlock, moves runs on, and shares state with other agents.
 *
 * @packageDocumentation
 */
export { Interlock, type CheckOptions, type LoadOptions, type NewSession, type OfState, type Options, type StopOptions } from "./client.js";
export { AwaitingApproval, Denied, Fault, InterlockError, NotPermitted, Rejected, ReportError, Unavailable, reason, type Denial, type Violation } from "./errors.js";
export { JsonText, parse, stringify, type Json } from "./json.js";
export { add, copy, move, remove, replace, test, type Op } from "./patch.js";
export type { CallOptions } from "./retry.js";
export { defaultServer, type TLS } from "./target.js";
export { Result } from "./types.js";
export type {
  Approval, Branch, Change, Decision, Evidence, GuardResult, LegalEvent, Outcome, Run, Session, State, Stopped,
} from "./types.js";
