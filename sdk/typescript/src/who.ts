/** Callers, tokens, halts, freezes and exceptions: their types, and how they are read. */
import type { DecisionRecord as RecordMessage, Human as HumanMessage } from "./gen/interlock/policy/v1/decision_pb.js";
import type { Refusal as RefusalMessage } from "./gen/interlock/policy/v1/decision_service_pb.js";
import type { Exception as ExceptionMessage } from "./gen/interlock/policy/v1/exception_pb.js";
import type { WhoAmIResponse } from "./gen/interlock/policy/v1/policy_enforcer_service_pb.js";
import { HaltKindSchema, type Freeze as FreezeMessage, type Halt as HaltMessage } from "./gen/interlock/identity/v1/halt_pb.js";
import type { SessionHuman, SessionToken as TokenMessage } from "./gen/interlock/state/v1/session_pb.js";
import { time, word } from "./convert.js";
import { decode, type Json } from "./json.js";

/** The person on whose behalf a call is made, or a session works. */
export interface Human {
  /** Unique among the people of the issuer. */
  readonly name: string;
  /** Who vouches for it; empty for people of this deployment. */
  readonly issuer: string;
  /** How far the facts are trusted: claimed, gateway, issuer or operator. */
  readonly source: string;
  /** `groups` has all groups of the person. Records of decisions have none. */
  readonly groupsKnown: boolean;
  readonly groups: readonly string[];
  readonly attributes: Json | undefined;
  readonly authenticatedAt: Date | undefined;
  /** When the facts end; undefined for never. */
  readonly expiresAt: Date | undefined;
}

/** A client as the server knows it. */
export interface Caller {
  readonly principal: string;
  readonly role: string;
  /** The kind of its token: static, session, oidc or person; empty without one. */
  readonly token: string;
  /** Names the token and does not reveal it. */
  readonly tokenId: string;
  /** That of this call. */
  readonly namespace: string;
  /** Those that it may call in: "*" is every one. */
  readonly namespaces: readonly string[];
  readonly sessionId: string;
  /** The only branch of the session's run that it may act in; empty for any. */
  readonly branch: string;
  /** The person that it is; empty for none. */
  readonly person: string;
  /** How that person has shown to be there; empty for nothing. */
  readonly presence: string;
  /** The program that has passed on the person's request; empty for none. */
  readonly relay: string;
  readonly via: string;
  /** When its token ends; undefined where that is not known. */
  readonly expiresAt: Date | undefined;
  /** On whose behalf it acts; undefined where that is not known. */
  readonly human: Human | undefined;
  /** The agent that the session has started from; empty for none. */
  readonly agent: string;
  /** Names of the sessions above its own and of that, the root first. */
  readonly lineage: readonly string[];
  /** What it may do, in a sentence. */
  readonly may: string;
}

/** Who made a call, and for whom, as the record of its decision keeps it. */
export interface Identity {
  readonly principal: string;
  readonly role: string;
  /** The kind of its token: static, session, oidc or person; empty without one. */
  readonly token: string;
  /** How the call came: hook, mcp, rest, grpc, authzen or ext_authz; empty where no service vouches for that. */
  readonly via: string;
  /** The person that the principal is; empty for none. */
  readonly person: string;
  /** On whose behalf the call was made; undefined where that is not known. */
  readonly human: Human | undefined;
  readonly agent: string;
  readonly agentVersion: number;
  /** Name of the root of the session's tree. */
  readonly rootSession: string;
  /** Names of the sessions above the call's own and of that, the root first. */
  readonly lineage: readonly string[];
  /** Those of the human that the deployment keeps in the log. */
  readonly attributes: Readonly<Record<string, string>>;
}

/** A token that is bound to a session (S22.20). */
export interface SessionToken {
  readonly id: string;
  /** Name of the principal. */
  readonly name: string;
  /** The only session that it may act in. */
  readonly session: string;
  /** The only branch of that session's run; empty for any. */
  readonly branch: string;
  /** The entries that its calls must meet in addition to those of its session; undefined for none. */
  readonly only: Json | undefined;
  readonly mintedBy: string;
  /** The session token that it was minted with, and with which it ends; empty for none. */
  readonly mintedWith: string;
  readonly issuedAt: Date | undefined;
  readonly expiresAt: Date | undefined;
  readonly revokedAt: Date | undefined;
  readonly revokedBy: string;
  /** The token itself; only of one that was just minted. */
  readonly secret: string;
}

/** A caller that was refused before there was a decision. */
export interface Refusal {
  readonly time: Date | undefined;
  /** Empty when it is not known. */
  readonly principal: string;
  readonly role: string;
  /** grpc, or http for REST, MCP, hooks and AuthZEN. */
  readonly face: string;
  readonly method: string;
  /** The code of the refusal, such as UNAUTHENTICATED. */
  readonly reason: string;
  /** The session of the credentials. */
  readonly sessionId: string;
  /** The session that the call asked for, if that is another one. */
  readonly askedSessionId: string;
  readonly askedRunId: string;
  readonly askedNamespace: string;
  /** The address that the call came from; empty when it is not known. */
  readonly from: string;
  /** The refusals for the same reason since the one before. */
  readonly more: number;
}

/** The work that a halt stops. The name is empty for a namespace and for all. */
export interface HaltScope {
  readonly kind: "session" | "workflow" | "principal" | "person" | "human" | "group" | "agent" | "namespace" | "all";
  readonly name?: string;
}

