import type { Json } from "./json.js";
import type { Human } from "./who.js";

// Shared states, the sessions that share them, and components.

/** The status of a session (S11). */
export type SessionStatus = "" | "RUNNING" | "FINISHED" | "ENDED";
/** How far a session is with its report (S11.1). */
export type StateUpdateStatus = "" | "NONE" | "PENDING" | "COMPLETED" | "FAILED" | "SKIPPED";

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
  /** The values at the pointers of a read. A pointer without a value is not in it. */
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
  /** The state is gone; no change follows, and of the rest only `stateId` is set. */
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
  readonly status: SessionStatus;
  /** The state that it shares; empty for none. */
  readonly stateId: string;
  /** How far it is with its report (S11.1). */
  readonly stateUpdate: StateUpdateStatus;
  readonly openChildren: number;
  readonly labels: Readonly<Record<string, string>>;
  /** The agent that it has started from; empty for none. */
  readonly agent: string;
  /** The entries that all calls of it and of those below it must meet; undefined for none (S22.24). */
  readonly only: Json | undefined;
  /** On whose behalf it works, and so do those below it; undefined where that is not known. */
  readonly human: Human | undefined;
  readonly error: string;
  readonly createdAt: Date | undefined;
  readonly updatedAt: Date | undefined;
}

/** The outcome of a session that was stopped. */
export interface Stopped {
  readonly session: Session;
  /** For the agent, which must act on it before it may stop, when it was stopped in place; empty when it may. */
  readonly prompt: string;
}

/** A component: values of agents, with a schema (S12). */
export interface Component {
  readonly slug: string;
  readonly name: string;
  readonly description: string;
  readonly tags: readonly string[];
  readonly schema: Json | undefined;
  readonly initialValues: Json | undefined;
  /** "NONE", "SESSION" or "LONG_TERM". */
  readonly persistence: string;
  readonly version: number;
}

/** One use of a component's values. */
export interface Execution {
  readonly id: string;
  readonly slug: string;
  readonly values: Json | undefined;
  readonly version: number;
  readonly persistence: string;
  readonly sessionId: string;
  readonly subject: string;
  readonly unset: readonly string[];
}

/** The settings that sessions of one kind of agent start with. */
export interface Agent {
  readonly id: string;
  readonly name: string;
  readonly modelRef: string;
  readonly instructions: string;
  readonly toolRefs: readonly string[];
  readonly stateRefs: readonly string[];
  readonly workflow: string;
  readonly policy: string;
  readonly enableConversations: boolean;
  readonly version: number;
}
