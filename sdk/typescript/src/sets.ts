/** Sets of definitions, which are applied in one commit: their types, and a client's calls about them. */
import { durationFromMs } from "@bufbuild/protobuf/wkt";
import { DefinitionKindSchema, type DefinitionSet as SetMessage, type SetShadow as ShadowMessage } from "./gen/interlock/policy/v1/set_pb.js";
import { SetService } from "./gen/interlock/policy/v1/set_service_pb.js";
import { time, word } from "./convert.js";
import { attachmentsOf, messagesOf, type Attachment } from "./registry.js";
import type { CallOptions } from "./retry.js";
import { Schedules } from "./schedules.js";

/** The kinds of objects of a set. */
export type DefinitionKind = "workflow" | "process" | "policy" | "schema" | "component";

/** An object that a set owns, as it was applied. */
export interface SetObject {
  readonly kind: DefinitionKind;
  readonly name: string;
  /** The version that the set has made live. */
  readonly version: number;
  /** Hex SHA-256 of its canonical definition. */
  readonly digest: string;
  /** Whether the set also owns the attachments of the policy. */
  readonly ownsAttachments: boolean;
}

/** The change of one object that waits as a shadow. */
export interface ShadowedObject {
  readonly kind: DefinitionKind;
  readonly name: string;
  /** The version that waits; 0 for an object that is to be removed. */
  readonly version: number;
  /** Hex SHA-256 of its canonical definition; empty for an object that is to be removed. */
  readonly digest: string;
  /** The version that was live when the shadow began; 0 for none. */
  readonly liveVersion: number;
  /** The attachments that the policy gets; undefined if they do not change. */
  readonly attachments: readonly Attachment[] | undefined;
  /** Whether calls are judged by the version next to the live rules. */
  readonly judged: boolean;
}

/** The changes of a set that are judged next to the live versions before they are applied (S26.9). */
export interface SetShadow {
  readonly startedAt: Date | undefined;
  /** The first moment at which it can be applied. */
  readonly until: Date | undefined;
  readonly startedBy: string;
  readonly repo: string;
  readonly commit: string;
  readonly objects: readonly ShadowedObject[];
}

/** The record of the definitions that one folder of files owns (S26.4). */
export interface DefinitionSet {
  readonly name: string;
  /** How often it was applied, and its changes made shadows. */
  readonly version: number;
  readonly objects: readonly SetObject[];
  /** Where its files are from; may be empty. */
  readonly repo: string;
  readonly commit: string;
  /** When it was applied last; undefined when it never was. */
  readonly appliedAt: Date | undefined;
  readonly appliedBy: string;
  /** The serial of the bundle that was applied last; 0 when it was not signed. */
  readonly serial: number;
  /** Hex SHA-256 of the statement of that bundle; empty when it was not signed. */
  readonly bundleDigest: string;
  readonly shadow: SetShadow | undefined;
}

/** The change that an application makes to one object. */
export interface SetChange {
  readonly kind: DefinitionKind;
  readonly name: string;
  /** The version that is live, as you have seen it; 0 or undefined for none. */
  readonly expectedVersion?: number;
  /** The version to make live. 0 or undefined to retire a workflow or process, or to delete a policy. */
  readonly version?: number;
  /** Change it although another set owns it, or although it was changed since. */
  readonly take?: boolean;
  /** Attachments that replace those of the policy; undefined to leave them alone. */
  readonly attachments?: readonly Attachment[];
  /** The attachments that it has, as you have seen them. */
  readonly expectedAttachments?: readonly Attachment[];
}

/** What an application may say besides its changes. */
export interface ApplyOptions extends CallOptions {
  /** The version of the set, as you have seen it; 0 or undefined when it was never applied. */
  readonly expectedVersion?: number;
  readonly repo?: string;
  readonly commit?: string;
  /** Change nothing. */
  readonly dryRun?: boolean;
  /** The signed statement of the set, where the server wants one. */
  readonly bundle?: Uint8Array;
  /** How many seconds the changes are shadows before they can be applied; then nothing else changes. */
  readonly shadowSeconds?: number;
  /** End the shadow of the set and apply it at once. */
  readonly now?: boolean;
}

