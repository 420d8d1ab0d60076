import { Code, ConnectError } from "@connectrpc/connect";
import { BinaryReader } from "@bufbuild/protobuf/wire";
import type { GuardResult, LegalEvent, Result, Run } from "./types.js";

/** The code of a denial when there is no decision (S7.2). */
export const undecided = "POLICY_UNAVAILABLE";

/** What all errors of this package are. */
export class InterlockError extends Error {
  override name = "InterlockError";
}

/** One thing that is wrong with a request. */
export interface Violation {
  /** A JSON Pointer (RFC 6901) into the document, or the path of a field of the request. */
  readonly pointer: string;
  /** UPPER_SNAKE and stable. */
  readonly code: string;
  readonly message: string;
}

/**
 * A request that failed or was refused.
 *
 * After UNAVAILABLE, COMMIT_UNCERTAIN, DEADLINE_EXCEEDED and CANCELLED a change may or may not have been made.
 */
export class Fault extends InterlockError {
  override name = "Fault";
  readonly violations: readonly Violation[];
  readonly metadata: Readonly<Record<string, string>>;
  /** Milliseconds until the same request may succeed; 0 when that is not known. */
  readonly retryAfterMs: number;
  constructor(
    /** UPPER_SNAKE and stable, such as "VERSION_CONFLICT". */
    readonly reason: string,
    message: string,
    more: { violations?: Violation[]; metadata?: Record<string, string>; retryAfterMs?: number; cause?: unknown } = {},
  ) {
    super(message, { cause: more.cause });
    this.violations = more.violations ?? [];
    this.metadata = more.metadata ?? {};
    this.retryAfterMs = more.retryAfterMs ?? 0;
  }
}

/** What a denial says. */
export interface Denial {
  readonly code: string;
  readonly message: string;
  readonly allowedTools?: readonly string[];
  readonly toolsRestricted?: boolean;
  readonly legalEvents?: readonly LegalEvent[];
  readonly callId?: string;
}

/** A tool may not be called. It has not run. */
export class Denied extends InterlockError {
  override name = "Denied";
  /** UPPER_SNAKE, such as "TOOL_NOT_ALLOWED". */
  readonly code: string;
  /** Those of the state, where it restricts them. */
  readonly allowedTools: readonly string[];
  readonly toolsRestricted: boolean;
  readonly legalEvents: readonly LegalEvent[];
  readonly callId: string;
  constructor(denial: Denial, options?: ErrorOptions) {
    // The message is one sentence for the agent: what was refused, why, and what is allowed.
    super(denial.message, options);
    this.code = denial.code;
    this.allowedTools = denial.allowedTools ?? [];
    this.toolsRestricted = denial.toolsRestricted ?? false;
    this.legalEvents = denial.legalEvents ?? [];
    this.callId = denial.callId ?? "";
  }
}

/** There is no decision on a tool call, so it has not run. `cause` is why; its code is POLICY_UNAVAILABLE. */
export class Unavailable extends Denied {
  override name = "Unavailable";
  constructor(message: string, options: ErrorOptions & { callId?: string } = {}) {
    super({ code: undecided, message, callId: options.callId ?? "" }, options);
  }
}

/**
 * The client's token does not permit to ask for a decision, so the tool has not run: trying again does not help. The code is
 * UNAUTHENTICATED or PERMISSION_DENIED, and `cause` is the fault.
 */
export class NotPermitted extends Denied {
  override name = "NotPermitted";
}

/** A human must approve first. The tool has not run, the transition has not been made. */
export class AwaitingApproval extends InterlockError {
  override name = "AwaitingApproval";
  /** "APPROVAL_REQUIRED" or "APPROVAL_PENDING". */
  readonly code: string;
  readonly approvalId: string;
  /** The tool call's; empty for a transition. */
  readonly callId: string;
  /** The run as it waits, for a transition. */
  readonly run: Run | undefined;
  constructor(asked: { code: string; message: string; approvalId: string; callId?: string; run?: Run }) {
    super(asked.message);
    this.code = asked.code;
    this.approvalId = asked.approvalId;
    this.callId = asked.callId ?? "";
    this.run = asked.run;
  }
}

