import { StateService } from "./gen/interlock/state/v1/state_service_pb.js";
import { keyOf, type ChangeOptions } from "./base.js";
import { Runs } from "./runs.js";
import { changeOf, deletedChange, stateOf } from "./convert.js";
import { reason } from "./errors.js";
import { JsonText, decode, encode, rewrite, type Json } from "./json.js";
import type { Op } from "./patch.js";
import { pause, retry, yieldMs, type CallOptions, type Deadline } from "./retry.js";
import type { Change, State } from "./state-types.js";

/** A client's shared states. An empty id means the session's state. */
export class States extends Runs {
  /**
   * Makes a state that conforms to a schema, for the client's session as the root of a tree: sessions created under it from then on
   * share the state. The session is made when there is none of that name.
   */
  async createState(schema: string, data: unknown, options: ChangeOptions = {}): Promise<State> {
    const request = { schemaName: schema, data: encode("data", data), session: this.session, ...keyOf(options) };
    return stateOf((await retry(this.deadline(options), (call) => this.rpc(StateService).createState(request, call))).state);
  }

  /** Returns a state, by default the session's, or only the parts that JSON Pointers (RFC 6901) name. */
  async readState(stateId = "", options: CallOptions & { pointers?: readonly string[] } = {}): Promise<State> {
    const request = { stateId: stateId || this.state, session: this.session, pointers: [...(options.pointers ?? [])] };
    const answer = await retry(this.deadline(options), (call) => this.rpc(StateService).getState(request, call));
    return stateOf(answer.state, answer.parts);
  }

  /**
   * Applies operations to a state, by default the session's: all or none, to the document of that moment, so that of concurrent
   * patches none is lost (S10.3). `add`, `replace` and so on make operations. The answer has no data. PATCH_FAILED when the
   * operations do not apply, SCHEMA_VIOLATION when the result does not conform; the state is unchanged then.
   */
  async patchState(stateId: string, ops: readonly Op[], options: ChangeOptions = {}): Promise<State> {
    const change = { case: "patch" as const, value: encode("patch", ops) };
    return this.write(stateId || this.state, { change }, this.deadline(options), keyOf(options));
  }

  /**
   * Reads a state, by default the session's, replaces it by the result of `change`, and starts again when another session was
   * faster: `change` may be called several times, each time with the document as it is then. It returns the new document, or
   * changes the given document and returns undefined. Its exceptions end the update. Numbers that it does not touch stay as
   * they were written.
   *
   * Lost races are tried again until time is up; then it throws VERSION_CONFLICT. If many sessions write at once, use
   * `patchState`, which no race can fail.
   */
  async updateState(stateId: string, change: (document: any) => Json | void, options: ChangeOptions = {}): Promise<State> {
    return this.updateStateText(stateId, (text) => rewrite(text, change), options);
  }

  /** `updateState` on the JSON text of the document. */
  async updateStateText(stateId: string, change: (document: string) => string | Promise<string>, options: ChangeOptions = {}): Promise<State> {
    const deadline = this.deadline(options);
    const within = (): CallOptions => ({
      timeoutMs: Math.max(1, deadline.left()),
      ...(options.signal && { signal: options.signal }),
    });
    for (let lost = 0; ; lost++) {
      const before = await this.readState(stateId, within());
      const dataJson = await change(before.dataJson);
      const data = encode("data", new JsonText(dataJson));
      try {
        const after = await this.write(
          before.id,
          { expectedVersion: BigInt(before.version), change: { case: "data" as const, value: data } },
          deadline,
          keyOf(options),
        );
        return { ...after, dataJson, data: decode(data) };
      } catch (err) {
        const wait = yieldMs(lost);
        if (reason(err) !== "VERSION_CONFLICT" || deadline.endsWithin(wait)) throw err;
        await pause(wait, options.signal);
      }
    }
  }

  private async write(
    stateId: string,
    what: {
      expectedVersion?: bigint;
      change: { case: "patch"; value: Uint8Array<ArrayBuffer> } | { case: "data"; value: Uint8Array<ArrayBuffer> };
    },
    deadline: Deadline,
    key: { idempotencyKey: string },
  ): Promise<State> {
    const request = { stateId, session: this.session, ...key, ...what };
    return stateOf((await retry(deadline, (call) => this.rpc(StateService).updateState(request, call))).state);
  }

  /**
   * Yields every change of a state, by default the session's, after a version, then those that come; without a version only those
   * that come. Versions are in order and none is twice. One is missing only where the server keeps no such old ones. The state
   * must be there and readable to begin with.
   *
   * It ends with the state's deletion, with an error, or when the signal is aborted, which is an error too. A temporary failure
   * is not an error: the watch continues from the last version.
   */
  async *watchState(stateId = "", options: { after?: number; signal?: AbortSignal } = {}): AsyncGenerator<Change, void, undefined> {
    const { signal } = options;
    // No part is asked for, so this answers which state it is and its version.
    const { id, version } = await this.readState(stateId, { pointers: ["/"], ...(signal && { signal }) });
    let after = options.after ?? version;
    const changes = this.stream(
      `state ${id}`,
      async function* (this: States, signal: AbortSignal) {
        const request = { stateId: id, session: this.session, afterVersion: BigInt(after) };
        for await (const answer of this.rpc(StateService).watchState(request, { signal })) {
          if (answer.deleted) return void (yield deletedChange(id));
          if (!answer.change || answer.change.version <= after) continue;
          after = Number(answer.change.version);
          yield changeOf(id, answer.change);
        }
      }.bind(this),
      signal,
    );
    try {
      for await (const change of changes) {
        yield change;
        if (change.deleted) return;
      }
    } catch (err) {
      if (reason(err) !== "NOT_FOUND") throw err;
      yield deletedChange(id); // it was deleted since
    }
  }
}
