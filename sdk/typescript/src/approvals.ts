import { ApprovalService } from "./gen/interlock/approval/v1/approval_service_pb.js";
import { ApprovalStatus } from "./gen/interlock/approval/v1/approval_pb.js";
import { keyOf, type ChangeOptions } from "./base.js";
import { Calls } from "./calls.js";
import { approvalOf } from "./convert.js";
import { Fault, faultOf, transient } from "./errors.js";
import { encode, type Json } from "./json.js";
import { leaseOf } from "./records.js";
import { Deadline, delay, pause, steadyMs, type CallOptions } from "./retry.js";
import type { Approval, Lease } from "./types.js";

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
}

/** A client's approvals. Agents learn how one stands; operators and approvers list and decide them. */
export class Approvals extends Calls {
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
    const { lease } = options;
    const request = {
      approvalId, approve, note: options.note ?? "", digest: options.digest ?? "", editedData: encode("edited data", options.editedData), ...keyOf(options),
      ...(lease && { lease: { pattern: lease.pattern ?? "", only: encode("lease", lease.only), calls: BigInt(lease.calls ?? 0), minutes: BigInt(lease.minutes ?? 0) } }),
    };
    return this.approval((await this.call(options, (call) => this.rpc(ApprovalService).decideApproval(request, call))).approval);
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