/** A transition was refused; nothing has changed (S2.7). The message is one sentence for the agent. */
export class Rejected extends InterlockError {
  override name = "Rejected";
  /** UPPER_SNAKE, such as "GUARD_FAILED". */
  readonly code: string;
  /** Those that failed. */
  readonly guards: readonly GuardResult[];
  readonly legalEvents: readonly LegalEvent[];
  /** The run's. */
  readonly state: string;
  readonly status: string;
  constructor(r: {
    code: string;
    message: string;
    guards: readonly GuardResult[];
    legalEvents: readonly LegalEvent[];
    state: string;
    status: string;
  }) {
    super(r.message);
    this.code = r.code;
    this.guards = r.guards;
    this.legalEvents = r.legalEvents;
    this.state = r.state;
    this.status = r.status;
  }
}

/** The outcome of a tool call could not be reported. The tool has run: do not run it again. `cause` is the fault. */
export class ReportError extends InterlockError {
  override name = "ReportError";
  /** What the tool returned; undefined when `report` was called without `guard`. */
  result: Result | undefined;
  constructor(
    readonly callId: string,
    fault: Fault,
  ) {
    super(`the result of call ${callId} could not be reported: ${fault.message}`, { cause: fault });
  }
}

/** The reason of the fault that an error is or was caused by, such as "VERSION_CONFLICT"; empty for none. */
export function reason(err: unknown): string {
  for (let depth = 0; err instanceof Error && depth < 16; depth++, err = err.cause) {
    if (err instanceof Fault) return err.reason;
  }
  return "";
}

/** True for what may be better the next time, whether or not the request was carried out. */
export function transient(fault: Fault): boolean {
  return ["UNAVAILABLE", "COMMIT_UNCERTAIN", "DEADLINE_EXCEEDED", "CANCELLED"].includes(fault.reason);
}

const ofCode: { readonly [code: number]: string } = {
  [Code.InvalidArgument]: "INVALID_REQUEST",
  [Code.OutOfRange]: "INVALID_REQUEST",
  [Code.NotFound]: "NOT_FOUND",
  [Code.AlreadyExists]: "NAME_TAKEN",
  [Code.Aborted]: "VERSION_CONFLICT",
  [Code.FailedPrecondition]: "FAILED_PRECONDITION",
  [Code.ResourceExhausted]: "LIMIT_REACHED",
  [Code.Unauthenticated]: "UNAUTHENTICATED",
  [Code.PermissionDenied]: "PERMISSION_DENIED",
  [Code.Unavailable]: "UNAVAILABLE",
  [Code.DeadlineExceeded]: "DEADLINE_EXCEEDED",
  [Code.Canceled]: "CANCELLED",
  [Code.Unimplemented]: "UNIMPLEMENTED",
};

const known = new Set([
  ...Object.values(ofCode),
  ..."INVALID_JSON INVALID_DEFINITION INVALID_SCHEMA SCHEMA_VIOLATION PATCH_FAILED NOT_A_WRITER TOO_LARGE IDEMPOTENCY_MISMATCH RUN_NOT_ACTIVE".split(" "),
  ..."RUN_NOT_PAUSED RUN_HELD RUN_ENDED SESSION_BUSY SESSION_REQUIRED SESSION_ENDED ENFORCEMENT_KEPT APPROVAL_DECIDED".split(" "),
  ..."LOCKED FENCED QUOTA_EXCEEDED STORE_FULL COMMIT_UNCERTAIN STORE_ROLLED_BACK INTERNAL".split(" "),
]);

const domain = "interlock";

