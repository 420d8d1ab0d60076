/** Every way in which the AI SDK runs a tool, or code beside one: none runs without a verdict of its own. */
import {
  ToolLoopAgent, generateText, isStepCount, streamText, tool, toolSearch, wrapLanguageModel,
  type ModelMessage, type ToolSet,
} from "ai";
import { experimental_toolCaller as toolCaller } from "@ai-sdk/provider-utils";
import { MockLanguageModelV4, simulateReadableStream } from "ai/test";
import { describe, expect, test, vi } from "vitest";
import { z } from "zod";
import { InterlockGate } from "../../src/ai-sdk.js";
import { Fake } from "../../src/testing.js";

type Said = { id: string; tool: string; args: unknown };
const usage: any = { inputTokens: { total: 1 }, outputTokens: { total: 1 } };

/** A model that makes the calls of one turn after the other. */
function model(...turns: Said[][]): MockLanguageModelV4 {
  const next = (): any[] => {
    const calls = turns.shift() ?? [];
    if (calls.length === 0) return [{ type: "text", text: "end" }];
    return calls.map((c) => ({ type: "tool-call", toolCallId: c.id, toolName: c.tool, input: JSON.stringify(c.args) }));
  };
  const finish = (content: any[]): any => ({ unified: content[0].type === "tool-call" ? "tool-calls" : "stop", raw: undefined });
  return new MockLanguageModelV4({
    doGenerate: async () => {
      const content = next();
      return { content, finishReason: finish(content), usage, warnings: [] };
    },
    doStream: async () => {
      const content = next();
      const text = content[0].type === "text" ? [{ type: "text-start", id: "t" }, { type: "text-delta", id: "t", delta: "end" }, { type: "text-end", id: "t" }] : content;
      const chunks: any[] = [{ type: "stream-start", warnings: [] }, ...text, { type: "finish", finishReason: finish(content), usage }];
      return { stream: simulateReadableStream({ chunks, chunkDelayInMs: null, initialDelayInMs: null }) };
    },
  });
}

/** Tools that note that they run. */
function world() {
  const ran: string[] = [];
  const made = (name: string, body: (given: any, options: any) => unknown = () => `${name} is done`) =>
    tool({
      inputSchema: z.object({ to: z.string().optional() }),
      execute: async (given: any, options: any) => {
        ran.push(name + (given.to ? ` ${given.to}` : ""));
        return body(given, options);
      },
    });
  const fake = new Fake().allow("read").allow("delegate").allow("run_code");
  const gate = new InterlockGate(fake.client());
  return { ran, made, fake, gate, tools: { read: made("read"), deploy: made("deploy") } as ToolSet };
}

const told = (fake: Fake): string[] => fake.reports.map((one) => `${one.tool} ${one.notExecuted ? "not executed" : one.outcomeUnknown ? "unknown" : one.ok ? "ok" : "failed"}`);

