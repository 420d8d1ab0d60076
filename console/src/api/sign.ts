import { CallError, change, type Schemas } from "./client";

export type Statement = Schemas["ApprovalStatement"];
export type Signature = Schemas["DecisionSignature"];
export type Vote = Schemas["StatementRequest"];

/** Codes of callers and approvals for which there is no statement: a vote that needs none is cast without. */
const unsigned = new Set(["PERSON_REQUIRED", "SIGNATURE_MISMATCH"]);

/** Returns the statement of a vote, or undefined where the caller has no passkey for it and the terms demand none. */
export async function statementOf(vote: Vote, demanded: boolean): Promise<Statement | undefined> {
  const statement = await change<Statement>("POST", "/v1/approvals/statement", vote).catch((e) => {
    if (!demanded && e instanceof CallError && unsigned.has(e.problem?.approval?.code ?? "")) return undefined;
    throw e;
  });
  if (!statement || (!statement.presence && passkeysOf(statement).length === 0)) return undefined;
  await check(statement, vote);
  return statement;
}

/** Returns the ids of the passkeys that can sign a statement. */
export const passkeysOf = (s: Statement) =>
  s.rp_id ? s.keys.flatMap((k) => (k.credential_id ? [k.credential_id] : [])) : [];

interface Stated {
  decision: string;
  note_digest?: string;
  lease?: unknown;
  items: { approval_id: string; digest: string; shown: string }[];
}

/** Refuses a statement of another vote, and one whose text is not in what the person is shown. */
export async function check(statement: Statement, vote: Vote) {
  const stated = JSON.parse(statement.statement) as Stated;
  const note = vote.note ? hex(await digest(vote.note)) : "";
  const edited = vote.edited_data !== undefined;
  const same =
    stated.decision === (vote.approve ? "approve" : "reject") &&
    (stated.note_digest ?? "") === note &&
    Boolean(stated.lease) === Boolean(vote.lease) &&
    stated.items.length === vote.items.length &&
    stated.items.every(
      (item, i) =>
        item.approval_id === vote.items[i]?.approval_id &&
        (edited || item.digest === vote.items[i]?.digest) &&
        statement.shown.includes(item.shown),
    );
  if (!same) throw new Error("The server returned a statement of another decision. Nothing was signed or decided.");
}

const digest = (text: string) => crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
const hex = (bytes: ArrayBuffer) => Array.from(new Uint8Array(bytes), (b) => b.toString(16).padStart(2, "0")).join("");

/** base64url without padding. */
export function encoded(bytes: ArrayBuffer): string {
  let text = "";
  for (const b of new Uint8Array(bytes)) text += String.fromCharCode(b);
  return btoa(text).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

export function decoded(text: string): Uint8Array<ArrayBuffer> {
  const raw = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
  return Uint8Array.from(raw, (c) => c.charCodeAt(0));
}

/** Signs a statement with a passkey of the caller. The browser asks the person. */
export async function sign(statement: Statement): Promise<Signature> {
  const passkeys = passkeysOf(statement);
  if (!statement.rp_id || passkeys.length === 0)
    throw new Error(
      "No passkey is registered for you here. Register one, or sign with interlock approval approve --sign ssh.",
    );
  const key = (await navigator.credentials.get({
    publicKey: {
      // The challenge is made of the text itself, and not taken from the answer.
      challenge: await digest(statement.statement),
      rpId: statement.rp_id,
      userVerification: "required",
      allowCredentials: passkeys.map((id) => ({ type: "public-key", id: decoded(id) })),
    },
  })) as PublicKeyCredential | null;
  if (!key) throw new Error("No passkey has signed.");
  const answer = key.response as AuthenticatorAssertionResponse;
  return {
    statement: statement.statement,
    passkey: {
      credential_id: encoded(key.rawId),
      authenticator_data: encoded(answer.authenticatorData),
      client_data_json: encoded(answer.clientDataJSON),
      signature: encoded(answer.signature),
    },
  };
}
