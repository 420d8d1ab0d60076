import { createClient, type Client, type Interceptor, type Transport } from "@connectrpc/connect";
import type { DescService } from "@bufbuild/protobuf";
import { Glass, type BreakGlassOptions } from "./breakglass.js";
import { Jails, type JailOptions } from "./command.js";
import { Fault, faultOf, transient } from "./errors.js";
import { idempotencyKey } from "./ids.js";
import { Deadline, cancelled, delay, patienceMs, pause, retry, steadyMs, type CallOptions } from "./retry.js";
import { defaultServer, dial, type Connection, type TLS } from "./target.js";
import { tracing } from "./tracing.js";

/** Bounds work in the background, such as the report of a call whose caller has gone away. */
export const backgroundMs = 15_000;
/** Bounds the wait for that when the client is closed. */
const closingMs = 3_000;

/** Options of a client. */
export interface Options {
  /**
   * A gRPC address; "127.0.0.1:7421" by default. Several replicas: a list separated by commas. Without TLS, only loopback
   * addresses and Unix sockets are called.
   */
  server?: string;
  /** The caller's token. */
  token?: string;
  /** Namespace of all calls; the default one when empty. */
  namespace?: string;
  /** The session that acts, by id or name: tool calls and events are judged by the run that it drives, and it shares the state of its tree. */
  session?: string;
  /** The run that judges the calls, instead of the one that the session drives. */
  run?: string;
  /** The state to use where a state's id is left empty; by default the session's. */
  state?: string;
  /** The own token of the person on whose behalf the client acts, see `forHuman`; empty for nobody. */
  human?: string;
  /** Files of TLS; `{}` uses the CAs of Node. */
  tls?: TLS | undefined;
  /** Allows another machine without TLS, where the network itself is trusted. The token then travels in the clear. */
  insecure?: boolean;
  /** Milliseconds that a call is tried for, 30,000 by default. */
  timeoutMs?: number;
  /** How `guardCommand` gets a jail. */
  jail?: JailOptions;
  /** A grant by which some calls pass while no connection to the server can be made; none does without it. */
  breakGlass?: BreakGlassOptions | undefined;
  /** Receives failures that have no caller: a watch that breaks, a report of a failed call that was not accepted. */
  onWarning?: (message: string, err: unknown) => void;
  /** A transport of yours instead of a connection to `server`. Server, tls and insecure are then without effect. */
  transport?: Transport;
}

/** Options of a call that changes something. */
export interface ChangeOptions extends CallOptions {
  /** Makes repeats of the change one change, also across processes. A new key without it, so that the client's own repeats are one. */
  idempotencyKey?: string;
}

/** The part of clients on one connection that they share. */
export class Shared {
  private readonly background = new Set<Promise<unknown>>();
  constructor(
    readonly connection: Connection,
    readonly timeoutMs: number,
    readonly warn: (message: string, err: unknown) => void,
    readonly hasToken: boolean,
    readonly jails = new Jails(),
    /** Opens the break-glass grant; undefined without one. */
    readonly glass?: () => Promise<Glass>,
  ) {}

  /** Connects as options say. */
  static of(options: Options): Shared {
    const timeoutMs = options.timeoutMs ?? patienceMs;
    if (!(timeoutMs > 0)) throw new TypeError("timeoutMs must be more than 0");
    const { token, namespace } = options;
    const credentials: Interceptor = (next) => (req) => {
      if (token && !req.header.has("authorization")) req.header.set("authorization", "Bearer " + token);
      if (namespace && !req.header.has("interlock-namespace")) req.header.set("interlock-namespace", namespace);
      return next(req);
    };
    const connection = options.transport
      ? { transport: options.transport, close: () => undefined }
      : dial({ server: options.server ?? defaultServer, tls: options.tls, insecure: options.insecure }, [tracing, credentials]);
    return new Shared(connection, timeoutMs, options.onWarning ?? (() => undefined), Boolean(token), new Jails(options.jail), options.breakGlass && (() => Glass.open(options.breakGlass!, namespace ?? "")));
  }

  /** Continues work after its caller has gone away. Its errors become warnings. */
  detach(message: string, work: Promise<unknown>): void {
    const done = work.catch((err: unknown) => this.warn(message, err)).finally(() => this.background.delete(done));
    this.background.add(done);
  }

  /** Closes the connection when the background is done, or after 3 seconds. */
  async close(): Promise<void> {
    if (this.background.size > 0) {
      const late = new AbortController();
      await Promise.race([Promise.all(this.background), pause(closingMs, late.signal).catch(() => undefined)]);
      late.abort();
    }
    this.connection.close();
  }
}

