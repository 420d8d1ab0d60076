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
  login: { token: boolean; anonymous: boolean; issuer: boolean };
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

/** Logs in by a link's code, a token, or without either where the server allows that. */
export async function login(credentials: {
  code?: string;
  token?: string;
  anonymous?: boolean;
  namespace?: string;
  replace?: boolean;
}) {
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

/** A change. The same key makes a repeat of it the same change. */
export const change = <T>(method: "POST" | "PUT" | "PATCH" | "DELETE", path: string, body?: unknown, key?: string) =>
  call<T>(method, path, body, undefined, key ? { "Idempotency-Key": key } : undefined);

export const segment = encodeURIComponent;
