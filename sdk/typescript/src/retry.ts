import { Fault, faultOf, transient } from "./errors.js";

/** A call is tried for so long when it has no deadline, in milliseconds. */
export const patienceMs = 30_000;
/** One try: a lost answer must not cost all the time there is. */
const attemptMs = 10_000;
/** A stream that lasts this long counts as no failure when it breaks. */
export const steadyMs = 10_000;

/** The limits of one call. */
export interface CallOptions {
  /** Milliseconds that the call is tried for; by default the client's, which is 30,000 unless it was set. */
  timeoutMs?: number;
  /** Ends the call when it is aborted. */
  signal?: AbortSignal;
}

/** A call's time, by a clock that no one sets. */
export class Deadline {
  private readonly end: number;
  constructor(
    readonly timeoutMs: number,
    readonly signal: AbortSignal | undefined,
  ) {
    this.end = performance.now() + timeoutMs;
  }

  left(): number {
    return this.end - performance.now();
  }

  /** True when there is no time to wait that long first. */
  endsWithin(waitMs: number): boolean {
    return this.left() <= waitMs;
  }

  /** Throws when the caller has gone away. */
  check(last?: unknown): void {
    if (this.signal?.aborted) throw cancelled(this.signal, last);
  }
}

/** The fault of a call whose signal was aborted. */
export function cancelled(signal: AbortSignal, last?: unknown): Fault {
  const cause: unknown = signal.reason ?? last;
  if (cause instanceof Error && cause.name === "TimeoutError") {
    return new Fault("DEADLINE_EXCEEDED", "the deadline passed before there was an answer", { cause });
  }
  return new Fault("CANCELLED", "the caller went away", { cause });
}

/** Calls until there is an answer, a refusal, or time is up. Its errors are faults. */
export async function retry<T>(
  deadline: Deadline,
  call: (options: { timeoutMs: number; signal?: AbortSignal }) => Promise<T>,
): Promise<T> {
  for (let failures = 1; ; failures++) {
    deadline.check();
    const timeoutMs = Math.max(1, Math.ceil(Math.min(attemptMs, deadline.left())));
    const begun = performance.now();
    try {
      return await call(deadline.signal ? { timeoutMs, signal: deadline.signal } : { timeoutMs });
    } catch (err) {
      deadline.check(err);
      let fault = faultOf(err);
      if (fault.reason === "UNAVAILABLE" && performance.now() - begun > 0.9 * timeoutMs) {
        // A server that knows the deadline ends the stream a moment before the client does.
        fault = new Fault("DEADLINE_EXCEEDED", "the deadline passed before there was an answer", { cause: fault });
      }
      const wait = delay(failures, fault.retryAfterMs);
      if (!transient(fault) || deadline.endsWithin(wait)) throw fault;
      await pause(wait, deadline.signal);
    }
  }
}

/** The wait after that many failures in a row. The first is short, also where a longer delay is advised: most often one replica went away. */
export function delay(failures: number, advisedMs: number): number {
  const wait = Math.min(50 * 2 ** Math.min(failures - 1, 10), 5000);
  return Math.max(failures <= 1 ? 0 : advisedMs, wait / 2 + Math.random() * (wait / 2));
}

/** The wait after a race was lost that often before: none at first, then longer, at random, so that contenders come apart. */
export function yieldMs(lost: number): number {
  return lost === 0 ? 0 : Math.random() * 2 ** Math.min(lost, 8);
}

/** Waits, or throws when the signal is aborted. */
export async function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    const ended = (): void => {
      clearTimeout(timer);
      reject(cancelled(signal!));
    };
    if (signal?.aborted) return reject(cancelled(signal));
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", ended);
      resolve();
    }, ms);
    signal?.addEventListener("abort", ended, { once: true });
  });
}
