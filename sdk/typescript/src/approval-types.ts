import type { Json } from "./json.js";

// Questions to humans, and leases.

/** The status of an approval (S9.2). */
export type ApprovalStatus = "" | "PENDING" | "GRANTED" | "REJECTED" | "EXPIRED" | "CANCELLED" | "USED" | "STALE";
/** The subject of an approval. */
export type ApprovalKind = "" | "TRANSITION" | "TOOL_CALL" | "PROCESS_STEP";

/** The vote of one human. */
export interface Vote {
  readonly by: string;
  readonly approve: boolean;
  readonly note: string;
  readonly time: Date | undefined;
}

/** A question to humans (S9.2). */
export interface Approval {
  readonly id: string;
  readonly status: ApprovalStatus;
  /** Humans have approved: it is GRANTED, or was USED already, as that of a transition is. */
  readonly granted: boolean;
  readonly kind: ApprovalKind;
  readonly message: string;
  readonly reason: string;
  /** How it stands, in one sentence for the agent. */
  readonly outcome: string;
  readonly runId: string;
  /** Who asks. */
  readonly principal: string;
  /** The session that asks; empty for none. */
  readonly sessionId: string;
  readonly by: string;
  readonly expiresAt: Date | undefined;
  /** The call, transition or step that is asked for. */
  readonly subject: Json | undefined;
  /** Its data, with the edits of approvers. */
  readonly data: Json | undefined;
  readonly editable: boolean;
  /** The digest of the request, for `decideApproval`. */
  readonly digest: string;
  readonly votes: readonly Vote[];
  readonly createdAt: Date | undefined;
  readonly decidedAt: Date | undefined;
  readonly usedBy: string;
  /** The caller may decide it. */
  readonly mayDecide: boolean;
}

/** Approval of later calls that are like one that was approved. */
export interface Lease {
  readonly id: string;
  readonly approvalId: string;
  readonly runId: string;
  readonly sessionId: string;
  readonly state: string;
  readonly policy: string;
  readonly capability: string;
  /** The pattern of commands that it covers, or empty. */
  readonly pattern: string;
  /** The condition that calls must meet. */
  readonly only: Json | undefined;
  readonly callsLeft: number;
  readonly expiresAt: Date | undefined;
  readonly grantedBy: string;
}