/** A client's sets. */
export class Sets extends Schedules {
  /**
   * Changes all objects of a set in one commit, or none, for operators (S26.5). Versions are registered before, with `staged`.
   * VERSION_CONFLICT when an object is not as expected, or belongs to another set.
   */
  async applySet(name: string, changes: readonly SetChange[], options: ApplyOptions = {}): Promise<DefinitionSet & { readonly changed: boolean }> {
    const request = {
      name, expectedVersion: BigInt(options.expectedVersion ?? 0), repo: options.repo ?? "", commit: options.commit ?? "",
      dryRun: options.dryRun ?? false, bundle: options.bundle ?? new Uint8Array(), now: options.now ?? false,
      ...(options.shadowSeconds && { shadow: durationFromMs(options.shadowSeconds * 1000) }),
      changes: changes.map((c) => ({
        kind: kindOf(c.kind), name: c.name, expectedVersion: BigInt(c.expectedVersion ?? 0), version: BigInt(c.version ?? 0), take: c.take ?? false,
        ownsAttachments: c.attachments !== undefined, attachments: messagesOf([...(c.attachments ?? [])]),
        expectedAttachments: messagesOf([...(c.expectedAttachments ?? [])]),
      })),
    };
    const { set, changed } = await this.call(options, (call) => this.rpc(SetService).applySet(request, call));
    return { ...setOf(set), changed };
  }

  /** Returns a set. NOT_FOUND when it was never applied. */
  async getSet(name: string, options: CallOptions = {}): Promise<DefinitionSet> {
    return setOf((await this.call(options, (call) => this.rpc(SetService).getSet({ name }, call))).set);
  }

  /** Returns the sets of the namespace, by name. */
  async listSets(options: CallOptions = {}): Promise<DefinitionSet[]> {
    return (await this.call(options, (call) => this.rpc(SetService).listSets({}, call))).sets.map(setOf);
  }
}

function kindOf(kind: DefinitionKind): number {
  const known = DefinitionKindSchema.values.filter((one) => one.number !== 0);
  const found = known.find((one) => word(DefinitionKindSchema, one.number).toLowerCase() === kind);
  if (!found) throw new TypeError(`kind must be one of ${known.map((one) => word(DefinitionKindSchema, one.number).toLowerCase()).join(", ")}, not ${JSON.stringify(kind)}`);
  return found.number;
}

const kindWord = (kind: number): DefinitionKind => word(DefinitionKindSchema, kind).toLowerCase() as DefinitionKind;

function shadowOf(s: ShadowMessage): SetShadow {
  return {
    startedAt: time(s.startedAt), until: time(s.until), startedBy: s.startedBy, repo: s.repo, commit: s.commit,
    objects: s.objects.map((o) => ({
      kind: kindWord(o.kind), name: o.name, version: Number(o.version), digest: o.digest, liveVersion: Number(o.liveVersion),
      attachments: o.ownsAttachments ? attachmentsOf(o.attachments) : undefined, judged: o.judged,
    })),
  };
}

function setOf(s: SetMessage | undefined): DefinitionSet {
  if (!s) throw new TypeError("the answer has no set");
  return {
    name: s.name, version: Number(s.version), repo: s.repo, commit: s.commit, appliedAt: time(s.appliedAt), appliedBy: s.appliedBy,
    serial: Number(s.serial), bundleDigest: s.bundleDigest, shadow: s.shadow && shadowOf(s.shadow),
    objects: s.objects.map((o) => ({
      kind: kindWord(o.kind), name: o.name, version: Number(o.version), digest: o.digest, ownsAttachments: o.ownsAttachments,
    })),
  };
}
