/** The gate that adapters share: a verdict is of one call, and admits it once. */
import { describe, expect, test, vi } from "vitest";
import { Gate, digestOf, type Allowed, type Verdict } from "../src/gate.js";
import { Denied } from "../src/index.js";
import { Decision } from "../src/gen/interlock/policy/v1/decision_pb.js";
import { PolicyEnforcerService, type ReportToolCallRequest } from "../src/gen/interlock/policy/v1/policy_enforcer_service_pb.js";
import { Fake } from "../src/testing.js";
import { inMemory } from "./memory.js";

type Context = { session: string };
const at = (session: string): Context => ({ session });

function gated() {
  const fake = new Fake().allow("*");
  const warned: string[] = [];
  const gate = new Gate<Context>(fake.client(), { session: (context) => context.session, onWarning: (message) => warned.push(message) });
  return { fake, gate, warned };
}

describe("a verdict that is kept", () => {
  test("is of the session, the tool, the arguments and the call's id", async () => {
    const { gate } = gated();
    const verdict = await gate.ask("deploy", { to: "a", now: true }, at("one"));
    for (const [tool, args, session, id] of [
      ["deploy", { to: "a", now: true }, "two", "functions.deploy:0"],
      ["read", { to: "a", now: true }, "one", "functions.deploy:0"],
      ["deploy", { to: "b", now: true }, "one", "functions.deploy:0"],
      ["deploy", { to: "a", now: true }, "one", "functions.deploy:1"],
      ["deploy", { to: "a", now: true, more: null }, "one", "functions.deploy:0"],
      ["deploy", '{"to":"a"}', "one", "functions.deploy:0"],
    ] as const) {
      gate.keep(verdict, "functions.deploy:0");
      expect(gate.take(tool, args, at(session), id), JSON.stringify([tool, args, session, id])).toBeUndefined();
    }
    expect(gate.has("deploy", '{"now":true, "to":"a"}', at("one"), "functions.deploy:0")).toBe(true);
    expect(gate.take("deploy", '{"now":true, "to":"a"}', at("one"), "functions.deploy:0")).toBe(verdict);
    expect(gate.take("deploy", { to: "a", now: true }, at("one"), "functions.deploy:0")).toBeUndefined();
  });

  test("a session that cannot be named has none", async () => {
    const { gate } = gated();
    gate.keep(await gate.ask("deploy", {}, at("one")), "1");
    expect(gate.take("deploy", {}, at(""), "1")).toBeUndefined();
  });

  test("one that another replaces, or that is forgotten, is settled as not executed", async () => {
    const { fake, gate } = gated();
    const [first, second, other] = [await gate.ask("a", {}, at("one")), await gate.ask("a", {}, at("one")), await gate.ask("a", {}, at("two"))];
    gate.keep(first, "1");
    gate.keep(second, "1");
    gate.keep(other, "1");
    await vi.waitFor(() => expect(fake.reports.map((one) => one.callId)).toEqual([(first as Allowed).decision.callId]));
    gate.forget(at("one"));
    await vi.waitFor(() => expect(fake.openCalls.map((one) => one.session)).toEqual(["two"]));
    expect(fake.reports.every((one) => one.notExecuted)).toBe(true);
    await expect(gate.perform(first, () => 0)).rejects.toBeInstanceOf(Denied);
  });
});

