import { StateUpdate } from "./gen/interlock/state/v1/session_pb.js";
import { SessionService } from "./gen/interlock/state/v1/session_service_pb.js";
import { clip, keyOf, noSession, type ChangeOptions } from "./base.js";
import { sessionOf } from "./convert.js";
import { idempotencyKey } from "./ids.js";
import { decode, encode, type Json } from "./json.js";
import { retry, type CallOptions } from "./retry.js";
import { States } from "./states.js";
import type { Session, Stopped } from "./state-types.js";
import { sessionTokenOf, type SessionToken } from "./who.js";

/** A session to make. */
export interface NewSession {
  /** Chosen by the server when empty. */
  id?: string;
  /** At random when empty. */
  name?: string;
  /** By id or name, whose state the session shares; empty for a root. An agent creates sessions below its own. */
  parent?: string;
  /** It need not update that state before it is done. */
  skipStateUpdate?: boolean;
  /** Its updates during its own work are enough (S11.2). */
  acceptEarlyUpdate?: boolean;
  /** Labels that a runner must have to take its tasks. */
  labels?: Record<string, string>;
  /** When not empty, a runner starts the session's agent with it. */
  prompt?: string;
  /** The component that its executions begin and end with (S12). */
  stateRef?: string;
  /** Whose long-term values it uses (S12). */
  subject?: string;
  /** Name of the agent that it starts from (S15.10). */
  agent?: string;
  /** Entries that all calls of it and of those below it must meet (S22.24). They narrow, so agents may use them. */
  only?: Json;
}

/** Options of `stopSession`. Without any, a runner does the outstanding updates. */
export interface StopOptions extends ChangeOptions {
  /** The caller continues with the agent itself, see `Stopped.prompt`. */
  inPlace?: boolean;
  /** Ends the session even when something is outstanding. */
  end?: boolean;
  /** Why the agent failed; empty when it did not. */
  error?: string;
  /** The result for the parent: JSON of at most 64 KiB. */
  result?: unknown;
}

/** Options of `mintSessionToken`. Without any, the token is as wide as the caller's own. */
export interface TokenOptions extends CallOptions {
  /** The session that the token is for, if that is one below. It need not be there yet if its name begins with the session's and a slash. */
  session?: string;
  /** The only branch of the session's run. */
  branch?: string;
  /** Name of the principal; by default the caller's own, or of an operator the session's name. */
  name?: string;
  /** Seconds that it lasts; by default an hour, or what is left of the caller's own token. */
  ttlSeconds?: number;
  /** Entries that its calls must meet. */
  only?: Json;
}

/** A client's sessions. */
export class Sessions extends States {
  /** Makes a session. The same request again returns the same session, so give it a name to find it again. */
  async createSession(session: NewSession = {}, options: CallOptions = {}): Promise<Session> {
    const request = {
      sessionId: session.id ?? "",
      // A repeat must find the session that the first try made.
      name: session.name || (session.id ? "" : "session-" + idempotencyKey().toLowerCase()),
      parent: session.parent ?? "",
      acceptEarlyUpdate: session.acceptEarlyUpdate ?? false,
      labels: session.labels ?? {},
      stateRef: session.stateRef ?? "",
      subject: session.subject ?? "",
      prompt: session.prompt ?? "",
      session: this.session,
      agent: session.agent ?? "",
      only: encode("only", session.only),
      ...(session.skipStateUpdate && { stateUpdate: StateUpdate.SKIP }),
    };
    return sessionOf((await retry(this.deadline(options), (call) => this.rpc(SessionService).createSession(request, call))).session);
  }

  /**
   * Says that the agent of a session has stopped, by default of the client's. One that must update the state of its tree and has not is asked to;
   * then its parent is called back (S11.2).
   */
  async stopSession(sessionId = "", options: StopOptions = {}): Promise<Stopped> {
    const id = sessionId || this.session;
    if (id === "") throw noSession("stopping");
    const request = {
      sessionId: id,
      session: this.session,
      ...keyOf(options),
      inPlace: options.inPlace ?? false,
      end: options.end ?? false,
      error: clip(options.error ?? ""),
      result: encode("result", options.result),
    };
    const answer = await retry(this.deadline(options), (call) => this.rpc(SessionService).stopSession(request, call));
    return { session: sessionOf(answer.session), prompt: answer.prompt };
  }

