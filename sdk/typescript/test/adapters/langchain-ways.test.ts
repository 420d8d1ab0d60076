/** Every way in which LangChain, LangGraph and deepagents run a tool is judged, or the agent that has it is refused. */
import { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { AIMessage, HumanMessage, ToolMessage, type BaseMessage } from "@langchain/core/messages";
import type { ChatResult } from "@langchain/core/outputs";
import { RunnableLambda } from "@langchain/core/runnables";
import { DynamicStructuredTool, StructuredTool, tool } from "@langchain/core/tools";
import { Command, MemorySaver, MessagesAnnotation, StateGraph } from "@langchain/langgraph";
import { createReactAgent, ToolNode as GraphToolNode } from "@langchain/langgraph/prebuilt";
import { createDeepAgent } from "deepagents";
import { createAgent, createMiddleware, tool as clientTool, toolRetryMiddleware } from "langchain";
import { createRequire } from "node:module";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { interlockMiddleware, interlockTools, threadId, type MiddlewareOptions } from "../../src/langchain.js";
import { attempt, inPlace, type Place, type Script } from "./place.js";

const require = createRequire(import.meta.url);

/** Plays a script, and keeps what it reads by call. */
class Model extends BaseChatModel {
  readonly reads: Record<string, string> = {};
  constructor(private readonly script: Script) {
    super({});
  }
  override _llmType(): string {
    return "scripted";
  }
  override bindTools(): Model {
    return this;
  }
  override async _generate(messages: BaseMessage[]): Promise<ChatResult> {
    for (const one of messages) if (ToolMessage.isInstance(one)) this.reads[one.tool_call_id] = one.text;
    const calls = this.script.shift() ?? [];
    const message = new AIMessage({ content: calls.length > 0 ? "" : "done", tool_calls: calls.map(({ id, tool, args }) => ({ id, name: tool, args, type: "tool_call" })) });
    return { generations: [{ text: "", message }] };
  }
}

class Stage {
  constructor(readonly place: Place) {}

  tool(name: string): any {
    const { args, run } = this.place.tool(name);
    return tool((given: any) => run(given), { name, description: name, schema: z.object(Object.fromEntries(args.map((arg) => [arg, z.string()]))) });
  }

  tools(): any[] {
    return [this.tool("read_note"), this.tool("write_note")];
  }

  middleware(options: MiddlewareOptions = {}): any {
    return interlockMiddleware(this.place.client(), { session: threadId, ...options });
  }

  agent(script: Script, more: object = {}): any {
    return createAgent({ model: new Model(script), tools: this.tools(), middleware: [this.middleware()], ...more } as any);
  }

  /** An agent that knows nothing of Interlock. */
  bare(script: Script = attempt(), more: object = {}): any {
    return this.agent(script, { middleware: [], ...more });
  }

  config(): any {
    return { configurable: { thread_id: this.place.world.session("main") } };
  }

  go(agent: any): Promise<any> {
    return agent.invoke({ messages: [new HumanMessage("go")] }, this.config());
  }
}

const outer = (args: object = {}): Script => [[{ id: "m1", tool: "inner", args: args as never }]];
const inner = (body: (args: any, config: any) => Promise<unknown>): any => tool(async (args: any, config: any) => String(await body(args, config)), { name: "inner", description: "inner", schema: z.object({}) });
const last = (answer: any): string => answer.messages.at(-1).text;

/** Lets a graph make calls by a node, without a model. */
async function byNode(s: Stage, node: any): Promise<void> {
  const graph = new StateGraph(MessagesAnnotation).addNode("tools", node).addEdge("__start__", "tools").compile();
  for (const turn of attempt()) {
    const message = new AIMessage({ content: "", tool_calls: turn.map(({ id, tool, args }) => ({ id, name: tool, args, type: "tool_call" as const })) });
    await graph.invoke({ messages: [message] }, s.config());
  }
}

type Path = (stage: Stage) => Promise<unknown>;

/** Each lets a model, somewhere, make the calls of `attempt`. */
const judged: Record<string, Path> = {
  "a tool of the agent": (s) => s.go(s.agent(attempt())),
  "by a stream": async (s) => {
    for await (const _ of await s.agent(attempt()).stream({ messages: [new HumanMessage("go")] }, s.config())) void _;
  },
  "in a batch": (s) => s.agent(attempt()).graph.batch([{ messages: [new HumanMessage("go")] }], [s.config()]),
  "an agent with another config": (s) => s.go(s.agent(attempt()).withConfig({ tags: ["x"] })),
  "version 1 of the tools node": (s) => s.go(s.agent(attempt(), { version: "v1" })),
  "a tool of middleware": (s) => s.go(s.agent(attempt(), { tools: [], middleware: [createMiddleware({ name: "more", tools: s.tools() }), s.middleware()] })),
  "a tool that middleware after it supplies": (s) => {
    const tools = s.tools();
    const supplies = createMiddleware({
      name: "supplies",
      wrapModelCall: (request, handler) => handler({ ...request, tools: [...request.tools, ...tools] }),
      wrapToolCall: (request, handler) => handler({ ...request, tool: tools.find((one) => one.name === request.toolCall.name) }),
    });
    return s.go(s.agent(attempt(), { tools: [], middleware: [s.middleware(), supplies] }));
  },
  "a tool that middleware before it supplies": (s) => {
    const tools = s.tools();
    const supplies = createMiddleware({
      name: "supplies",
      wrapModelCall: (request, handler) => handler({ ...request, tools: [...request.tools, ...tools] }),
      wrapToolCall: (request, handler) => handler({ ...request, tool: tools.find((one) => one.name === request.toolCall.name) }),
    });
    return s.go(s.agent(attempt(), { tools: [], middleware: [supplies, s.middleware()] }));
  },
  "a tool of a class of its own": (s) => {
    const own = (name: string): StructuredTool => {
      const { args, run } = s.place.tool(name);
      return new (class extends StructuredTool {
        name = name;
        description = name;
        schema = z.object(Object.fromEntries(args.map((arg) => [arg, z.string()])));
        protected override _call(given: any): Promise<string> {
          return run(given);
        }
      })();
    };
    return s.go(s.agent(attempt(), { tools: [own("read_note"), own("write_note")] }));
  },
  "a runnable as a tool": (s) => {
    const tools = ["read_note", "write_note"].map((name) => {
      const { args, run } = s.place.tool(name);
      return RunnableLambda.from((given: any) => run(given)).asTool({ name, description: name, schema: z.object(Object.fromEntries(args.map((arg) => [arg, z.string()]))) as any });
    });
    return s.go(s.agent(attempt(), { tools }));
  },
  "an agent that a tool begins with its config": (s) =>
    s.go(s.agent(outer(), { tools: [inner(async (_, config) => last(await s.bare().invoke({ messages: [new HumanMessage("go")] }, config)))] })),
  "an agent that a tool begins without a config": (s) =>
    s.go(s.agent(outer(), { tools: [inner(async () => last(await s.bare().invoke({ messages: [new HumanMessage("go")] })))] })),
  "an agent that a tool begins in a thread of its own": (s) =>
    s.go(s.agent(outer(), { tools: [inner(async () => last(await s.bare().invoke({ messages: [new HumanMessage("go")] }, { configurable: { thread_id: "other" } })))] })),
  "an agent of LangGraph that a tool begins": (s) =>
    s.go(s.agent(outer(), { tools: [inner(async () => last(await createReactAgent({ llm: new Model(attempt()) as any, tools: s.tools() }).invoke({ messages: [new HumanMessage("go")] })))] })),
  "a graph with a tools node that a tool begins": (s) => s.go(s.agent(outer(), { tools: [inner(() => byNode(s, new GraphToolNode(s.tools())))] })),
  "an agent of an agent that a tool begins": (s) => {
    const middle = s.bare(outer(), { tools: [inner(async () => last(await s.bare().invoke({ messages: [new HumanMessage("go")] })))] });
    return s.go(s.agent(outer(), { tools: [inner(async () => last(await middle.invoke({ messages: [new HumanMessage("go")] })))] }));
  },
  "tools that a tool calls": (s) => {
    const [read, write] = s.tools();
    return s.go(s.agent(outer(), { tools: [inner(async () => [await write.invoke({ path: "a", text: "b" }), await read.invoke({ path: "a" })])] }));
  },
  "tools that a tool calls by call": (s) => {
    const [read, write] = s.tools();
    return s.go(s.agent(outer(), { tools: [inner(async () => [await write.call({ path: "a", text: "b" }), await read.call({ path: "a" })])] }));
  },
  "an agent that a tool begins, of the CommonJS copy of LangChain": (s) => {
    const { createAgent, tool } = require("langchain");
    const tools = ["read_note", "write_note"].map((name) => {
      const { args, run } = s.place.tool(name);
      return tool((given: any) => run(given), { name, description: name, schema: z.object(Object.fromEntries(args.map((arg) => [arg, z.string()]))) });
    });
    const begins = tool(async () => last(await createAgent({ model: new Model(attempt()), tools }).invoke({ messages: [new HumanMessage("go")] })), { name: "inner", description: "x", schema: z.object({}) });
    return s.go(createAgent({ model: new Model(outer()), tools: [begins], middleware: [s.middleware()] }));
  },
  "a subagent of deepagents": (s) => {
    const subagents = [{ name: "helper", description: "helps", systemPrompt: "Help.", model: new Model(attempt()), tools: s.tools() }];
    const script: Script = [[{ id: "m1", tool: "task", args: { description: "go", subagent_type: "helper" } }]];
    return s.go(createDeepAgent({ model: new Model(script), middleware: [s.middleware()], subagents } as any));
  },
  "the general subagent of deepagents": (s) => {
    const script: Script = [[{ id: "m1", tool: "task", args: { description: "go", subagent_type: "general-purpose" } }], ...attempt()];
    return s.go(createDeepAgent({ model: new Model(script), tools: s.tools(), middleware: [s.middleware()] } as any));
  },
  "a compiled subagent of deepagents": (s) => {
    const subagents = [{ name: "helper", description: "helps", runnable: s.bare() }];
    const script: Script = [[{ id: "m1", tool: "task", args: { description: "go", subagent_type: "helper" } }]];
    return s.go(createDeepAgent({ model: new Model(script), middleware: [s.middleware()], subagents } as any));
  },
  "a tools node of LangGraph with tools that judge themselves": (s) => byNode(s, new GraphToolNode(interlockTools(s.place.client(), s.tools(), { session: threadId }))),
  "an agent of LangGraph with tools that judge themselves": (s) =>
    s.go(createReactAgent({ llm: new Model(attempt()) as any, tools: interlockTools(s.place.client(), s.tools(), { session: threadId }) })),
  "an agent without middleware with tools that judge themselves": (s) =>
    s.go(s.bare(attempt(), { tools: interlockTools(s.place.client(), s.tools(), { session: threadId }) })),
  "an agent with both": (s) => s.go(s.agent(attempt(), { tools: interlockTools(s.place.client(), s.tools(), { session: threadId }) })),
};

describe.concurrent("judged", () => {
  test.each(Object.keys(judged))("%s", async (name) => {
    await inPlace(async (place) => {
      await judged[name]!(new Stage(place));
      await place.held();
    });
  });
});

test.concurrent("middleware after it that changes arguments: those that run are judged", async () => {
  await inPlace(async (place) => {
    const s = new Stage(place);
    const given: string[] = [];
    const note = tool(async ({ path }: any) => (given.push(path), "ok"), { name: "read_note", description: "x", schema: z.object({ path: z.string() }) });
    const changes = createMiddleware({ name: "changes", wrapToolCall: (request, handler) => handler({ ...request, toolCall: { ...request.toolCall, args: { path: "changed" } } }) });
    await s.go(s.agent([[{ id: "i1", tool: "read_note", args: { path: "a" } }]], { tools: [note], middleware: [s.middleware(), changes] }));
    expect(given).toEqual(["changed"]);
    expect(await place.asked("read_note")).toBe(2);
    expect((await place.told()).sort()).toEqual(["read_note failed", "read_note ok"]); // the first was withdrawn
  });
});

test.concurrent("middleware after it that puts another tool in place: the one that runs is judged", async () => {
  await inPlace(async (place) => {
    const s = new Stage(place);
    const [read, write] = s.tools();
    const swaps = createMiddleware({
      name: "swaps",
      wrapToolCall: (request, handler) => handler({ ...request, tool: write, toolCall: { ...request.toolCall, name: "write_note", args: { path: "a", text: "b" } } }),
    });
    const model = new Model([[{ id: "i1", tool: "read_note", args: { path: "a" } }]]);
    await s.go(s.agent([], { model, tools: [read], middleware: [s.middleware(), swaps] }));
    expect(place.world.ran()).toEqual([]);
    expect(model.reads["i1"]).toContain("TOOL_NOT_ALLOWED");
    expect(await place.told()).toEqual(["read_note failed"]); // it was withdrawn
  });
});

test.concurrent("a tool that middleware after it tries again is judged and reported each time", async () => {
  await inPlace(async (place) => {
    const s = new Stage(place);
    const again = toolRetryMiddleware({ maxRetries: 1, initialDelayMs: 0, jitter: false } as any);
    await s.go(s.agent([[{ id: "i1", tool: "fail", args: { why: "x" } }]], { tools: [s.tool("fail")], middleware: [s.middleware(), again] }));
    expect(place.world.ran()).toEqual(["fail", "fail"]);
    expect(await place.told()).toEqual(["fail failed", "fail failed"]);
    expect(await place.asked("fail")).toBe(2);
  });
});

test.concurrent("a call that middleware after it answers is no evidence", async () => {
  await inPlace(async (place) => {
    const s = new Stage(place);
    const answers = createMiddleware({ name: "answers", wrapToolCall: (request) => new ToolMessage({ content: "from a cache", tool_call_id: request.toolCall.id! }) });
    await s.go(s.agent([[{ id: "i1", tool: "read_note", args: { path: "a" } }]], { middleware: [s.middleware(), answers] }));
    expect(place.world.ran()).toEqual([]);
    expect(await place.told()).toEqual(["read_note failed"]);
  });
});

test.concurrent("a tool without a function is judged before the client has the call, and again when its result is there", async () => {
  await inPlace(async (place) => {
    const s = new Stage(place);
    const headless = (name: string): any => (clientTool as any)({ name, description: name, schema: z.object({ path: z.string() }) });
    const script: Script = [[{ id: "i1", tool: "write_note", args: { path: "a" } }], [{ id: "i2", tool: "read_note", args: { path: "a" } }]];
    const agent = s.agent(script, { tools: [headless("write_note"), headless("read_note")], checkpointer: new MemorySaver() });
    const paused = await s.go(agent);
    expect(paused["__interrupt__"].map((one: any) => one.value.toolCall.name)).toEqual(["read_note"]);
    await agent.invoke(new Command({ resume: "a note" }), s.config());
    expect(await place.asked("read_note")).toBe(2);
    const reports = (await place.world.host.attempts()).filter((one) => one.rpc === "ReportToolCall").map(({ tool, ok, request }) => [tool, ok ?? false, request!["outcome_unknown"] ?? false]);
    expect(reports).toEqual([["read_note", false, true], ["read_note", true, false]]);
  });
});

test.concurrent("refused: tools that the model's provider runs, unless they are named", async () => {
  await inPlace(async (place) => {
    const s = new Stage(place);
    for (const hide of [true, false]) {
      for (const one of [{ type: "web_search" }, { type: "code_interpreter", container: { type: "auto" } }, { type: "mcp", server_label: "x" }]) {
        await expect(s.go(s.agent([], { tools: [one], middleware: [s.middleware({ hide })] }))).rejects.toThrow(/cannot judge/);
        await s.go(s.agent([], { tools: [one], middleware: [s.middleware({ hide, ungated: [one.type] })] }));
      }
    }
    for (const modelSettings of [{ tools: [{ type: "web_search" }] }, { mcp_servers: [{ type: "url", name: "web_search" }] }]) {
      const sets = createMiddleware({ name: "sets", wrapModelCall: (request, handler) => handler({ ...request, modelSettings }) });
      await expect(s.go(s.agent([], { middleware: [sets, s.middleware()] }))).rejects.toThrow(/cannot judge the tool "web_search"/);
      await s.go(s.agent([], { middleware: [sets, s.middleware({ ungated: ["web_search"] })] }));
    }
    const runnable = RunnableLambda.from(() => "x").asTool({ name: "x", description: "x", schema: z.object({}) as any });
    expect(() => interlockTools(place.client(), [runnable])).toThrow(/cannot judge/);
  });
});

test.concurrent("an approval inside of a subagent pauses the whole, and lets the call run once", async () => {
  await inPlace(async (place) => {
    const s = new Stage(place);
    const subagents = [{ name: "helper", description: "helps", systemPrompt: "Help.", model: new Model([[{ id: "d1", tool: "deploy", args: { target: "prod" } }]]), tools: [s.tool("deploy")] }];
    const script: Script = [[{ id: "m1", tool: "task", args: { description: "go", subagent_type: "helper" } }]];
    const agent = createDeepAgent({ model: new Model(script), middleware: [s.middleware()], subagents, checkpointer: new MemorySaver() } as any) as any;
    expect(await s.go(agent)).toHaveProperty("__interrupt__");
    expect(place.world.ran()).toEqual([]);
    await place.world.host.human({ approve: true });
    expect(await agent.invoke(new Command({ resume: true }), s.config())).not.toHaveProperty("__interrupt__");
    expect(place.world.ran()).toEqual(["deploy"]);
    expect(await place.told()).toEqual(["deploy ok"]);
  });
});

test.concurrent("an approval of a tool that judges itself pauses the graph, and lets the call run once", async () => {
  await inPlace(async (place) => {
    const s = new Stage(place);
    const tools = interlockTools(place.client(), [s.tool("deploy")] as DynamicStructuredTool[], { session: threadId });
    const agent = createReactAgent({ llm: new Model([[{ id: "d1", tool: "deploy", args: { target: "prod" } }]]) as any, tools, checkpointer: new MemorySaver() }) as any;
    expect(await s.go(agent)).toHaveProperty("__interrupt__");
    await place.world.host.human({ approve: true });
    await agent.invoke(new Command({ resume: true }), s.config());
    expect(place.world.ran()).toEqual(["deploy"]);
    expect(await place.told()).toEqual(["deploy ok"]);
  });
});
