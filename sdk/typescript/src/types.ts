import type { Jail } from "./command.js";
import type { Json } from "./json.js";
import type { Identity } from "./who.js";

// The words of the contracts. A server that is newer than this package may send others.

/** The answer to a tool call. */
export type DecisionValue = "ALLOW" | "ASK" | "DENY";
/** Why a tool call was not allowed; empty when it was, or NOT_ENFORCED. */
export type DecisionCode =
  | "" | "TOOL_NOT_ALLOWED" | "TOOL_DISALLOWED" | "COMMAND_NOT_ALLOWED" | "COMMAND_UNPARSABLE" | "COMMAND_WRITES" | "ENV_BLOCKED"
  | "EDIT_TOO_LARGE" | "TOO_MANY_FILES" | "MAX_ITERATIONS" | "CONTEXT_BUDGET" | "RUN_NOT_ACTIVE" | "INVALID_INPUT" | "POLICY_DENIED"
  | "RATE_LIMITED" | "BUDGET_EXCEEDED" | "EMAIL_DENIED" | "APPROVAL_REQUIRED" | "APPROVAL_PENDING" | "POLICY_UNAVAILABLE"
  | "COMMAND_UNKNOWN" | "SELF_PROTECTED" | "NOT_ENFORCED" | "EFFECTS_UNKNOWN" | "ACTS_ELSEWHERE" | "SIGNALS_PROCESS"
  | "CALLER_DENIED" | "JAIL_REQUIRED" | "CALL_UNCLEAR" | "CALL_NOT_ALLOWED" | "NARROWED" | "HALTED" | "UNGOVERNED";
/** The status of a run (S6.1). */
export type RunStatus =
  | "" | "RUNNING" | "WAITING" | "AWAITING_APPROVAL" | "PAUSED" | "COMPLETED" | "FAILED" | "BLOCKED" | "CANCELLED" | "HELD";
/** The status of a branch (S5.1). */
export type BranchStatus = "" | "ACTIVE" | "SUCCEEDED" | "FAILED" | "CANCELLED";
/** What a clock makes due (S25). */
export type DueKind = "deadline" | "fork" | "after" | "stale" | "remind";
/** Why a clock stands still (S25.2). */
export type StopCause = "" | "hold" | "pause" | "approval" | "branches";
/** Why a run is held (S6.2). */
export type HoldCause = "" | "operator" | "session_end" | "stale";

/** One event that a state defines. */
export interface LegalEvent {
  readonly event: string;
  /** All states that it may lead to, in definition order. */
  readonly targets: readonly string[];
  /** All guards that it may evaluate, in order. */
  readonly guards: readonly string[];
  readonly requiresApproval: boolean;
  /** True while a freeze stops it (S25.12). */
  readonly frozen: boolean;
}

/** Stops the work of a run until an operator lifts it (S23.41). */
export interface RunHalt {
  readonly id: string;
  /** In words, such as workflow "deploy". */
  readonly scope: string;
  readonly reason: string;
  readonly createdBy: string;
  readonly createdAt: Date | undefined;
}

/** Stops some transitions of a run until a time (S25.12). */
export interface RunFreeze {
  readonly id: string;
  readonly reason: string;
  readonly createdBy: string;
  readonly until: Date | undefined;
}

/** The outcome of one guard (S2.3). */
export interface GuardResult {
  readonly name: string;
  readonly field: string;
  readonly op: string;
  /** undefined when the operator takes no value. */
  readonly expected: Json | undefined;
  /** undefined when the field is missing. */
  readonly actual: Json | undefined;
  readonly passed: boolean;
}

