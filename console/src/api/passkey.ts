// Passkeys of people (WebAuthn), as the server takes them.
import { challenge } from "./client";
import { decoded, encoded } from "./sign";

/** Whether this page's browser has passkeys. An IP address and plain HTTP have none. */
export const hasPasskeys = () => typeof PublicKeyCredential === "function" && isSecureContext;

/** Explains an error of a passkey to people: browsers give one error for a refusal and for a missing key. */
function explained(cause: unknown): Error {
  if (cause instanceof DOMException && cause.name === "NotAllowedError")
    return new Error(
      "No passkey was given: you have cancelled, it took too long, or this device has none for this server.",
    );
  if (cause instanceof DOMException && cause.name === "InvalidStateError")
    return new Error("This device has a passkey of yours already. Use another device or security key.");
  return cause instanceof Error ? cause : new Error(String(cause));
}

/** Has the person's passkey sign a challenge. */
export async function proof(): Promise<Record<string, string>> {
  const given = await challenge();
  const made = await navigator.credentials
    .get({
      publicKey: {
        challenge: decoded(given.challenge),
        rpId: given.rp_id,
        userVerification: "required",
        timeout: 110_000,
      },
    })
    .catch((e) => {
      throw explained(e);
    });
  const key = made as PublicKeyCredential;
  const response = key.response as AuthenticatorAssertionResponse;
  return {
    challenge_id: given.challenge_id,
    credential_id: encoded(key.rawId),
    authenticator_data: encoded(response.authenticatorData),
    client_data_json: encoded(response.clientDataJSON),
    signature: encoded(response.signature),
  };
}

/** Algorithms of keys that the server takes: ES256, Ed25519 and RS256. */
const algorithms = [-7, -8, -257];

/** Makes a passkey for a person. */
export async function create(person: string, known: string[] = []): Promise<Record<string, string>> {
  const given = await challenge();
  const name = person || "Interlock";
  const made = await navigator.credentials
    .create({
      publicKey: {
        challenge: decoded(given.challenge),
        rp: { id: given.rp_id, name: "Interlock" },
        user: { id: crypto.getRandomValues(new Uint8Array(32)), name, displayName: name },
        pubKeyCredParams: algorithms.map((alg) => ({ type: "public-key", alg })),
        authenticatorSelection: { residentKey: "required", requireResidentKey: true, userVerification: "required" },
        // A device that has one of the person's passkeys makes no second one.
        excludeCredentials: known.map((id) => ({ type: "public-key", id: decoded(id) })),
        attestation: "none",
        timeout: 110_000,
      },
    })
    .catch((e) => {
      throw explained(e);
    });
  const response = (made as PublicKeyCredential).response as AuthenticatorAttestationResponse;
  return {
    challenge_id: given.challenge_id,
    client_data_json: encoded(response.clientDataJSON),
    attestation_object: encoded(response.attestationObject),
  };
}
