import { Code, ConnectError } from "@connectrpc/connect";
import { BinaryReader } from "@bufbuild/protobuf/wire";
import type { GuardResult, LegalEvent, Result, Run } from "./types.js";

/** The code of a denial when there is no decision (S7.2). */
export const undecided = "POLICY_UNAVAILABLE";

/** The base of all errors of this package. */
export class InterlockError extends Error {
  override name = "InterlockError";
  /** The same request may succeed later without a change. */
  readonly retriable: boolean = false;
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
  override readonly retriable: boolean;
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
    this.retriable = passing.has(reason) || this.retryAfterMs > 0;
  }
}

/** Reasons that pass by themselves. */
const passing = new Set(["UNAVAILABLE", "COMMIT_UNCERTAIN", "DEADLINE_EXCEEDED", "CANCELLED", "VERSION_CONFLICT", "LOCKED"]);

/** The members of a denial. */
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
    // The message is one sentence for the agent: the refused call, the reason and the alternatives.
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
  override readonly retriable: boolean;
  constructor(message: string, options: ErrorOptions & { callId?: string; retriable?: boolean } = {}) {
    super({ code: undecided, message, callId: options.callId ?? "" }, options);
    this.retriable = options.retriable ?? (options.cause instanceof Fault && options.cause.retriable);
  }
}

/**
 * The client is not set up right: its address, its token, its certificates or its session. The message says how to mend it, and
 * trying again does not help. It is a Denied, so that a guarded tool has not run.
 */
export class ConfigurationError extends Denied {
  override name = "ConfigurationError";
}

/**
 * The client's token does not permit the request. The code is UNAUTHENTICATED or PERMISSION_DENIED, and `cause` is the fault.
 */
export class NotPermitted extends ConfigurationError {
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

/** A transition was refused; the run is unchanged (S2.7). The message is one sentence for the agent. */
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
  /** The result of the tool; undefined when `report` was called without `guard`. */
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

/** True for failures that may not repeat, whether or not the request was carried out. */
export function transient(fault: Fault): boolean {
  return ["UNAVAILABLE", "COMMIT_UNCERTAIN", "DEADLINE_EXCEEDED", "CANCELLED"].includes(fault.reason);
}

/** True when a request may have been carried out although it has failed. */
export function mayBeCarriedOut(fault: Fault): boolean {
  if (has(fault, (err) => err.code === "ECONNREFUSED" || err.code === "ENOENT" || err.code === "EACCES")) return false;
  const unreadable = fault.cause instanceof ConnectError && !fromServer(fault.cause);
  return transient(fault) || unreadable;
}

/** Whether no connection could be made. An answer, and a connection that was made and then closed, is contact. */
export function unreachable(fault: Fault): boolean {
  if (!(fault.cause instanceof ConnectError) || fromServer(fault.cause)) return false;
  const codes = ["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "EHOSTUNREACH", "ENETUNREACH", "ETIMEDOUT", "ENOENT"];
  const failed = (err: { code?: unknown; syscall?: unknown; errors?: unknown }): boolean =>
    codes.includes(err.code as string) && (err.syscall === "connect" || err.syscall === "getaddrinfo" || (Array.isArray(err.errors) && err.errors.every((one) => failed(one as object))));
  return has(fault, failed);
}

/** How to mend the address or the certificates that a connection has failed by; undefined for another failure. */
export function misconfigured(fault: Fault, server: string): string | undefined {
  const by = (pattern: RegExp): boolean => has(fault, ({ code }) => typeof code === "string" && pattern.test(code));
  if (by(/^(SELF_SIGNED|DEPTH_ZERO|UNABLE_TO|CERT_|ERR_TLS_)/)) {
    return `the certificate of ${server} is not trusted: set tls.ca (INTERLOCK_CA) to the CA that has signed it, and tls.serverName to its name`;
  }
  if (by(/^(ERR_SSL_|EPROTO)/)) return `${server} does not speak TLS: leave tls (INTERLOCK_CA) out, or give the address that serves TLS`;
  if (by(/^ERR_HTTP2_ERROR$/)) return `${server} does not speak gRPC: set server (INTERLOCK_SERVER) to the address of the gRPC services, not to that of HTTP`;
  if (by(/^(ENOTFOUND|EAI_)/)) return `the name of ${server} is not known: set server (INTERLOCK_SERVER) to the address of the gRPC services`;
  return undefined;
}

/** Whether an error or one of its causes is such a one. */
function has(err: unknown, such: (err: { code?: unknown }) => boolean): boolean {
  for (let depth = 0; err instanceof Error && depth < 16; depth++, err = err.cause) {
    if (such(err as { code?: unknown })) return true;
  }
  return false;
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
  ..."RUN_NOT_PAUSED RUN_HELD RUN_ENDED HALTED FROZEN SESSION_BUSY SESSION_REQUIRED SESSION_ENDED ENFORCEMENT_KEPT APPROVAL_DECIDED".split(" "),
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
    return new Fault("UNAVAILABLE", "the connection was lost before there was an answer: is the server running, and is this the address of its gRPC services and not that of HTTP?", { cause: err });
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
  return has(err, ({ code }) => typeof code === "string" && /^(E[A-Z]+|ERR_HTTP2_.*|ERR_STREAM_.*|ERR_SOCKET_.*)$/.test(code));
}

interface Details {
  reason: string;
  metadata: Record<string, string>;
  violations: Violation[];
  retryAfterMs: number;
}

/** Reads the details of a status: google.rpc.ErrorInfo, BadRequest and RetryInfo. */
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
      // A detail that cannot be read is left out; the code still counts.
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