/** The answer to one tool call. It is ALLOW only for exactly the call that was asked about: no other answer becomes one. */
export interface Decision {
  readonly decision: DecisionValue;
  readonly tool: string;
  /** Id of the call, for its report. */
  readonly callId: string;
  /** The run that judged the call; empty where policies alone judged it. */
  readonly runId: string;
  /** The session that asked: a call without a run is reported by it. */
  readonly sessionId: string;
  /** Why. Of an allowed call it is empty, or NOT_ENFORCED where no rule of a state has judged it. */
  readonly code: DecisionCode;
  /** One sentence for the agent; of NOT_ENFORCED the reason: the run is paused by its agent or has ended, or there is none. */
  readonly message: string;
  readonly allowedTools: readonly string[];
  readonly toolsRestricted: boolean;
  readonly legalEvents: readonly LegalEvent[];
  readonly approvalId: string;
  readonly state: string;
  readonly branch: string;
  readonly iterations: number;
  readonly maxIterations: number;
  /** It was asked about only: the call must not be made on the strength of it. */
  readonly dryRun: boolean;
  /** The jail of a command that `guardCommand` has asked about; undefined for none. */
  readonly jail: Jail | undefined;
  /** With `explain`, the reasons of the decision and the changes that would alter it: the contract's Explanation, as JSON. */
  readonly explanation: Json | undefined;
}

/** The outcome of a tool call, for its report. */
export interface Outcome {
  /** The answer of the tool. Its first 64 KiB are sent, and kept where the workflow says so (S6.4). */
  output?: string | Uint8Array;
  /** Its bytes in the context budget (S3.7); the length of the output when absent or 0. */
  bytes?: number;
  /** Files in addition to those that the input names; they can fire interrupts (S4.1). */
  filesChanged?: readonly string[];
  /** Decimal US dollars, such as "0.02". */
  costUsd?: string;
  /** The end of the call is not known, such as after a time-out: then it is no evidence, even if it is reported as ok (S14.5). */
  outcomeUnknown?: boolean;
  /** The caller's name of a program that the call has left running in the background: the call stays open (S14.6). */
  background?: string;
  /** The name of such a program of an earlier call, where this result shows that it has ended. */
  backgroundEnded?: string;
}

/** An interrupt that a tool call has fired (S4). */
export interface Interrupted {
  readonly name: string;
  /** The state that was left. */
  readonly from: string;
  /** The state of the handler. */
  readonly to: string;
  readonly notice: string;
}

/** The answer to the report of a tool call. */
export interface Report {
  /** False when no such call was allowed (S3.9). */
  readonly accounted: boolean;
  readonly interrupt: Interrupted | undefined;
  /** For the agent, such as that its context budget is nearly spent; often empty. */
  readonly warning: string;
  /** Names of the evidence that the report has given (S14). */
  readonly evidence: readonly string[];
  /** The run as it stands now; undefined where no run judged the call. */
  readonly run: Run | undefined;
  /** For the agent to read with the output: the notice of the interrupt, then the warning; often empty. */
  readonly notice: string;
}

/** The outcome of a tool call. A guarded function may return one, to say more than its value. */
export class Result<T = unknown> implements Outcome {
  readonly output: string | Uint8Array;
  readonly bytes: number;
  readonly filesChanged: readonly string[];
  readonly costUsd: string;
  readonly outcomeUnknown: boolean;
  readonly background: string;
  readonly backgroundEnded: string;
  /** The value that the function has returned. */
  readonly value: T;
  /** For the agent to read with the output: an interrupt that the call has fired, a budget that is nearly spent. Set by `guard`. */
  readonly notice: string;
  /** The answer to the report. Set by `guard`; undefined of a stream, whose `report` is there when it has ended. */
  readonly report: Report | undefined;
  constructor(outcome: Outcome & { value?: T; report?: Report | undefined } = {}) {
    this.output = outcome.output ?? "";
    this.bytes = outcome.bytes ?? 0;
    this.filesChanged = outcome.filesChanged ?? [];
    this.costUsd = outcome.costUsd ?? "";
    this.outcomeUnknown = outcome.outcomeUnknown ?? false;
    this.background = outcome.background ?? "";
    this.backgroundEnded = outcome.backgroundEnded ?? "";
    this.value = outcome.value as T;
    this.report = outcome.report;
    this.notice = outcome.report?.notice ?? "";
  }
}

/** One branch of a fork (S5.1). */
export interface Branch {
  readonly name: string;
  readonly status: BranchStatus;
  readonly state: string;
  /** The session that it was given to; empty for none. */
  readonly sessionId: string;
}

/** Facts that Interlock has observed, and that agents cannot claim (S14). */
export interface Evidence {
  readonly name: string;
  /** It counts now. */
  readonly held: boolean;
  /** When it was observed; undefined while it is not held. */
  readonly since: Date | undefined;
  /** The cause that has voided it; empty for none. */
  readonly voidedBy: string;
  /** The missing part and how to get it; empty while it is held. */
  readonly missing: string;
  /** Its requirements. */
  readonly needs: string;
  /** Digest of the files that it was witnessed on; empty when it is not bound to them. */
  readonly tree: string;
}

