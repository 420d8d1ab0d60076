import { expect, test } from "vitest";
import { check, decoded, encoded, type Statement, type Vote } from "./sign";

test("bytes are base64url without padding", () => {
  const bytes = new Uint8Array([251, 255, 254, 0, 1]);
  expect(encoded(bytes.buffer)).toBe("-__-AAE");
  expect(decoded("-__-AAE")).toEqual(bytes);
});

// S23.60
test("a statement of another decision, or with a text that is not shown, is not signed", async () => {
  const shown = 'Event "SHIP"\n';
  const item = { approval_id: "apr_1", digest: "d1", shown };
  const vote: Vote = { approve: true, note: "", items: [{ approval_id: "apr_1", digest: "d1" }] };
  const statement = (stated: object): Statement => ({
    statement: JSON.stringify({ decision: "approve", items: [item], ...stated }),
    shown: `I, "ann", approve:\n${shown}`,
    challenge: "",
    presence: false,
    keys: [],
    expires_at: "",
  });
  await check(statement({}), vote);
  const noted = { note_digest: "d9bc6a1c3e3ad2c6f4d1f5dd4d3ed1b7fbbe5e3c3bb0c7bd4a4b0dce4d6ec6b3" };
  for (const [what, stated, other] of [
    ["the other decision", { decision: "reject" }, vote],
    ["another approval", { items: [{ ...item, approval_id: "apr_2" }] }, vote],
    ["another action", { items: [{ ...item, digest: "d2" }] }, vote],
    ["another text", { items: [{ ...item, shown: 'Event "DROP"\n' }] }, vote],
    ["one more", { items: [item, { ...item, approval_id: "apr_2" }] }, vote],
    ["a note", noted, vote],
    ["no note", {}, { ...vote, note: "fine" }],
    ["a lease", { lease: { calls: 5 } }, vote],
    ["no lease", {}, { ...vote, lease: { calls: 5 } }],
  ] as const)
    await expect(check(statement(stated), other), what).rejects.toThrow("another decision");
  await check(statement({ items: [{ ...item, digest: "of the edited data" }] }), { ...vote, edited_data: { a: 1 } });
});