  /** Returns a session by id or name, by default the client's. */
  async getSession(sessionId = "", options: CallOptions = {}): Promise<Session> {
    const request = { sessionId: sessionId || this.session, session: this.session };
    if (request.sessionId === "") throw noSession("reading a session");
    return sessionOf((await this.call(options, (call) => this.rpc(SessionService).getSession(request, call))).session);
  }

  /** Yields sessions, with a filter as on the command line, such as `status=RUNNING`. */
  listSessions(filter = "", options: CallOptions = {}): AsyncGenerator<Session, void, undefined> {
    const page = (pageToken: string, call: object) => this.rpc(SessionService).listSessions({ filter, pageToken, session: this.session }, call);
    return this.pages(options, page, (answer) => answer.sessions.map(sessionOf));
  }

  /** Continues a session that has finished. With a prompt, a runner resumes its agent. */
  async resumeSession(sessionId: string, options: ChangeOptions & { prompt?: string } = {}): Promise<Session> {
    const request = { sessionId, session: this.session, prompt: options.prompt ?? "", ...keyOf(options) };
    return sessionOf((await this.call(options, (call) => this.rpc(SessionService).resumeSession(request, call))).session);
  }

  /** Deletes a session that has ended, by id or name; with `cascade`, those below it too. */
  async deleteSession(sessionId: string, options: CallOptions & { cascade?: boolean } = {}): Promise<void> {
    const request = { sessionId, cascade: options.cascade ?? false };
    await this.call(options, (call) => this.rpc(SessionService).deleteSession(request, call));
  }

  /**
   * Adds entries that all calls of a session, by default the client's, and of those below it must meet (S22.24). With `replace`, for
   * operators, they are in place of those that there are.
   */
  async narrowSession(only: Json | undefined, options: CallOptions & { id?: string; replace?: boolean } = {}): Promise<Session> {
    const request = { sessionId: options.id || this.session, session: this.session, only: encode("only", only), replace: options.replace ?? false };
    return sessionOf((await this.call(options, (call) => this.rpc(SessionService).narrowSession(request, call))).session);
  }

  /** Mints a token at a session, by default the client's. It can do no more than the caller's own (S22.20). */
  async mintSessionToken(sessionId = "", options: TokenOptions = {}): Promise<SessionToken> {
    const request = {
      sessionId: sessionId || this.session, session: this.session, forSession: options.session ?? "", branch: options.branch ?? "",
      name: options.name ?? "", ttlSeconds: BigInt(options.ttlSeconds ?? 0), only: encode("only", options.only),
    };
    const { token, secret } = await this.call(options, (call) => this.rpc(SessionService).mintSessionToken(request, call));
    if (!token) throw new TypeError("the answer has no token");
    return sessionTokenOf(token, secret);
  }

  /** Lists the tokens that were minted at a session, by default the client's, and have not expired, oldest first. */
  async listSessionTokens(sessionId = "", options: CallOptions = {}): Promise<SessionToken[]> {
    const request = { sessionId: sessionId || this.session, session: this.session };
    const { tokens } = await this.call(options, (call) => this.rpc(SessionService).listSessionTokens(request, call));
    return tokens.map((token) => sessionTokenOf(token));
  }

  /**
   * Revokes a token that was minted at a session, by default the client's, with those that were minted with it. Without a token, it
   * revokes all of the session and of the sessions below it. Returns the tokens of the session.
   */
  async revokeSessionTokens(tokenId = "", options: CallOptions & { id?: string } = {}): Promise<SessionToken[]> {
    const request = { sessionId: options.id || this.session, session: this.session, tokenId };
    const { tokens } = await this.call(options, (call) => this.rpc(SessionService).revokeSessionTokens(request, call));
    return tokens.map((token) => sessionTokenOf(token));
  }

  /** Returns the result of a session, by default of the client's: given by its agent, or else its final message. NOT_FOUND for none. */
  async sessionResult(sessionId = "", options: CallOptions = {}): Promise<Json | undefined> {
    const request = { sessionId: sessionId || this.session, session: this.session };
    const answer = await this.call(options, (call) => this.rpc(SessionService).getSessionResult(request, call));
    return decode(answer.result);
  }
}
