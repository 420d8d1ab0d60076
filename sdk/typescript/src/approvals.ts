import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { ApprovalService } from "./gen/interlock/approval/v1/approval_service_pb.js";
import { ApprovalStatus } from "./gen/interlock/approval/v1/approval_pb.js";
import { keyOf, type ChangeOptions } from "./base.js";
import { Calls } from "./calls.js";
import { approvalOf, time } from "./convert.js";
import { Fault, faultOf, transient } from "./errors.js";
import { encode, type Json } from "./json.js";
import { leaseOf } from "./records.js";
import { Deadline, delay, pause, steadyMs, type CallOptions } from "./retry.js";
import type { Approval, Lease } from "./approval-types.js";

/** The longest deadline of one stream that gRPC has room for. */
const longestMs = 10_000_000;

/** Options of `decideApproval`. */
export interface DecideOptions extends ChangeOptions {
  /** For the agent and the record. */
  note?: string;
  /** The digest of the request as it was shown: a request that has changed since is not approved. */
  digest?: string;
  /** The data as edited, where the approval is editable. */
  editedData?: Json;
  /** Approves later calls that are like this one, too: by a pattern of commands, or by a condition on what calls do. */
  lease?: { pattern?: string; only?: Json; calls?: number; minutes?: number };
  /** The signature of the vote: over `Statement.statement`, by an SSH key or a passkey. */
  signature?: {
    statement: Uint8Array;
    /** The output of `ssh-keygen -Y sign -n interlock-approval` over the statement. */
    ssh?: string;
    passkey?: { credentialId: Uint8Array; authenticatorData: Uint8Array; clientDataJson: Uint8Array; signature: Uint8Array };
  };
}

/** The statement of a vote, for the caller's person to sign. */
export interface Statement {
  /** Canonical JSON. */
  readonly statement: Uint8Array;
  /** Its SHA-256: the challenge of a passkey. */
  readonly digest: Uint8Array;
  /** The text for the person: who decides on which action. */
  readonly shown: string;
  /** The terms demand a signature that shows that the person is there. */
  readonly presence: boolean;
  /** The relying party of passkeys; empty where there is none. */
  readonly rpId: string;
  /** The caller's keys: passkeys by the id of their credential, SSH keys by their line of an authorized_keys file. */
  readonly keys: readonly { readonly credentialId: Uint8Array; readonly sshPublicKey: string }[];
  /** When a vote with it is no longer accepted. */
  readonly expiresAt: Date | undefined;
}

function termsOf(lease: DecideOptions["lease"]): object {
  if (!lease) return {};
  return { lease: { pattern: lease.pattern ?? "", only: encode("lease", lease.only), calls: BigInt(lease.calls ?? 0), minutes: BigInt(lease.minutes ?? 0) } };
}

/** How often people were asked one question, and their answers. */
export interface QuestionCount {
  /** The request, in a line. */
  readonly what: string;
  /** The policy and its rule, or workflow. */
  readonly askedBy: string;
  readonly asked: number;
  readonly granted: number;
  readonly rejected: number;
  readonly expired: number;
  /** Granted within three seconds. */
  readonly quick: number;
  /** A way to spare people the question; empty unless they hardly ever reject. */
  readonly hint: string;
}

/** The questions that people were asked. */
export interface ApprovalStats {
  /** The most frequent first. */
  readonly questions: readonly QuestionCount[];
  /** False when only the newest 10,000 approvals were counted. */
  readonly complete: boolean;
}

/** A client's approvals. Agents learn how one stands; operators and approvers list and decide them. */
export class Approvals extends Calls {
  /** Counts the questions that people were asked since then, by default in the last 30 days, and their answers. */
  async approvalStats(options: CallOptions & { since?: Date } = {}): Promise<ApprovalStats> {
    const request = options.since ? { since: timestampFromDate(options.since) } : {};
    const { questions, complete } = await this.call(options, (call) => this.rpc(ApprovalService).getApprovalStats(request, call));
    const counted = questions.map((q) => ({
      what: q.what,
      askedBy: q.askedBy,
      asked: Number(q.asked),
      granted: Number(q.granted),
      rejected: Number(q.rejected),
      expired: Number(q.expired),
      quick: Number(q.quick),
      hint: q.hint,
    }));
    return { questions: counted, complete };
  }

  /** Yields approvals, newest first, with a filter as on the command line, such as `status=PENDING`. */
  listApprovals(filter = "", options: CallOptions = {}): AsyncGenerator<Approval, void, undefined> {
    const page = (pageToken: string, call: object) => this.rpc(ApprovalService).listApprovals({ filter, pageToken }, call);
    return this.pages(options, page, (answer) => answer.approvals.map(approvalOf));
  }

  /** Returns an approval. */
  async getApproval(approvalId: string, options: CallOptions = {}): Promise<Approval> {
    return this.approval((await this.call(options, (call) => this.rpc(ApprovalService).getApproval({ approvalId }, call))).approval);
  }