/** The connection of a client, and who acts. */
export class Base {
  /** The session that acts; empty for none. */
  readonly session: string;
  /** The run that judges the calls; empty for the session's. */
  readonly run: string;
  protected readonly state: string;
  // Not enumerable: a client that is printed shows no token.
  readonly #shared: Shared;
  readonly #transport: Transport;

  constructor(options: Pick<Options, "session" | "run" | "state" | "human">, shared: Shared) {
    this.session = options.session ?? "";
    this.run = options.run ?? "";
    this.state = options.state ?? "";
    this.#shared = shared;
    this.#transport = onBehalfOf(options.human ?? "", shared.connection.transport);
  }

  protected get shared(): Shared {
    return this.#shared;
  }

  /** The connection, for calls that have no method here: `createClient(RunService, client.transport)`. */
  get transport(): Transport {
    return this.#transport;
  }

  protected rpc<S extends DescService>(service: S): Client<S> {
    return createClient(service, this.transport);
  }

  protected deadline(options: CallOptions): Deadline {
    return new Deadline(options.timeoutMs ?? this.shared.timeoutMs, options.signal);
  }

  /** Calls, and repeats after temporary failures. A change has the key of `keyOf`, so that it happens once. */
  protected async call<T>(options: CallOptions, call: (options: { timeoutMs: number; signal?: AbortSignal }) => Promise<T>): Promise<T> {
    return retry(this.deadline(options), call);
  }

  /** Yields the messages of a stream, and opens it again after a break, until the signal is aborted, which is an error, or it is refused. */
  protected async *stream<T>(
    what: string,
    open: (signal: AbortSignal) => AsyncIterable<T>,
    signal: AbortSignal | undefined,
  ): AsyncGenerator<T, void, undefined> {
    for (let failures = 0; ; ) {
      const begun = performance.now();
      let fault = new Fault("UNAVAILABLE", "the stream has ended");
      // Also when the caller leaves the loop: the stream must not stay open.
      const stop = new AbortController();
      const ended = (): void => stop.abort(signal!.reason);
      signal?.addEventListener("abort", ended, { once: true });
      try {
        if (signal?.aborted) throw cancelled(signal);
        yield* open(stop.signal);
      } catch (err) {
        if (signal?.aborted) throw cancelled(signal, err);
        fault = faultOf(err);
        if (!transient(fault)) throw fault;
      } finally {
        signal?.removeEventListener("abort", ended);
        stop.abort();
      }
      failures = performance.now() - begun > steadyMs ? 1 : failures + 1;
      this.shared.warn(`a watch is opened again: ${what}`, fault);
      await pause(delay(failures, fault.retryAfterMs), signal);
    }
  }

  /** Yields the items of a list, page by page. */
  protected async *pages<P extends { nextPageToken: string }, T>(
    options: CallOptions,
    page: (pageToken: string, call: { timeoutMs: number; signal?: AbortSignal }) => Promise<P>,
    items: (page: P) => readonly T[],
  ): AsyncGenerator<T, void, undefined> {
    let pageToken = "";
    do {
      const answer = await this.call(options, (call) => page(pageToken, call));
      yield* items(answer);
      pageToken = answer.nextPageToken;
    } while (pageToken !== "");
  }

  /** The run or session that judges the calls: the run if there is one, else the session. */
  protected driven(): { runId: string; sessionId: string } {
    return this.run === "" ? { runId: "", sessionId: this.session } : { runId: this.run, sessionId: "" };
  }
}

/** A transport whose calls are on behalf of the person of a token; empty for nobody. */
function onBehalfOf(token: string, transport: Transport): Transport {
  if (token === "") return transport;
  const named = (given: HeadersInit | undefined): Headers => {
    const header = new Headers(given);
    header.set("interlock-for", "Bearer " + token);
    return header;
  };
  return {
    unary: (method, signal, timeoutMs, header, ...rest) => transport.unary(method, signal, timeoutMs, named(header), ...rest),
    stream: (method, signal, timeoutMs, header, ...rest) => transport.stream(method, signal, timeoutMs, named(header), ...rest),
  };
}

/** The key of a change. */
export function keyOf(options: ChangeOptions): { idempotencyKey: string } {
  return { idempotencyKey: options.idempotencyKey || idempotencyKey() };
}

/** Refuses an operation that needs a session. */
export function noSession(what: string): Fault {
  return new Fault("SESSION_REQUIRED", `${what} requires a session: set the option session, or use forSession`);
}

/** A text as the contracts take an error: 4096 characters at most. */
export function clip(text: string): string {
  const characters = [...text.toWellFormed()];
  return characters.length <= 4096 ? text.toWellFormed() : characters.slice(0, 4093).join("") + "...";
}
