import type { Json } from "./json.js";

/** One event that a state defines. */
export interface LegalEvent {
  readonly event: string;
  /** All states that it may lead to, in definition order. */
  readonly targets: readonly string[];
  /** All guards that it may evaluate, in order. */
  readonly guards: readonly string[];
  readonly requiresApproval: boolean;
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
  readonly decision: "ALLOW" | "ASK" | "DENY";
  readonly tool: string;
  /** What the result is reported with. */
  readonly callId: string;
  readonly runId: string;
  /** Why. Of an allowed call it is empty, or NOT_ENFORCED where no rule of a state has judged it. */
  readonly code: string;
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
}

/** What a tool call has brought about, for its report. */
export interface Outcome {
  /** What the tool answered. Its first 64 KiB are sent, and kept where the workflow says so (S6.4). */
  output?: string | Uint8Array;
  /** What it costs of the context budget (S3.7); the length of the output when absent or 0. */
  bytes?: number;
  /** Files in addition to those that the input names; they can fire interrupts (S4.1). */
  filesChanged?: readonly string[];
  /** Decimal US dollars, such as "0.02". */
  costUsd?: string;
}

/** The outcome of a tool call. A guarded function may return one, to say more than its value. */
export class Result<T = unknown> implements Outcome {
  readonly output: string | Uint8Array;
  readonly bytes: number;
  readonly filesChanged: readonly string[];
  readonly costUsd: string;
  /** What the function has returned. */
  readonly value: T;
  /** For the agent to read with the output: an interrupt that the call has fired, a budget that is nearly spent. Set by `guard`. */
  readonly notice: string;
  constructor(outcome: Outcome & { value?: T; notice?: string } = {}) {
    this.output = outcome.output ?? "";
    this.bytes = outcome.bytes ?? 0;
    this.filesChanged = outcome.filesChanged ?? [];
    this.costUsd = outcome.costUsd ?? "";
    this.value = outcome.value as T;
    this.notice = outcome.notice ?? "";
  }
}

/** One branch of a fork (S5.1). */
export interface Branch {
  readonly name: string;
  /** "ACTIVE", "SUCCEEDED", "FAILED" or "CANCELLED". */
  readonly status: string;
  readonly state: string;
  /** The session that it was given to; empty for none. */
  readonly sessionId: string;
}

/** One instance of a workflow, as far as its agent must know it. */
/** What Interlock has observed, and agents cannot claim (S14). */
export interface Evidence {
  readonly name: string;
  /** It counts now. */
  readonly held: boolean;
  /** When it was observed; undefined while it is not held. */
  readonly since: Date | undefined;
  /** What has voided it; empty for nothing. */
  readonly voidedBy: string;
  /** What is missing and how to get it; empty while it is held. */
  readonly missing: string;
  /** What it takes. */
  readonly needs: string;
}

export interface Run {
  readonly id: string;
  readonly workflow: string;
  readonly workflowVersion: number;
  /** UPPER_SNAKE, such as "RUNNING", "PAUSED" by its agent, or "HELD" by an operator or the end of its session (S6.1). */
  readonly status: string;
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
  /** What the workflow wants Interlock to have observed, and whether it has. */
  readonly evidence: readonly Evidence[];
  /** False when the state lets all tools pass. */
  readonly toolsRestricted: boolean;
  readonly allowedTools: readonly string[];
  readonly disallowedTools: readonly string[];
  /** The allowed tool calls in this entry of the state. */
  readonly iterations: number;
  /** 0 for no limit. */
  readonly maxIterations: number;
  /** What to set in the environment of tools (S3.4). */
  readonly envOverrides: Readonly<Record<string, string>>;
  /** What to remove from it. */
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
  /** `load` has continued a paused run. */
  readonly resumed: boolean;
  /** Why an accepted event has changed nothing; empty otherwise. */
  readonly note: string;
  readonly createdAt: Date | undefined;
  readonly updatedAt: Date | undefined;
}

/** A shared document, or a part of one (S10). */
export interface State {
  readonly id: string;
  readonly schemaName: string;
  readonly schemaVersion: number;
  /** The root of the tree that shares it. */
  readonly rootSessionId: string;
  readonly rootSessionName: string;
  /** Bumped by every change. */
  readonly version: number;
  /** The document; undefined where an answer leaves it out. Integers that a number cannot hold are bigint. */
  readonly data: Json | undefined;
  /** The document as it was written; empty where an answer leaves it out. */
  readonly dataJson: string;
  /** What the pointers of a read name. What is not there is not in it. */
  readonly parts: ReadonlyMap<string, Json>;
  readonly updatedBy: string;
  readonly createdAt: Date | undefined;
  readonly updatedAt: Date | undefined;
}

/** One version of a state. */
export interface Change {
  readonly stateId: string;
  readonly version: number;
  readonly time: Date | undefined;
  /** Of the session that acted; empty for none. */
  readonly sessionId: string;
  readonly sessionName: string;
  /** The principal. */
  readonly actor: string;
  /** "created", "updated" or "migrated". */
  readonly type: string;
  /** A JSON Patch (RFC 6902) from the version before. */
  readonly patch: Json | undefined;
  readonly schemaVersion: number;
  /** The state is gone; nothing follows, and of the rest only `stateId` is set. */
  readonly deleted: boolean;
}

/** One agent's conversation (S11). */
export interface Session {
  readonly id: string;
  /** Unique in the namespace. */
  readonly name: string;
  /** Empty for a root. */
  readonly parentId: string;
  readonly rootId: string;
  /** "RUNNING", "FINISHED" or "ENDED". */
  readonly status: string;
  /** The state that it shares; empty for none. */
  readonly stateId: string;
  /** How far it has got with its report: "NONE", "PENDING", "COMPLETED", "FAILED" or "SKIPPED" (S11.1). */
  readonly stateUpdate: string;
  readonly openChildren: number;
  readonly labels: Readonly<Record<string, string>>;
  readonly error: string;
  readonly createdAt: Date | undefined;
  readonly updatedAt: Date | undefined;
}

/** The outcome of a session that was stopped. */
export interface Stopped {
  readonly session: Session;
  /** What the agent must be told before it may stop, when it was stopped in place; empty when it may. */
  readonly prompt: string;
}

/** A question to humans (S9.2). */
export interface Approval {
  readonly id: string;
  /** "PENDING", "GRANTED", "REJECTED", "EXPIRED", "CANCELLED", "USED" or "STALE". */
  readonly status: string;
  /** Humans have approved: it is GRANTED, or was USED already, as that of a transition is. */
  readonly granted: boolean;
  /** "TOOL_CALL", "TRANSITION" or "PROCESS_STEP". */
  readonly kind: string;
  readonly message: string;
  readonly reason: string;
  /** How it stands, in one sentence for the agent. */
  readonly outcome: string;
  readonly runId: string;
  readonly by: string;
  readonly expiresAt: Date | undefined;
}
