import { SessionService } from "./gen/interlock/state/v1/session_service_pb.js";
import { WorkflowService } from "./gen/interlock/engine/v1/workflow_service_pb.js";
import { Shared, type Options } from "./base.js";
import { ConfigurationError, NotPermitted, faultOf, misconfigured, type Fault } from "./errors.js";
import type { CallOptions } from "./retry.js";
import { Sets } from "./sets.js";
import { fromEnvironment } from "./target.js";
import type { Ping, Run } from "./types.js";

/**
 * Calls Interlock for one session or run.
 *
 * It makes no decisions. A failure to get an answer is a refusal: a tool runs after an ALLOW and never otherwise. Requests that it
 * repeats after a failure have the same idempotency key, so that they happen once. Failures of requests are a `Fault`.
 */
export class Interlock extends Sets {
  readonly #options: Options;

  /** Makes a client, which connects when it is first used. */
  constructor(options: Options = {}, shared?: unknown) {
    super(options, shared instanceof Shared ? shared : Shared.of(options));
    this.#options = options;
  }

  /**
   * Makes a client of the environment, by the names that the command line reads: INTERLOCK_SERVER, INTERLOCK_TOKEN,
   * INTERLOCK_NAMESPACE, INTERLOCK_CA, INTERLOCK_INSECURE, INTERLOCK_SESSION, INTERLOCK_RUN and WORKFLOW_STATE_ID.
   */
  static fromEnv(
    more: Options = {},
    env: Readonly<Record<string, string | undefined>> = process.env,
  ): Interlock {
    return new Interlock({ ...fromEnvironment(env), ...more } as Options);
  }

  /** Closes the connection, for the clients that share it too, after it has settled calls whose callers have gone away. */
  async close(): Promise<void> {
    await this.shared.close();
  }

  /** A client for another session on the same connection. It is bound to no run and no state but the session's. */
  forSession(session: string): Interlock {
    return new Interlock({ ...this.#options, session, run: "", state: "" }, this.shared);
  }

  /** A client on the same connection that is judged by one run. */
  forRun(run: string): Interlock {
    return new Interlock({ ...this.#options, session: this.session, run, state: this.state }, this.shared);
  }

  /**
   * A client on the same connection that acts on behalf of a person: calls are judged, and recorded, as made for that person, and
   * sessions that it creates work for them. The token is the person's own, of the deployment's OpenID Connect issuer or of
   * `interlock login`; empty for nobody.
   */
  forHuman(token: string): Interlock {
    return new Interlock({ ...this.#options, session: this.session, run: this.run, state: this.state, human: token }, this.shared);
  }

  /**
   * Asks the server whether it answers this client, and returns who asks and by which run calls are judged. A mistake of the
   * configuration is a `ConfigurationError`, whose message says how to mend it; a server that is away is a `Fault`.
   */
  async ping(options: CallOptions = {}): Promise<Ping> {
    const given = this.#options;
    let run: Run | undefined;
    try {
      await this.call(options, (call) => this.rpc(WorkflowService).listWorkflows({ pageSize: 1 }, call));
      run = await this.judging(options);
    } catch (err) {
      throw this.explained(faultOf(err));
    }
    return { server: given.server ?? "", namespace: given.namespace ?? "", session: this.session, run, runId: run?.id ?? "" };
  }

  /** The run that judges the client's calls; undefined for a session that drives none. */
  private async judging(options: CallOptions): Promise<Run | undefined> {
    if (this.run === "" && this.session === "") return undefined;
    try {
      return await this.getRun("", options);
    } catch (err) {
      if (faultOf(err).reason !== "NOT_FOUND") throw err;
    }
    if (this.run !== "") {
      throw new ConfigurationError({ code: "NOT_FOUND", message: `there is no run "${this.run}": set the option run (INTERLOCK_RUN) to the id of one, or leave it out` });
    }
    await this.call(options, (call) => this.rpc(SessionService).getSession({ sessionId: this.session, session: this.session }, call));
    return undefined;
  }

  private explained(fault: Fault): Fault | ConfigurationError {
    if (fault.cause instanceof ConfigurationError) return fault.cause;
    const { token, server } = this.#options;
    switch (fault.reason) {
      case "UNAUTHENTICATED":
      case "PERMISSION_DENIED": {
        const mend = token ? "set the option token (INTERLOCK_TOKEN) to one that this server knows and lets do that" : "no token was given: set the option token, or INTERLOCK_TOKEN for fromEnv";
        return new NotPermitted({ code: fault.reason, message: `${fault.message}; ${mend}` }, { cause: fault });
      }
      case "NOT_FOUND": {
        const message = `there is no session "${this.session}" and it drives no run: load a workflow, create the session, or set another one (INTERLOCK_SESSION)`;
        return new ConfigurationError({ code: "NOT_FOUND", message }, { cause: fault });
      }
    }
    const mistake = misconfigured(fault, server ?? "");
    return mistake ? new ConfigurationError({ code: "TLS", message: mistake }, { cause: fault }) : fault;
  }
}
