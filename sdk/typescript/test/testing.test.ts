/** The fake of `@interlock/sdk/testing`, and the client's ends of calls on it. */
import { Readable } from "node:stream";
import { describe, expect, test, vi } from "vitest";
import { AwaitingApproval, Denied, Interlock, Result, Unavailable, reason } from "../src/index.js";
import { Fake } from "../src/testing.js";

describe("the fake", () => {
  test("decides by its rules, the newest first, and denies the rest", async () => {
    const fake = new Fake().allow("mcp__*").deny("mcp__mail__send", { code: "EMAIL_DENIED", message: "not to them" });
    const client = fake.client();
    expect((await client.guard("mcp__notes__read", { id: 1 }, () => "note")).value).toBe("note");
    await expect(client.guard("mcp__mail__send", {}, () => "sent")).rejects.toMatchObject({ code: "EMAIL_DENIED", message: "not to them" });
    await expect(client.guard("Bash", {}, () => "ran")).rejects.toMatchObject({ name: "Denied", message: expect.stringContaining('fake.allow("Bash")') });
    expect(fake.calls.map(({ tool, decision, input, session }) => [tool, decision, input, session])).toEqual([
      ["mcp__notes__read", "ALLOW", { id: 1 }, "fake"], ["mcp__mail__send", "DENY", {}, "fake"], ["Bash", "DENY", {}, "fake"],
    ]);
    expect(fake.reports.map(({ tool, ok, output, accounted }) => [tool, ok, output, accounted])).toEqual([["mcp__notes__read", true, "note", true]]);
    expect(() => fake.deny("x", { code: "NONE" as never })).toThrow(/no code/);
  });

  test("an approval admits one call of the same arguments", async () => {
    const fake = new Fake().ask("Deploy");
    const client = fake.client();
    const call = (to: string) => client.guard("Deploy", { to }, () => "deployed");
    const asked = await call("prod").catch((err: unknown) => err as AwaitingApproval);
    expect(asked).toBeInstanceOf(AwaitingApproval);
    await expect(call("prod")).rejects.toMatchObject({ code: "APPROVAL_PENDING", approvalId: (asked as AwaitingApproval).approvalId });
    const waits = client.waitApproval((asked as AwaitingApproval).approvalId);
    fake.approve();
    expect(await waits).toMatchObject({ granted: true });
    await expect(call("test")).rejects.toBeInstanceOf(AwaitingApproval);
    expect((await call("prod")).value).toBe("deployed");
    await expect(call("prod")).rejects.toMatchObject({ code: "APPROVAL_REQUIRED" });
    fake.reject(fake.approvals.at(-1), "not on a Friday");
    await expect(call("prod")).rejects.toMatchObject({ name: "Denied", message: expect.stringContaining("not on a Friday") });
    expect(() => fake.approve("apr_fake_1")).toThrow(/does not wait/);
  });

  test("down and up", async () => {
    const fake = new Fake().allow("Read");
    const client = fake.client();
    fake.down();
    const err = await client.guard("Read", {}, () => 0).catch((e: unknown) => e);
    expect(err).toBeInstanceOf(Unavailable);
    expect([reason(err), (err as Unavailable).retriable]).toEqual(["UNAVAILABLE", true]);
    fake.up();
    await client.guard("Read", {}, () => 0);
  });

  test("a program that makes its own client finds it by the environment", async () => {
    const fake = new Fake().allow("Read");
    const env = await fake.serve();
    for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value);
    const client = Interlock.fromEnv();
    try {
      expect((await client.load("any")).state).toBe("fake");
      await client.transition("DONE");
      await client.guard("Read", {}, () => "text");
      expect((await client.ping()).session).toBe("fake");
      expect([fake.calls.length, fake.reports[0]!.output, fake.events]).toEqual([1, "text", ["DONE"]]);
      fake.down();
      await expect(client.guard("Read", {}, () => 0)).rejects.toBeInstanceOf(Unavailable);
    } finally {
      await client.close();
      fake.close();
      vi.unstubAllEnvs();
    }
  });
});

