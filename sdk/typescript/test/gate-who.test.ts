/** Gates that act for people, and narrow their sessions, against `interlock up`. */
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { Gate, type Refusal } from "../src/gate.js";
import { Interlock } from "../src/index.js";
import { Case } from "./host.js";

const onlySupport = { name: "support", role: "agent", deny: [{ capability: "mcp:crm", unless: { "human.groups": "support" } }] };

interface At {
  thread: string;
  user: string | undefined;
}

let host: Case;
let client: Interlock;
let gate: Gate<At>;

beforeAll(async () => {
  host = await Case.begin(inject("control"), { policies: [onlySupport] });
  client = new Interlock({ server: host.server, token: host.token, namespace: host.namespace });
  gate = new Gate<At>(client, { session: (at) => at.thread, human: (at) => at.user as string, only: [{ tools: ["mcp__crm__open", "Read"] }] });
});

afterAll(async () => {
  await client.close();
  await host.end();
});

async function person(name: string, ...groups: string[]): Promise<string> {
  return ((await host.person({ name, groups })) as { token: string }).token;
}

test("calls are on behalf of the person of the conversation", async () => {
  const ada = { thread: "for-ada", user: await person("ada", "support") };
  const bob = { thread: "for-bob", user: await person("bob", "sales") };
  expect((await gate.ask("mcp__crm__open", {}, ada)).allowed).toBe(true);
  expect((await client.forSession("for-ada").getSession()).human?.name).toBe("ada");
  expect(((await gate.ask("mcp__crm__open", {}, bob)) as Refusal).text).toMatch(/^POLICY_DENIED/);
  expect(((await gate.ask("mcp__crm__drop", {}, ada)) as Refusal).text).toMatch(/^NARROWED/);
});

test.each([undefined, "no-token"])("nobody's token, %s, lets no call pass", async (user) => {
  expect((await gate.ask("mcp__crm__open", {}, { thread: "for-nobody", user })).allowed).toBe(false);
});