/** One instance of a workflow, as far as its agent must know it. */
export interface Run {
  readonly id: string;
  readonly workflow: string;
  readonly workflowVersion: number;
  /** PAUSED is by its agent, HELD by an operator or the end of its session (S6.1). */
  readonly status: RunStatus;
  readonly state: string;
  /** The run continues no more. */
  readonly ended: boolean;
  /** Integers that a number cannot hold are bigint. */
  readonly context: Json;
  /** The context as the server has sent it. */
  readonly contextJson: string;
  /** Bumped by every change. */
  readonly version: number;
  readonly transitionCount: number;
  readonly sessionId: string;
  readonly workspace: string;
  readonly instructions: string;
  readonly legalEvents: readonly LegalEvent[];
  /** The observations that the workflow asks for, and whether Interlock has made them. */
  readonly evidence: readonly Evidence[];
  /** False when the state lets all tools pass. */
  readonly toolsRestricted: boolean;
  readonly allowedTools: readonly string[];
  readonly disallowedTools: readonly string[];
  /** The allowed tool calls in this entry of the state. */
  readonly iterations: number;
  /** 0 for no limit. */
  readonly maxIterations: number;
  /** Variables to set in the environment of tools (S3.4). */
  readonly envOverrides: Readonly<Record<string, string>>;
  /** Variables to remove from it. */
  readonly blockedEnv: readonly string[];
  /** The branch that the state is of; empty outside of forks. */
  readonly branch: string;
  readonly branches: readonly Branch[];
  /** The interrupt whose handler is at work; empty for none. */
  readonly interrupt: string;
  /** The state that `$return` leads to (S4.2). */
  readonly returnTo: string;
  /** The run that invoked this one; empty for none. */
  readonly parentId: string;
  /** The freeze that the run is under; `legalEvents` say what it stops. */
  readonly freeze: RunFreeze | undefined;
  /** The halt that stops its work; undefined for none. */
  readonly halt: RunHalt | undefined;
  /** `load` has continued a paused run. */
  readonly resumed: boolean;
  /** Why an accepted event had no effect; empty otherwise. */
  readonly note: string;
  readonly createdAt: Date | undefined;
  readonly updatedAt: Date | undefined;
  /** The schedule that has started the run; empty for none. */
  readonly schedule: string;
  /** When the run came to its state from another one: the clock of the state counts from there (S25.1). */
  readonly arrivedAt: Date | undefined;
  /** The latest time at which the run ends (S25.8); undefined for never. */
  readonly deadline: Date | undefined;
  /** When the run made progress last, to the second; undefined of a run that is not active, and in the answers of changes. */
  readonly lastActivity: Date | undefined;
  /** What time will bring about, the soonest first, as things stand now; those whose clock stands still are last. */
  readonly dues: readonly Due[];
  /** The causes of a run that is HELD (S6.2). */
  readonly holds: readonly Hold[];
}

/** One thing that time brings about in a run, and when (S25). */
export interface Due {
  readonly kind: DueKind;
  /** That of the transition, such as $after:2h; empty for a reminder. */
  readonly event: string;
  /** Empty outside of forks. */
  readonly branch: string;
  /** The time on the clock at which it is due: of a deadline since the run began, of a silence since the last progress. */
  readonly afterSeconds: number;
  /** When it is due, if no clock stands still before; undefined while its clock stands still. */
  readonly at: Date | undefined;
  /** Why its clock stands still; empty while the clock runs (S25.2). */
  readonly stoppedBy: StopCause;
  /** The time that is left on a clock that stands still. */
  readonly leftSeconds: number;
  /** It was due, and no guard let it through: it is tried again. */
  readonly blocked: boolean;
  /** The states that it may lead to, in definition order. */
  readonly targets: readonly string[];
  /** The run is held after this silence. */
  readonly holds: boolean;
}

/** A cause that keeps a run HELD until it is lifted (S6.2). */
export interface Hold {
  /** Name of the principal that holds it. */
  readonly by: string;
  readonly cause: HoldCause;
  readonly reason: string;
  readonly since: Date | undefined;
}

