import { randomBytes } from "node:crypto";

const alphabet = "0123456789abcdefghjkmnpqrstvwxyz";

/** An id of a tool call: "call_" and a UUIDv7 in 26 characters of base32, as the TypeID specification has it. */
export function callId(now: number = Date.now()): string {
  const uuid = randomBytes(16);
  uuid.writeUIntBE(now, 0, 6);
  uuid[6] = (uuid[6]! & 0x0f) | 0x70;
  uuid[8] = (uuid[8]! & 0x3f) | 0x80;
  return "call_" + encode(uuid);
}

/** 128 bits as 26 characters, two zero bits first. */
export function encode(uuid: Uint8Array): string {
  let out = "";
  let acc = 0;
  let bits = 2;
  for (const byte of uuid) {
    acc = ((acc << 8) | byte) & 0xffff;
    bits += 8;
    while (bits >= 5) {
      bits -= 5;
      out += alphabet[(acc >> bits) & 31];
    }
  }
  return out;
}

/** A new key, for one request and its repeats. */
export function idempotencyKey(): string {
  return Array.from(randomBytes(26), (byte) => alphabet[byte & 31]).join("").toUpperCase();
}