/** A fault of anything that was thrown by a call. */
export function faultOf(err: unknown): Fault {
  if (err instanceof Fault) return err;
  if (!(err instanceof ConnectError)) {
    return new Fault("INTERNAL", err instanceof Error ? err.message : String(err), { cause: err });
  }
  if (!fromServer(err) && brokenConnection(err)) {
    return new Fault("UNAVAILABLE", "the connection was lost before there was an answer", { cause: err });
  }
  const details = readDetails(err);
  const more = { violations: details.violations, metadata: details.metadata, retryAfterMs: details.retryAfterMs, cause: err };
  if (known.has(details.reason)) return new Fault(details.reason, err.rawMessage, more);
  if (details.reason !== "") more.metadata = { ...more.metadata, peer_reason: details.reason };
  if (err.code === Code.Unavailable) {
    // A transport's own words name addresses of the inside.
    return new Fault("UNAVAILABLE", "the server cannot be reached: is it running, and is this the address of its gRPC services?", more);
  }
  if (err.code === Code.DeadlineExceeded) {
    return new Fault("DEADLINE_EXCEEDED", "the deadline passed before there was an answer", more);
  }
  return new Fault(ofCode[err.code] ?? "INTERNAL", err.rawMessage, more);
}

/** True for a status that came over the wire. */
function fromServer(err: ConnectError): boolean {
  return err.isWireError;
}

/** True when a connection has ended, however Node and the transport say it. */
function brokenConnection(err: ConnectError): boolean {
  if (err.message.includes("missing output message") && err.code === Code.Unknown) return true; // nor a status
  if (/http\/2 (stream|connection)|connection (closed|lost)|missing trailer|premature/i.test(err.message)) return true;
  for (let one: unknown = err, depth = 0; one instanceof Error && depth < 16; depth++, one = one.cause) {
    const code = (one as { code?: unknown }).code;
    if (typeof code === "string" && /^(E[A-Z]+|ERR_HTTP2_.*|ERR_STREAM_.*|ERR_SOCKET_.*)$/.test(code)) return true;
  }
  return false;
}

interface Details {
  reason: string;
  metadata: Record<string, string>;
  violations: Violation[];
  retryAfterMs: number;
}

/** What the details of a status say: google.rpc.ErrorInfo, BadRequest and RetryInfo. */
function readDetails(err: ConnectError): Details {
  const out: Details = { reason: "", metadata: {}, violations: [], retryAfterMs: 0 };
  for (const detail of err.details) {
    if (!("type" in detail)) continue;
    try {
      switch (detail.type) {
        case "google.rpc.ErrorInfo": {
          const info = fields(detail.value);
          if (text(info.get(2)?.[0]) !== domain) break;
          out.reason = text(info.get(1)?.[0]);
          for (const entry of info.get(3) ?? []) {
            const pair = fields(entry as Uint8Array);
            out.metadata[text(pair.get(1)?.[0])] = text(pair.get(2)?.[0]);
          }
          break;
        }
        case "google.rpc.BadRequest":
          for (const one of fields(detail.value).get(1) ?? []) {
            const v = fields(one as Uint8Array);
            out.violations.push({ pointer: text(v.get(1)?.[0]), code: text(v.get(3)?.[0]), message: text(v.get(2)?.[0]) });
          }
          break;
        case "google.rpc.RetryInfo": {
          const delay = fields((fields(detail.value).get(1)?.[0] as Uint8Array | undefined) ?? new Uint8Array());
          out.retryAfterMs = Math.max(0, Number(delay.get(1)?.[0] ?? 0) * 1000 + Number(delay.get(2)?.[0] ?? 0) / 1e6);
          break;
        }
      }
    } catch {
      // A detail that cannot be read says nothing; the code still does.
    }
  }
  return out;
}

/** The fields of a message, by number. */
function fields(bytes: Uint8Array): Map<number, (Uint8Array | bigint)[]> {
  const out = new Map<number, (Uint8Array | bigint)[]>();
  const reader = new BinaryReader(bytes);
  while (reader.pos < reader.len) {
    const [number, type] = reader.tag();
    let value: Uint8Array | bigint;
    if (type === 2) value = reader.bytes();
    else if (type === 0) value = BigInt(reader.int64());
    else {
      reader.skip(type, number);
      continue;
    }
    out.set(number, [...(out.get(number) ?? []), value]);
  }
  return out;
}

function text(value: Uint8Array | bigint | undefined): string {
  return value instanceof Uint8Array ? new TextDecoder().decode(value) : "";
}