describe.each([
  ["generateText", async (settings: any) => void (await generateText({ stopWhen: isStepCount(9), ...settings }))],
  [
    "streamText",
    async (settings: any) => {
      for await (const _ of streamText({ stopWhen: isStepCount(9), onError: () => undefined, ...settings }).fullStream) void _;
    },
  ],
  ["ToolLoopAgent", async ({ prompt, messages, ...settings }: any) => void (await new ToolLoopAgent({ stopWhen: isStepCount(9), ...settings }).generate({ prompt, messages } as any))],
])("%s", (name, run) => {
  test("a denied call does not run, though one of its id was allowed", async () => {
    const { ran, fake, gate, tools } = world();
    const same = "functions.deploy:0";
    await run({ ...gate.settings({ model: model([{ id: same, tool: "read", args: {} }], [{ id: same, tool: "deploy", args: {} }]), tools }), prompt: "go" });
    expect([ran, told(fake)]).toEqual([["read"], ["read ok"]]);
  });

  test("a settled call admits no call of another tool, or of other arguments, with its id", async () => {
    const { ran, fake, gate, tools } = world();
    fake.ask("read");
    const asked: ModelMessage[] = [
      { role: "user", content: "go" },
      { role: "assistant", content: [{ type: "tool-call", toolCallId: "0", toolName: "read", input: { to: "a" } }, { type: "tool-approval-request", approvalId: "r", toolCallId: "0" }] },
    ];
    expect((await gate.settle(asked)).waits).toBe(true);
    fake.approve();
    expect((await gate.settle(asked)).waits).toBe(false); // allowed now, and kept
    await run({
      ...gate.settings({ model: model([{ id: "0", tool: "deploy", args: { to: "a" } }], [{ id: "0", tool: "read", args: { to: "b" } }]), tools }),
      prompt: "other",
    });
    expect(ran).toEqual([]);
  });

  test("calls with one id in one turn are judged one by one", async () => {
    const { ran, fake, gate, tools } = world();
    const calls = [{ id: "0", tool: "read", args: { to: "a" } }, { id: "1", tool: "deploy", args: {} }, { id: "2", tool: "read", args: { to: "a" } }];
    await run({ ...gate.settings({ model: model(calls), tools }), prompt: "go" });
    expect(ran).toEqual(["read a", "read a"]);
    expect(fake.calls).toHaveLength(3);
    expect(told(fake)).toEqual(["read ok", "read ok"]);
  });

  test("the tools of an agent within a tool are judged, though it has no gate", async () => {
    const { ran, made, fake, gate, tools } = world();
    const inner = model([{ id: "0", tool: "deploy", args: {} }, { id: "1", tool: "read", args: { to: "inner" } }]);
    const delegate = made("delegate", async () => (await generateText({ model: inner, tools, prompt: "help", stopWhen: isStepCount(5) } as any)).text);
    await run({ ...gate.settings({ model: model([{ id: "0", tool: "delegate", args: {} }]), tools: { ...tools, delegate } }), prompt: "go" });
    expect(ran).toEqual(["delegate", "read inner"]);
    expect(told(fake).sort()).toEqual(["delegate ok", "read ok"]);
  });

  test("an agent within a tool that has a gate is judged by it alone", async () => {
    const { ran, made, fake, gate, tools } = world();
    const theirs = new InterlockGate(fake.client({ session: "inner" }));
    fake.allow("deploy");
    const inner = model([{ id: "0", tool: "deploy", args: {} }]);
    const delegate = made("delegate", async () => (await generateText({ ...theirs.settings({ model: inner, tools }), prompt: "help", stopWhen: isStepCount(5) } as any)).text);
    await run({ ...gate.settings({ model: model([{ id: "0", tool: "delegate", args: {} }]), tools: { delegate } }), prompt: "go" });
    expect(ran).toEqual(["delegate", "deploy"]);
    expect(fake.calls.map(({ tool, session }) => `${tool} ${session}`)).toEqual(["delegate fake", "deploy inner"]);
  });

  test("an agent within a tool that hides the arguments of its tools runs none", async () => {
    const { ran, made, gate, tools } = world();
    const inner = model([{ id: "0", tool: "read", args: {} }]);
    const delegate = made("delegate", async () =>
      (await generateText({ model: inner, tools, prompt: "help", telemetry: { recordInputs: false }, stopWhen: isStepCount(5) } as any)).text);
    await run({ ...gate.settings({ model: model([{ id: "0", tool: "delegate", args: {} }]), tools: { delegate } }), prompt: "go" });
    expect(ran).toEqual(["delegate"]);
  });

  test("a program of the model that calls tools is judged, and so is each of its calls", async () => {
    const { ran, fake, gate, tools } = world();
    const code = (bound: ToolSet) =>
      tool({
        inputSchema: z.object({ code: z.string() }),
        execute: async ({ code }) => {
          ran.push(`run_code ${code}`);
          const out: string[] = [];
          for (const name of ["read", "deploy"]) out.push(await Promise.resolve(bound[name]!.execute!({}, { toolCallId: "0", messages: [] } as any)).then(String, (err: Error) => err.message));
          return out.join();
        },
      });
    const caller = toolCaller(code({}), { type: "local", bind: code } as any);
    const settings = (id: string) => ({
      ...gate.settings({ model: model([{ id, tool: "run_code", args: { code: "both" } }]), tools: { ...tools, run_code: caller } }),
      experimental_toolCallers: { read: ["run_code"], deploy: ["run_code"] },
      prompt: "go",
    });
    await run(settings("0"));
    expect(ran).toEqual(["run_code both", "read"]);
    expect(told(fake)).toEqual(["read ok", "run_code ok"]);
    fake.deny("run_code");
    await run(settings("1"));
    expect(ran).toHaveLength(2);
  });

  test("a tool of another place is judged, and its outcome is unknown; a search of tools is reported", async () => {
    const { fake, gate, tools } = world();
    fake.allow("click").allow("search");
    const click = tool({ inputSchema: z.object({}), outputSchema: z.string() });
    const all = { ...tools, click, search: toolSearch() };
    await run({ ...gate.settings({ model: model([{ id: "0", tool: "search", args: { query: "read" } }], [{ id: "1", tool: "click", args: {} }]), tools: all as any }), prompt: "go" });
    expect(fake.openCalls).toEqual([]);
    expect(told(fake)).toEqual(["search unknown", "click unknown"]);
  });

  test("what a chat says was approved is judged when it runs", async () => {
    const { ran, gate, tools } = world();
    const messages: ModelMessage[] = [
      { role: "user", content: "go" },
      { role: "assistant", content: [{ type: "tool-call", toolCallId: "0", toolName: "deploy", input: {} }, { type: "tool-approval-request", approvalId: "r", toolCallId: "0" }] },
      { role: "tool", content: [{ type: "tool-approval-response", approvalId: "r", approved: true }] },
    ];
    await run({ ...gate.settings({ model: model(), tools }), messages }).catch(() => undefined);
    await run({ ...gate.settings({ model: model(), tools }), toolApproval: () => "approved", messages }).catch(() => undefined);
    expect(ran).toEqual([]);
  });

  test("settings that a program replaces leave its tools judged", async () => {
    const { ran, gate, tools } = world();
    const plain = model([{ id: "0", tool: "deploy", args: {} }]);
    await run({ ...gate.settings({ model: model(), tools }), model: plain, toolApproval: () => "approved", telemetry: { isEnabled: false }, prompt: "go" });
    expect(ran).toEqual([]);
  });

  test("a call that is repaired or refined is judged by the arguments that it gets", async () => {
    const { ran, fake, gate, tools } = world();
    await run({
      ...gate.settings({ model: model([{ id: "0", tool: "read", args: { to: 7 } }], [{ id: "1", tool: "read", args: { to: "x" } }]), tools }),
      repairToolCall: async ({ toolCall }: any) => ({ ...toolCall, input: '{"to":"repaired"}' }),
      experimental_refineToolInput: { read: (input: any) => ({ to: input.to + " refined" }) },
      prompt: "go",
    });
    expect(ran).toEqual(["read repaired refined", "read x refined"]);
    expect(fake.calls.map((one) => (one.input as any).to)).toEqual(["repaired refined", "x refined"]);
  });

  test("a callback that changes the arguments after they were judged has another call judged", async () => {
    const { ran, fake, gate, tools } = world();
    await run({
      ...gate.settings({ model: model([{ id: "0", tool: "read", args: { to: "a" } }]), tools }),
      onToolExecutionStart: ({ toolCall }: any) => void (toolCall.input.to = "changed"),
      prompt: "go",
    });
    expect(fake.calls.map((one) => (one.input as any).to).slice(0, 1)).toEqual(["a"]);
    for (const one of ran) expect(fake.calls.map((call) => `read ${(call.input as any).to}`)).toContain(one);
  });

  test("a call that is aborted in its middle has an unknown outcome", async () => {
    const { made, fake, gate } = world();
    const gone = new AbortController();
    const read = made("read", async (_, { abortSignal }) => {
      gone.abort();
      abortSignal.throwIfAborted();
    });
    if (name === "ToolLoopAgent") return; // its signal is of the call, not of the settings
    await run({ ...gate.settings({ model: model([{ id: "0", tool: "read", args: {} }]), tools: { read } }), abortSignal: gone.signal, prompt: "go" }).catch(() => undefined);
    await vi.waitFor(() => expect(told(fake)).toEqual(["read unknown"]));
  });

  test("a call that is aborted while it is decided is not made, and not left open", async () => {
    const { ran, fake, tools } = world();
    const gone = new AbortController();
    const client = fake.client();
    const check = client.check.bind(client);
    client.check = async (...given) => {
      const decision = await check(...given);
      gone.abort();
      return decision;
    };
    if (name === "ToolLoopAgent") return; // its signal is of the call, not of the settings
    const calls = [{ id: "0", tool: "read", args: {} }, { id: "1", tool: "read", args: { to: "b" } }];
    await run({ ...new InterlockGate(client).settings({ model: model(calls), tools }), abortSignal: gone.signal, prompt: "go" }).catch(() => undefined);
    await vi.waitFor(() => expect(fake.openCalls).toEqual([]));
    await client.close();
    expect(ran).toEqual([]);
    expect(new Set(told(fake))).toEqual(new Set(["read not executed"]));
  });

  test("a result of MCP that says that it is an error is no success", async () => {
    const { made, fake, gate } = world();
    const read = made("read", () => ({ content: [{ type: "text", text: "no such file" }], isError: true }));
    await run({ ...gate.settings({ model: model([{ id: "0", tool: "read", args: {} }]), tools: { read } }), prompt: "go" });
    expect(told(fake)).toEqual(["read failed"]);
  });

  test("a tool that does not end when its time is over has an unknown outcome", async () => {
    const { made, fake, gate } = world();
    let end = (): void => undefined;
    const read = made("read", () => new Promise<void>((resolve) => (end = resolve)));
    await run({ ...gate.settings({ model: model([{ id: "0", tool: "read", args: {} }]), tools: { read } }), timeout: { toolMs: 20 }, prompt: "go" }).catch(() => undefined);
    await vi.waitFor(() => expect(told(fake)).toEqual(["read unknown"]));
    end();
  });

  test("a tool that yields is reported with its last item; one that is aborted meanwhile ends, with an unknown outcome", async () => {
    const { ran, fake, gate } = world();
    const gone = new AbortController();
    const yields = (abort: boolean) =>
      tool({
        inputSchema: z.object({}),
        async *execute() {
          ran.push("first");
          yield "first";
          if (abort) gone.abort();
          yield "second";
          ran.push("last");
        },
      });
    const call = model([{ id: "0", tool: "read", args: {} }], [{ id: "1", tool: "deploy", args: {} }]);
    await run({ ...gate.settings({ model: call, tools: { read: yields(false), deploy: yields(false) } }), prompt: "go" });
    expect([ran, told(fake)]).toEqual([["first", "last"], ["read ok"]]);
    if (name === "ToolLoopAgent") return; // its signal is of the call, not of the settings
    await run({ ...gate.settings({ model: model([{ id: "0", tool: "read", args: {} }]), tools: { read: yields(true) } }), abortSignal: gone.signal, prompt: "go" }).catch(() => undefined);
    await vi.waitFor(() => expect(told(fake)).toEqual(["read ok", "read unknown"]));
    expect(ran).toEqual(["first", "last", "first"]);
  });

  test("twenty conversations with the same ids have verdicts of their own", async () => {
    const fake = new Fake().allow("read");
    const ran: string[] = [];
    await Promise.all(
      Array.from({ length: 20 }, async (_, i) => {
        const gate = new InterlockGate(fake.client({ session: `s${i}` }));
        const body = (name: string) => tool({ inputSchema: z.object({}), execute: async () => void ran.push(name) });
        const call = { id: "functions.deploy:0", tool: i % 2 ? "deploy" : "read", args: {} };
        await run({ ...gate.settings({ model: model([call]), tools: { read: body("read"), deploy: body("deploy") } }), prompt: "go" });
      }),
    );
    expect(ran).toEqual(Array(10).fill("read"));
  });
});

test("a tool that is called by itself is judged", async () => {
  const { ran, gate, tools } = world();
  const judged = gate.tools(tools);
  await expect(judged["deploy"]!.execute!({}, { toolCallId: "0", messages: [] } as any)).rejects.toThrow(/TOOL_NOT_ALLOWED/);
  await judged["read"]!.execute!({}, { toolCallId: "0", messages: [] } as any);
  expect(ran).toEqual(["read"]);
});

test("a tool that a provider executes is refused, unless it is named", () => {
  const { gate, fake } = world();
  const search = { type: "provider", id: "openai.web_search", args: {}, isProviderExecuted: true, inputSchema: z.object({}) } as never;
  expect(() => gate.tools({ search })).toThrow(/cannot judge the tool "search"/);
  expect(new InterlockGate(fake.client(), { ungated: ["search"] }).tools({ search })).toEqual({ search });
});

test("a model that is wrapped keeps its own middleware", () => {
  const { gate } = world();
  expect(gate.model(wrapLanguageModel({ model: model(), middleware: { specificationVersion: "v4" } }))).toBeDefined();
});