  /** Approves or rejects, and returns the approval as it stands then: it may need more votes. */
  async decideApproval(approvalId: string, approve: boolean, options: DecideOptions = {}): Promise<Approval> {
    const { lease, signature } = options;
    const request = {
      approvalId, approve, note: options.note ?? "", digest: options.digest ?? "", editedData: encode("edited data", options.editedData), ...keyOf(options),
      ...termsOf(lease),
      ...(signature && { signature }),
    };
    return this.approval((await this.call(options, (call) => this.rpc(ApprovalService).decideApproval(request, call))).approval);
  }

  /** Returns the statement of a vote, for the caller's person to sign. Without a digest it is of the present request. */
  async approvalStatement(approvalId: string, approve: boolean, options: CallOptions & Pick<DecideOptions, "note" | "digest" | "editedData" | "lease"> = {}): Promise<Statement> {
    const digest = options.digest || (await this.getApproval(approvalId, options)).digest;
    const request = { approve, note: options.note ?? "", editedData: encode("edited data", options.editedData), items: [{ approvalId, digest }], ...termsOf(options.lease) };
    const answer = await this.call(options, (call) => this.rpc(ApprovalService).getApprovalStatement(request, call));
    const { statement, shown, presence, rpId } = answer;
    const keys = answer.keys.map(({ credentialId, sshPublicKey }) => ({ credentialId, sshPublicKey }));
    return { statement, digest: answer.digest, shown, presence, rpId, keys, expiresAt: time(answer.expiresAt) };
  }

  /** Withdraws an approval that waits. */
  async cancelApproval(approvalId: string, options: CallOptions & { reason?: string } = {}): Promise<Approval> {
    const request = { approvalId, reason: options.reason ?? "" };
    return this.approval((await this.call(options, (call) => this.rpc(ApprovalService).cancelApproval(request, call))).approval);
  }

  private approval(message: Parameters<typeof approvalOf>[0] | undefined): Approval {
    if (!message) throw new TypeError("the answer has no approval");
    return approvalOf(message);
  }

  /**
   * Yields approvals as they are created and decided, for as long as the signal is not aborted. It continues after a break, and then
   * may have missed some: list them when it matters.
   */
  async *watchApprovals(options: { signal?: AbortSignal } = {}): AsyncGenerator<Approval, void, undefined> {
    yield* this.stream(
      "approvals",
      async function* (this: Approvals, signal: AbortSignal) {
        for await (const { approval } of this.rpc(ApprovalService).watchApprovals({}, { signal })) if (approval) yield approvalOf(approval);
      }.bind(this),
      options.signal,
    );
  }

  /**
   * Waits until humans have decided an approval, no matter how long that takes, and returns it. After `timeoutMs` it throws a
   * `Fault` with DEADLINE_EXCEEDED. If it was granted, make exactly the same call again: it is allowed once.
   */
  async waitApproval(approvalId: string, options: CallOptions = {}): Promise<Approval> {
    const deadline = new Deadline(options.timeoutMs ?? Infinity, options.signal);
    for (let failures = 0; ; ) {
      const begun = performance.now();
      let fault = new Fault("UNAVAILABLE", "the stream has ended");
      try {
        const left = deadline.left();
        const answers = this.rpc(ApprovalService).watchApproval(
          { approvalId },
          { ...(options.signal && { signal: options.signal }), ...(left < Infinity && { timeoutMs: Math.max(1, Math.ceil(Math.min(left, longestMs))) }) },
        );
        for await (const { approval } of answers) {
          if (approval && ![ApprovalStatus.UNSPECIFIED, ApprovalStatus.PENDING].includes(approval.status)) return approvalOf(approval);
        }
      } catch (err) {
        deadline.check(err);
        fault = faultOf(err);
      }
      failures = performance.now() - begun > steadyMs ? 1 : failures + 1;
      if (!transient(fault)) throw fault;
      const wait = delay(failures, fault.retryAfterMs);
      if (deadline.endsWithin(wait)) {
        throw new Fault("DEADLINE_EXCEEDED", `approval ${approvalId} is not decided yet`, { cause: fault });
      }
      await pause(wait, options.signal);
    }
  }

  /** Yields leases, of one run or of all. */
  listLeases(runId = "", options: CallOptions = {}): AsyncGenerator<Lease, void, undefined> {
    const page = (pageToken: string, call: object) => this.rpc(ApprovalService).listLeases({ runId, pageToken }, call);
    return this.pages(options, page, (answer) => answer.leases.map(leaseOf));
  }

  /** Ends a lease: later calls are asked again. */
  async revokeLease(leaseId: string, options: CallOptions = {}): Promise<Lease> {
    const { lease } = await this.call(options, (call) => this.rpc(ApprovalService).revokeLease({ leaseId }, call));
    if (!lease) throw new TypeError("the answer has no lease");
    return leaseOf(lease);
  }
}