describe("ends of calls", () => {
  test("the outcome is reported in full", async () => {
    const fake = new Fake().allow("*");
    const client = fake.client();
    await client.guard("Bash", {}, () => new Result({ outcomeUnknown: true, background: "job 1" }), { folder: "/repo", qualifiedTool: "mcp__sh__Bash" });
    const { report } = await client.guard("Bash", {}, () => new Result({ backgroundEnded: "job 1" }));
    expect(report).toMatchObject({ accounted: true, evidence: [], interrupt: undefined, warning: "", run: { id: "run_fake" } });
    expect(fake.calls[0]).toMatchObject({ folder: "/repo", qualifiedTool: "mcp__sh__Bash" });
    expect(fake.reports).toMatchObject([{ outcomeUnknown: true, background: "job 1", ok: true }, { backgroundEnded: "job 1", outcomeUnknown: false }]);
  });

  const three = async function* (): AsyncGenerator<number> {
    yield 1;
    yield 2;
    yield 3;
  };

  test.each([
    ["an async generator", three],
    ["a generator", function* () { yield* [1, 2, 3]; }],
    ["a function that returns one", async () => three()],
    ["a stream", () => Readable.from([1, 2, 3])],
  ])("%s is judged before its first item, and reported when it has ended", async (_, body) => {
    const fake = new Fake().allow("Search");
    const result = await fake.client().guard("Search", {}, body as () => AsyncGenerator<number>);
    const items: number[] = [];
    for await (const item of result.value) {
      items.push(item);
      expect(fake.reports).toEqual([]);
    }
    expect(items).toEqual([1, 2, 3]);
    expect(fake.reports).toMatchObject([{ ok: true, output: "123", outcomeUnknown: false }]);
    expect(result.value.report?.accounted).toBe(true);
  });

  test("a generator that is denied does not begin", async () => {
    const fake = new Fake();
    let begun = false;
    const body = async function* () {
      begun = true;
      yield 1;
    };
    await expect(fake.client().guard("Search", {}, body)).rejects.toBeInstanceOf(Denied);
    expect([begun, fake.reports.length]).toEqual([false, 0]);
  });

  test("a generator that throws has failed; one that is left early has an unknown outcome; one that is not begun was not executed", async () => {
    const fake = new Fake().allow("*");
    const client = fake.client();
    let cleaned = 0;
    const body = async function* () {
      try {
        yield 1;
        throw new RangeError("mine");
      } finally {
        cleaned++;
      }
    };
    const throwing = (await client.guard("a", {}, body)).value;
    await throwing.next();
    await expect(throwing.next()).rejects.toBeInstanceOf(RangeError);
    for await (const _ of (await client.guard("b", {}, body)).value) break;
    const unused = (await client.guard("c", {}, body)).value;
    await unused.return();
    await unused.return();
    await vi.waitFor(() => expect(fake.reports).toHaveLength(3));
    expect(fake.reports.map(({ tool, ok, outcomeUnknown, notExecuted }) => [tool, ok, outcomeUnknown, notExecuted])).toEqual([
      ["a", false, false, false], ["b", false, true, false], ["c", false, false, true],
    ]);
    expect(cleaned).toBe(2);
  });

  test("values that are no streams are values", async () => {
    const client = new Fake().allow("*").client();
    for (const value of [[1, 2], "text", new Map([[1, 2]]), new Uint8Array([1]), { next: 1 }, null, 7]) {
      expect((await client.guard("x", {}, () => value)).value).toBe(value);
    }
  });

  test("a body that fails after its caller has gone away has an unknown outcome", async () => {
    const fake = new Fake().allow("*");
    const gone = new AbortController();
    const body = async (signal?: AbortSignal): Promise<void> => {
      gone.abort();
      signal!.throwIfAborted();
    };
    await expect(fake.client().guard("Bash", {}, body, { signal: gone.signal })).rejects.toMatchObject({ name: "AbortError" });
    expect(fake.reports).toMatchObject([{ ok: false, outcomeUnknown: true, notExecuted: false }]);
  });

  test("a check that is cancelled runs nothing, and leaves no call open", async () => {
    const fake = new Fake().allow("*");
    let ran = 0;
    for (let i = 0; i < 40; i++) {
      const gone = new AbortController();
      const call = fake.client().guard("Bash", { i }, () => ran++, { signal: gone.signal });
      for (let turn = 0; turn < i; turn++) await null; // at every await of the check
      gone.abort();
      await call.catch((err: unknown) => err);
    }
    await vi.waitFor(() => expect(fake.openCalls).toEqual([]));
    expect(fake.reports.filter((one) => one.ok).length).toBe(ran);
    expect(fake.reports.some((one) => one.notExecuted)).toBe(true);
  });

  test("an id of the caller's stays the caller's: a cancelled check may be asked again under it", async () => {
    const fake = new Fake().allow("*");
    const gone = new AbortController();
    const call = fake.client().check("Bash", {}, { callId: "mine", signal: gone.signal });
    gone.abort();
    await expect(call).rejects.toBeInstanceOf(Unavailable);
    expect((await fake.client().check("Bash", {}, { callId: "mine" })).decision).toBe("ALLOW");
    expect(fake.reports).toEqual([]);
  });
});