describe("a verdict", () => {
  test("admits one run", async () => {
    const { gate } = gated();
    const verdict = await gate.ask("a", {}, at("one"));
    let ran = 0;
    const both = await Promise.allSettled([gate.perform(verdict, () => ran++), gate.perform(verdict, () => ran++)]);
    expect([ran, both.map((one) => one.status).sort()]).toEqual([1, ["fulfilled", "rejected"]]);
  });

  test("of another gate, a made one, and a refusal admit nothing", async () => {
    const { gate, fake } = gated();
    const theirs = await gated().gate.ask("a", {}, at("one"));
    const mine = await gate.ask("a", {}, at("one"));
    fake.deny("no");
    for (const verdict of [theirs, { ...mine } as Verdict, await gate.ask("no", {}, at("one"))]) {
      await expect(gate.perform(verdict, () => 0)).rejects.toBeInstanceOf(Denied);
    }
  });

  test("a tool finds the verdict under which it was called, if it is its own", async () => {
    const { gate } = gated();
    const verdict = await gate.ask("deploy", { to: "a" }, at("one"));
    expect(gate.permitted("deploy", { to: "a" })).toBeUndefined();
    await gate.permit(verdict, async () => {
      await null;
      expect(gate.permitted("deploy", { to: "a" })).toBe(verdict);
      expect(gate.permitted("deploy", { to: "b" })).toBeUndefined();
      expect(gate.permitted("read", { to: "a" })).toBeUndefined();
      expect(gated().gate.permitted("deploy", { to: "a" })).toBeUndefined();
      await gate.perform(verdict, () => {
        // What the tool calls has a verdict of its own.
        expect(gate.permitted("deploy", { to: "a" })).toBeUndefined();
      });
      expect(gate.permitted("deploy", { to: "a" })).toBeUndefined();
    });
    await gate.permit({ ...(await gate.ask("deploy", {}, at("one"))) } as Verdict, async () => expect(gate.permitted("deploy", {})).toBeUndefined());
  });

  test("runs with the arguments that were judged", async () => {
    const { fake, gate } = gated();
    const args = { path: "a", list: [{ n: 1 }], when: new Date(0) };
    const asked = gate.ask("write", args, at("one"));
    args.path = "b";
    args.list[0]!.n = 2;
    const { value } = await gate.perform(await asked, (given) => given);
    expect(value).toEqual({ path: "a", list: [{ n: 1 }], when: new Date(0) });
    expect(fake.calls[0]!.input).toEqual({ path: "a", list: [{ n: 1 }], when: "1970-01-01T00:00:00.000Z" });
    const changed = (await gate.ask("write", args, at("one"))) as Allowed;
    (changed.args as { path: string }).path = "c";
    await expect(gate.perform(changed, () => 0)).rejects.toBeInstanceOf(Denied);
  });

  test("arguments that cannot be judged are refused", async () => {
    const { gate } = gated();
    const loop: Record<string, unknown> = {};
    loop["self"] = loop;
    expect((await gate.ask("a", loop, at("one"))).allowed).toBe(false);
    expect((await gate.ask("a", { n: 1 }, at(""))).allowed).toBe(false);
  });
});

test("the folder is the option's, or else the call's", async () => {
  const { fake, gate } = gated();
  await gate.ask("Bash", {}, at("one"), { folder: "/work" });
  const own = new Gate<Context>(fake.client(), { folder: (context) => (context.session === "one" ? "/own" : undefined) });
  await own.ask("Bash", {}, at("one"), { folder: "/work" });
  await own.ask("Bash", {}, at("two"), { folder: "/work" });
  expect(fake.calls.map((one) => one.folder)).toEqual(["/work", "/own", "/work"]);
});

test.each([
  ["a time-out", Object.assign(new Error("late"), { name: "TimeoutError" }), true],
  ["an abort", new DOMException("gone", "AbortError"), true],
  ["a program that was killed", Object.assign(new Error("killed"), { killed: true }), true],
  ["a connection that was late", Object.assign(new Error("late"), { code: "ETIMEDOUT" }), true],
  ["an error of the tool", new RangeError("mine"), false],
  ["no error at all", "text", false],
])("after %s the outcome is unknown: %s", async (_, err, unknown) => {
  const { fake, gate } = gated();
  const run = () => {
    throw err;
  };
  await expect(gate.perform(await gate.ask("Bash", {}, at("one")), run)).rejects.toBe(err);
  expect(fake.reports).toMatchObject([{ ok: false, outcomeUnknown: unknown }]);
});

test("a check that is aborted is refused, and leaves nothing open", async () => {
  const { fake, gate } = gated();
  const gone = new AbortController();
  const asked = gate.ask("Bash", {}, at("one"), { signal: gone.signal });
  gone.abort();
  expect(await asked).toMatchObject({ allowed: false, text: expect.stringContaining("POLICY_UNAVAILABLE") });
  await vi.waitFor(() => expect(fake.openCalls).toEqual([]));
});

test.each([
  ["{}", "", true], ['{"a":1,"b":2}', { b: 2, a: 1 }, true], ['{"a":1.0}', { a: 1 }, true], ['{"a":9007199254740993}', { a: 9007199254740993n }, true],
  ['{"a":9007199254740993}', '{"a":9007199254740992}', false], ['{"a":[1,2]}', { a: [2, 1] }, false], ['{"a":"1"}', { a: 1 }, false],
  ['{"a":null}', {}, false], ["{", "{ ", false], ['{"é":1}', '{"\\u00e9":1}', true],
])("the digests of %o and %o are the same: %s", (a, b, same) => {
  expect(digestOf(a) === digestOf(b)).toBe(same);
});

test("policies alone judge the calls of a session that drives no run, and its session reports them", async () => {
  const told: ReportToolCallRequest[] = [];
  const client = inMemory((router) => {
    router.service(PolicyEnforcerService, {
      checkToolCall: ({ callId }) => ({ decision: Decision.ALLOW, callId }),
      reportToolCall: (request) => ({ accounted: told.push(request) > 0 }),
    });
  });
  const gate = new Gate<Context>(client, { session: (context) => context.session });
  expect((await gate.perform(await gate.ask("read", {}, at("one")), () => "text")).value).toBe("text");
  expect(told.map((one) => [one.runId, one.sessionId, one.ok])).toEqual([["", "one", true]]);
});