/** One change of a run, or one tool result (S6.4). */
export interface HistoryEntry {
  /** UPPER_SNAKE, such as TRANSITIONED or TOOL_RESULT. */
  readonly type: string;
  /** The run's version after the change. */
  readonly version: number;
  readonly time: Date | undefined;
  readonly actor: string;
  readonly event: string;
  /** The state that was left; empty for none. */
  readonly from: string;
  /** The state that was entered; empty for none. */
  readonly to: string;
  readonly data: Json | undefined;
  readonly rationale: string;
  readonly status: RunStatus;
  readonly reason: string;
  readonly branch: string;
  readonly sessionId: string;
  readonly approvalId: string;
  /** Of a tool result; undefined otherwise. */
  readonly result: { readonly callId: string; readonly tool: string; readonly ok: boolean; readonly output: string; readonly evidence: readonly string[] } | undefined;
}

/** One decision as the log keeps it. */
export interface DecisionRecord {
  /** The root run, whose decisions are one hash chain. */
  readonly partition: string;
  readonly sequence: number;
  readonly time: Date | undefined;
  readonly principal: string;
  readonly sessionId: string;
  readonly runId: string;
  readonly workflow: string;
  readonly state: string;
  readonly callId: string;
  readonly tool: string;
  readonly capability: string;
  readonly decision: DecisionValue | "";
  readonly code: DecisionCode;
  readonly message: string;
  /** The policy that decided; empty when the state did. */
  readonly policy: string;
  /** The rule that decided; empty when the state did. */
  readonly rule: string;
  readonly approvalId: string;
  /** Who made the call, as it was known then; it stays when sessions, agents and people are gone. */
  readonly identity: Identity | undefined;
  /** Ids of the exceptions by which the call has passed rules of policies. */
  readonly exceptions: readonly string[];
  /** Where it was asked for: the Explanation of the contract, as JSON. */
  readonly explanation: Json | undefined;
}

/** An allowed call that has no reported outcome, where the workflow keeps account of effects (S16). */
export interface OpenCall {
  readonly callId: string;
  readonly runId: string;
  readonly tool: string;
  /** A file or a command line, shortened and masked; may be empty. */
  readonly what: string;
  readonly madeBy: string;
  readonly allowedAt: Date | undefined;
  /** When it becomes unknown, or has become so. */
  readonly dueAt: Date | undefined;
  readonly unknown: boolean;
}

/** A cost of a session that is in no call's report (S15.1). */
export interface Cost {
  /** Names it, such as the id of a message: a cost with an id that the session had before does not count, unless it is a total. */
  readonly id: string;
  /** Decimal US dollars. */
  readonly usd: string;
  /** It is the id's cost in all until now. */
  readonly total?: boolean;
}

/** One finding about a definition. */
export interface Problem {
  readonly pointer: string;
  readonly code: string;
  readonly message: string;
}

/** One version of a workflow, a process, a policy or a schema. */
export interface Definition {
  readonly name: string;
  readonly version: number;
  readonly digest: string;
  /** undefined where an answer leaves it out. */
  readonly definition: Json | undefined;
  readonly createdBy: string;
  readonly createdAt: Date | undefined;
  /** Registering it has made this version; false when it was the latest already. */
  readonly created: boolean;
  readonly warnings: readonly Problem[];
}

/** How much of a limit of a policy is spent. */
export interface Usage {
  readonly capability: string;
  readonly measure: string;
  readonly scope: string;
  readonly subject: string;
  readonly used: number;
  readonly max: number;
  readonly resetsAt: Date | undefined;
}

/** Where a process stands: its question, and the answers to it (S8). */
export interface Turn {
  readonly run: Run;
  readonly question: string;
  readonly answers: readonly string[];
  readonly text: string;
  /** Only of the first turn. */
  readonly initialPrompt: string;
}

/** A server that answers this client. */
export interface Ping {
  /** Its address. */
  readonly server: string;
  readonly namespace: string;
  readonly session: string;
  /** The run that judges the client's calls; undefined for none. */
  readonly run: Run | undefined;
  /** Its id; empty for none. */
  readonly runId: string;
}
