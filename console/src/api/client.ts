// The REST API as the console's pages call it: in the name of the session's cookie.
import { parse } from "./json";
import type { components } from "./schema";

export type Schemas = components["schemas"];
export type Run = Schemas["Run"];
export type Approval = Schemas["Approval"];
export type DecisionRecord = Schemas["DecisionRecord"];

/** A session as /ui/session describes it. */
export interface Session {
  authenticated: boolean;
  name?: string;
  roles?: string[];
  namespace?: string;
  csrf?: string;
  expires_at?: string;
  read_only: boolean;
  notice?: string;
  /** A person's session ends soon unless an open page asks for it. */
  renews?: boolean;
  login: Ways;
}

/** How one can log in. Passkeys are asked for by pages of origins only. */
export interface Ways {
  token: boolean;
  anonymous: boolean;
  issuer: boolean;
  people?: boolean;
  origins?: string[];
}

/** A refusal by the server, or why it could not be asked. status is 0 when it did not answer. */
export class CallError extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly problem?: Schemas["Problem"],
  ) {
    super(message);
  }
}

/** Where pages of this origin keep the session's code: the cookie alone, which other ports get too, gives no access. */
const codeKey = "interlock-code";

/** The code of the session, that every call repeats. */
export const sessionCode = () => localStorage.getItem(codeKey) ?? "";

let session: Session = {
  authenticated: false,
  read_only: false,
  login: { token: true, anonymous: false, issuer: false },
};
const listeners = new Set<() => void>();

export const currentSession = () => session;

export function onSession(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

function keep(next: Session) {
  session = next;
  for (const listener of listeners) listener();
}

async function send(path: string, init: RequestInit): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(`/ui${path}`, { credentials: "same-origin", ...init });
  } catch (cause) {
    if (cause instanceof DOMException && cause.name === "AbortError") throw cause;
    throw new CallError(0, "OFFLINE", "The server cannot be reached. What you see may be old; it is tried again.");
  }
  if (response.ok) return response;
  const problem = (await response.json().catch(() => undefined)) as Schemas["Problem"] | undefined;
  const detail = problem?.detail || problem?.title || `the server answered with ${response.status}`;
  const fields = problem?.errors?.map((e) => `${e.parameter || e.pointer || ""} ${e.message}`.trim()) ?? [];
  throw new CallError(
    response.status,
    problem?.code ?? "",
    [detail, ...fields.filter((f) => !detail.includes(f))].join("; "),
    problem,
  );
}

/** Asks who is logged in. */
export async function loadSession(): Promise<Session> {
  const response = await send("/session", { headers: { "X-Interlock-CSRF": sessionCode() } });
  keep((await response.json()) as Session);
  return session;
}

/** The code of the refusal of a link that would take the place of a session. */
export const signedIn = "SIGNED_IN";

/** A challenge for a passkey, as the server gives it: bytes are base64url. */
export interface Challenge {
  challenge_id: string;
  challenge: string;
  rp_id: string;
  origins?: string[];
}

/** Requests the challenge of a log-in by passkey. */
export async function challenge(): Promise<Challenge> {
  const response = await send("/session/challenge", { method: "POST" });
  return (await response.json()) as Challenge;
}

/** Reads whom a code of an invitation is for: an empty name for the first person. It does not use the code up. */
export async function invitedBy(code: string): Promise<string> {
  const response = await fetch("/v1/login/invitation", {
    method: "POST",
    credentials: "omit",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ code }),
  });
  return response.ok ? ((await response.json()) as Schemas["Invited"]).person : "";
}

/** A way to log in: the code of a link, a token, a passkey, a name and passphrase, a new key, or none of these. */
export interface Credentials {
  code?: string;
  token?: string;
  anonymous?: boolean;
  namespace?: string;
  replace?: boolean;
  person?: string;
  passphrase?: string;
  passkey?: Record<string, string>;
  register?: Record<string, string>;
}

/** Logs in. */
export async function login(credentials: Credentials) {
  const response = await send("/session", {
    method: "POST",
    headers: { "Content-Type": "application/json", "X-Interlock-CSRF": sessionCode() },
    body: JSON.stringify(credentials),
  });
  const begun = (await response.json()) as Session;
  localStorage.setItem(codeKey, begun.csrf ?? "");
  keep(begun);
}

export async function logout() {
  await send("/session", { method: "DELETE", headers: { "X-Interlock-CSRF": sessionCode() } });
  localStorage.removeItem(codeKey);
  await loadSession();
}

export type Query = Record<string, string | number | boolean | undefined>;

export function withQuery(path: string, query: Query = {}): string {
  const params = new URLSearchParams();
  for (const [key, value] of Object.entries(query)) {
    if (value !== undefined && value !== "") params.set(key, String(value));
  }
  const text = params.toString();
  return text ? `${path}?${text}` : path;
}

async function call<T>(method: string, path: string, body?: unknown, signal?: AbortSignal, headers?: HeadersInit) {
  const text = typeof body === "string" ? body : body === undefined ? undefined : JSON.stringify(body);
  try {
    const response = await send(`/api${path}`, {
      method,
      signal,
      body: text,
      headers: {
        Accept: "application/json",
        ...(text === undefined ? {} : { "Content-Type": "application/json" }),
        "X-Interlock-CSRF": sessionCode(),
        ...headers,
      },
    });
    return (response.status === 204 ? undefined : parse(await response.text())) as T;
  } catch (error) {
    // A session that ended shows the log-in, and keeps the page's address.
    if (error instanceof CallError && error.status === 401) await loadSession().catch(() => undefined);
    throw error;
  }
}

export const get = <T>(path: string, query?: Query, signal?: AbortSignal) =>
  call<T>("GET", withQuery(path, query), undefined, signal);

/** A POST that only asks, without changes. */
export const ask = <T>(path: string, body: unknown, signal?: AbortSignal) => call<T>("POST", path, body, signal);

/** A change. The same key makes a repeat of it the same change. A role of the session is used where one is given. */
export const change = <T>(
  method: "POST" | "PUT" | "PATCH" | "DELETE",
  path: string,
  body?: unknown,
  key?: string,
  role?: string,
) =>
  call<T>(method, path, body, undefined, {
    ...(key ? { "Idempotency-Key": key } : {}),
    ...(role ? { "X-Interlock-Role": role } : {}),
  });

export const segment = encodeURIComponent;