/** Stops all work in its scope, from the answer to its creation until it is lifted (S23.40). */
export interface Halt {
  readonly id: string;
  readonly scope: HaltScope;
  /** Empty for a halt of the whole deployment. */
  readonly namespace: string;
  readonly reason: string;
  readonly createdBy: string;
  readonly createdAt: Date | undefined;
  /** Only the role root may lift it. */
  readonly byRoot: boolean;
  /** Of one that was just made: the caller had not made the same before. */
  readonly created: boolean;
}

/** Stops some transitions of workflows until a time (S25.12). */
export interface Freeze {
  readonly id: string;
  /** A name of workflows, in which * stands for any text. */
  readonly workflow: string;
  readonly namespace: string;
  readonly reason: string;
  readonly createdBy: string;
  readonly createdAt: Date | undefined;
  /** When it ends by itself. */
  readonly until: Date | undefined;
  /** Only the role root may lift it. */
  readonly byRoot: boolean;
  /** Of one that was just made: the caller had not made the same before. */
  readonly created: boolean;
}

/** Whose calls pass a rule, and which: all members that are set must fit. */
export interface ExceptionScope {
  readonly principal?: string;
  readonly human?: string;
  readonly group?: string;
  /** Name of a session, with all below it. */
  readonly session?: string;
  /** A condition on the call. */
  readonly when?: Json | undefined;
}

/** Lets some calls pass a rule of a policy for a time (S22.13). */
export interface PolicyException {
  readonly id: string;
  readonly policy: string;
  /** JSON Pointer into the policy, such as "/deny/1". */
  readonly rule: string;
  readonly scope: ExceptionScope;
  readonly until: Date | undefined;
  readonly reason: string;
  readonly createdBy: string;
  readonly createdAt: Date | undefined;
  /** A second operator has to confirm it: it does not count until then. */
  readonly pending: boolean;
  readonly confirmedBy: string;
}

export function humanOf(h: HumanMessage | SessionHuman | undefined): Human | undefined {
  return h && {
    name: h.name, issuer: h.issuer, source: h.source, groupsKnown: h.groupsKnown, groups: h.groups, attributes: decode(h.attributes),
    authenticatedAt: time(h.authenticatedAt), expiresAt: time(h.expires),
  };
}

export function callerOf(r: WhoAmIResponse): Caller {
  return {
    principal: r.principal, role: r.role, token: r.token, tokenId: r.tokenId, namespace: r.namespace, namespaces: r.namespaces,
    sessionId: r.sessionId, branch: r.branch, person: r.person, presence: r.presence, relay: r.relay, via: r.via, expiresAt: time(r.expires),
    human: humanOf(r.human), agent: r.agent, lineage: r.lineage, may: r.may,
  };
}

export function identityOf({ identity: i }: RecordMessage): Identity | undefined {
  return i && {
    principal: i.principal, role: i.role, token: i.token, via: i.via, person: i.person, human: humanOf(i.human), agent: i.agent,
    agentVersion: Number(i.agentVersion), rootSession: i.rootSession, lineage: i.lineage, attributes: i.attributes,
  };
}

export function sessionTokenOf(t: TokenMessage, secret = ""): SessionToken {
  return {
    id: t.tokenId, name: t.name, session: t.session, branch: t.branch, only: decode(t.only), mintedBy: t.mintedBy, mintedWith: t.mintedWith,
    issuedAt: time(t.issuedAt), expiresAt: time(t.expiresAt), revokedAt: time(t.revokedAt), revokedBy: t.revokedBy, secret,
  };
}

export function refusalOf(r: RefusalMessage): Refusal {
  const of = r.refused;
  return {
    time: time(r.time), principal: r.principal, role: of?.role ?? "", face: of?.face ?? "", method: of?.method ?? "", reason: of?.reason ?? "",
    sessionId: of?.sessionId ?? "", askedSessionId: of?.askedSessionId ?? "", askedRunId: of?.askedRunId ?? "",
    askedNamespace: of?.askedNamespace ?? "", from: of?.from ?? "", more: Number(of?.more ?? 0),
  };
}

export function haltOf(h: HaltMessage | undefined, created = false): Halt {
  if (!h) throw new TypeError("the answer has no halt");
  const kind = word(HaltKindSchema, h.scope?.kind ?? 0).toLowerCase() as HaltScope["kind"];
  return {
    id: h.id, scope: { kind, name: h.scope?.name ?? "" }, namespace: h.namespace, reason: h.reason, createdBy: h.createdBy,
    createdAt: time(h.createdAt), byRoot: h.byRoot, created,
  };
}

export function freezeOf(f: FreezeMessage | undefined, created = false): Freeze {
  if (!f) throw new TypeError("the answer has no freeze");
  const { id, workflow, namespace, reason, createdBy, byRoot } = f;
  return { id, workflow, namespace, reason, createdBy, createdAt: time(f.createdAt), until: time(f.until), byRoot, created };
}

export function exceptionOf(e: ExceptionMessage | undefined): PolicyException {
  if (!e) throw new TypeError("the answer has no exception");
  const s = e.scope;
  return {
    id: e.exceptionId, policy: e.policy, rule: e.rule,
    scope: { principal: s?.principal ?? "", human: s?.human ?? "", group: s?.group ?? "", session: s?.sessionId ?? "", when: s && decode(s.when) },
    until: time(e.until), reason: e.reason, createdBy: e.createdBy, createdAt: time(e.createdAt), pending: e.pending, confirmedBy: e.confirmedBy,
  };
}
