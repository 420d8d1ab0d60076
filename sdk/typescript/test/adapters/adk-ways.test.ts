/** Every way in which Google's ADK runs a tool or code is judged, or the agent that has it is refused. */
import {
  AgentTool, BaseCodeExecutor, BaseLlm, BasePlugin, BuiltInCodeExecutor, ENTERPRISE_WEB_SEARCH, FunctionTool, GOOGLE_MAPS_GROUNDING, GOOGLE_SEARCH,
  InMemoryArtifactService, InMemoryRunner, InMemorySessionService, LiveRequestQueue, LlmAgent, LogLevel, LongRunningFunctionTool, LoopAgent, NodeTool, ParallelAgent, RoutedAgent, Runner,
  SequentialAgent, setLogLevel, SkillToolset, START, ToolNode, URL_CONTEXT, VertexAiSearchTool, Workflow,
  type BaseLlmConnection, type LlmRequest, type LlmResponse,
} from "@google/adk";
import { createRequire } from "node:module";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { InterlockPlugin, type InterlockPluginOptions } from "../../src/adk.js";
import { attempt, inPlace, type Place, type Script } from "./place.js";

setLogLevel(LogLevel.ERROR);
const require = createRequire(import.meta.url);

/** Plays a script, and keeps what it reads by call. */
class Scripted extends BaseLlm {
  readonly reads: Record<string, string> = {};
  constructor(private readonly script: Script) {
    super({ model: "scripted" });
  }

  private answer(): LlmResponse {
    const calls = this.script.shift();
    const parts = calls ? calls.map(({ id, tool, args }) => ({ functionCall: { id, name: tool, args } })) : [{ text: "done" }];
    return { content: { role: "model", parts } } as LlmResponse;
  }

  override async *generateContentAsync(request: LlmRequest): AsyncGenerator<LlmResponse, void> {
    for (const { parts } of request.contents) {
      for (const { functionResponse } of parts ?? []) if (functionResponse?.id) this.reads[functionResponse.id] = JSON.stringify(functionResponse.response);
    }
    yield this.answer();
  }

  override async connect(): Promise<BaseLlmConnection> {
    const answers = [this.answer(), this.answer(), { turnComplete: true } as LlmResponse];
    return {
      sendHistory: async () => undefined, sendContent: async () => undefined, sendRealtime: async () => undefined, close: async () => undefined,
      async *receive() {
        yield* answers;
      },
    } as unknown as BaseLlmConnection;
  }
}

class Stage {
  readonly sessions = new InMemorySessionService();
  constructor(readonly place: Place) {}

  tool(name: string): FunctionTool {
    const { args, run } = this.place.tool(name);
    return new FunctionTool({ name, description: name, parameters: z.object(Object.fromEntries(args.map((arg) => [arg, z.string()]))) as any, execute: (given: any) => run(given) });
  }

  tools(): FunctionTool[] {
    return [this.tool("read_note"), this.tool("write_note")];
  }

  agent(name: string, script: Script = attempt(), more: object = {}): LlmAgent {
    return new LlmAgent({ name, model: new Scripted(script), tools: this.tools(), ...more });
  }

  /** An agent that calls one tool and is done. */
  calls(tool: string, args: object, more: object): LlmAgent {
    return new LlmAgent({ name: "main", model: new Scripted([[{ id: "m1", tool, args: args as never }]]), ...more });
  }

  plugin(options: InterlockPluginOptions = {}): InterlockPlugin {
    return new InterlockPlugin(this.place.client(), { session: (context) => context.sessionId, ...options });
  }

  /** Runs an agent under the plugin, in the session of a conversation. */
  async go(agent: any, { conversation = "main", parts = [{ text: "go" }] as any[], plugins = [this.plugin()] as BasePlugin[] } = {}): Promise<void> {
    const at = { appName: "cases", userId: "user", sessionId: this.place.world.session(conversation) };
    await this.sessions.getOrCreateSession(at);
    const runner = new Runner({ appName: "cases", agent, sessionService: this.sessions, artifactService: new InMemoryArtifactService(), plugins });
    for await (const event of runner.runAsync({ ...at, newMessage: { role: "user", parts } })) if (event.errorMessage) throw new Error(event.errorMessage);
  }
}

/** Runs an agent without a plugin, as the body of a tool. */
async function alone(agent: any, make: (agent: any) => Runner = (agent) => new InMemoryRunner({ agent, appName: "inner" })): Promise<string> {
  const runner = make(agent);
  const session = await runner.sessionService.createSession({ appName: runner.appName, userId: "other" });
  for await (const _ of runner.runAsync({ userId: "other", sessionId: session.id, newMessage: { role: "user", parts: [{ text: "go" }] } })) void _;
  return "done";
}

const inner = (execute: () => Promise<unknown>): FunctionTool => new FunctionTool({ name: "inner", description: "inner", parameters: z.object({}) as any, execute });

/** A workflow that calls tools without a model. */
function toolFlow(s: Stage): any {
  const first = async (): Promise<object> => ({ path: "a", text: "b" });
  const second = async (): Promise<object> => ({ path: "a" });
  return new Workflow({ name: "flow", edges: [[START, first, new ToolNode(s.tool("write_note")), second, new ToolNode(s.tool("read_note"))]] } as any);
}

type Path = (stage: Stage) => Promise<unknown>;

/** Each lets a model, somewhere, make the calls of `attempt`. */
const judged: Record<string, Path> = {
  "a tool of the agent": (s) => s.go(s.agent("main")),
  "a tool of a clone": (s) => s.go(s.agent("main").clone({ name: "second" })),
  "an agent behind a transfer": (s) =>
    s.go(s.calls("transfer_to_agent", { agentName: "helper" }, { subAgents: [s.agent("helper")] })),
  "a sequence": (s) => s.go(new SequentialAgent({ name: "all", subAgents: [s.agent("main")] })),
  "agents at once": (s) => s.go(new ParallelAgent({ name: "all", subAgents: [s.agent("main")] })),
  "a loop": (s) => s.go(new LoopAgent({ name: "all", maxIterations: 1, subAgents: [s.agent("main")] })),
  "an agent that is chosen": (s) => s.go(new RoutedAgent({ name: "all", agents: [s.agent("main")], router: () => "main" })),
  "an agent of a workflow": (s) => s.go(new Workflow({ name: "flow", edges: [[START, s.agent("main")]] } as any)),
  "tools of a workflow": (s) =>
    s.go(
      toolFlow(s),
    ),
  "a workflow as a tool": (s) =>
    s.go(s.calls("inner", { request: "go" }, { tools: [new NodeTool(new Workflow({ name: "flow", edges: [[START, s.agent("helper")]], inputSchema: z.string() } as any), "inner", "inner")] })),
  "an agent as a tool": (s) => s.go(s.calls("inner", { request: "go" }, { tools: [new AgentTool({ agent: s.agent("inner") })] })),
  "an agent as a tool of an agent as a tool": (s) => {
    const outer = new LlmAgent({ name: "outer", model: new Scripted([[{ id: "o1", tool: "inner", args: { request: "go" } }]]), tools: [new AgentTool({ agent: s.agent("inner") })] });
    return s.go(s.calls("outer", { request: "go" }, { tools: [new AgentTool({ agent: outer })] }));
  },
  "an agent as a tool, of the CommonJS copy of ADK": async (s) => {
    const adk = require("@google/adk");
    const tools = ["read_note", "write_note"].map((name) => {
      const { args, run } = s.place.tool(name);
      return new adk.FunctionTool({ name, description: name, parameters: z.object(Object.fromEntries(args.map((arg) => [arg, z.string()]))), execute: (given: any) => run(given) });
    });
    const agent = new adk.LlmAgent({ name: "inner", model: new Scripted(attempt()), tools });
    const main = new adk.LlmAgent({ name: "main", model: new Scripted([[{ id: "m1", tool: "inner", args: { request: "go" } }]]), tools: [new adk.AgentTool({ agent })] });
    const at = { appName: "cases", userId: "user", sessionId: s.place.world.session("main") };
    const sessionService = new adk.InMemorySessionService();
    await sessionService.createSession(at);
    const runner = new adk.Runner({ appName: "cases", agent: main, sessionService, plugins: [s.plugin()] });
    for await (const _ of runner.runAsync({ ...at, newMessage: { role: "user", parts: [{ text: "go" }] } })) void _;
  },
  "an agent behind a transfer of an agent as a tool": (s) => {
    const agent = new LlmAgent({ name: "inner", model: new Scripted([[{ id: "t1", tool: "transfer_to_agent", args: { agentName: "helper" } }]]), subAgents: [s.agent("helper")] });
    return s.go(s.calls("inner", { request: "go" }, { tools: [new AgentTool({ agent })] }));
  },
  "an agent that a callback of the agent runs": (s) =>
    s.go(s.agent("main", [], { beforeModelCallback: async () => (await alone(s.agent("helper")), undefined) })),
  "an agent that a callback of the agent runs before it begins": (s) =>
    s.go(s.agent("main", [], { beforeAgentCallback: async () => (await alone(s.agent("helper")), undefined) })),
  "an agent that a node of a workflow runs": (s) => {
    const runs = async (): Promise<string> => alone(s.agent("helper"));
    return s.go(new Workflow({ name: "flow", edges: [[START, runs]] } as any));
  },
  "an agent that a tool runs": (s) => s.go(s.calls("inner", {}, { tools: [inner(() => alone(s.agent("helper")))] })),
  "an agent that a tool runs by a runner with another plugin": (s) => {
    class Other extends BasePlugin {}
    const make = (agent: any): Runner => new Runner({ appName: "inner", agent, sessionService: new InMemorySessionService(), plugins: [new Other("other")] });
    return s.go(s.calls("inner", {}, { tools: [inner(() => alone(s.agent("helper"), make))] }));
  },
  "a workflow that a tool runs": (s) => {
    return s.go(s.calls("inner", {}, { tools: [inner(() => alone(toolFlow(s)))] }));
  },
  "tools of the agent that its tool calls": (s) => {
    const [read, write] = s.tools();
    const calls = new FunctionTool({
      name: "inner", description: "inner", parameters: z.object({}) as any,
      execute: async (_: unknown, toolContext: any) => [await write!.runAsync({ args: { path: "a", text: "b" }, toolContext }), await read!.runAsync({ args: { path: "a" }, toolContext })],
    });
    return s.go(s.calls("inner", {}, { tools: [read!, write!, calls] }));
  },
  "an agent that is live": async (s) => {
    const runner = new Runner({ appName: "cases", agent: s.agent("main"), sessionService: s.sessions, plugins: [s.plugin()] });
    const sessionId = s.place.world.session("main");
    for await (const _ of runner.runLive({ userId: "user", sessionId, liveRequestQueue: new LiveRequestQueue() })) void _;
  },
  "an agent whose callback changes the arguments": (s) =>
    s.go(
      s.agent("main", [[{ id: "i1", tool: "read_note", args: { path: "a" } }]], {
        beforeToolCallback: ({ args }: any) => {
          args.path = "changed";
          return undefined;
        },
      }),
    ),
};

describe.concurrent("judged", () => {
  test.each(Object.keys(judged))("%s", async (name) => {
    await inPlace(async (place) => {
      await judged[name]!(new Stage(place));
      await place.held();
    });
  });
});

class Counting extends BaseCodeExecutor {
  readonly ran: string[] = [];
  override async executeCode({ codeExecutionInput }: any): Promise<any> {
    this.ran.push(codeExecutionInput.code);
    return { stdout: "1", stderr: "", outputFiles: [] };
  }
}

const csv = [{ text: "go" }, { inlineData: { mimeType: "text/csv", data: Buffer.from("a,b\n1,2\n").toString("base64") } }];

test.concurrent("judged: code that a code executor runs", async () => {
  await inPlace(async (place) => {
    const s = new Stage(place);
    const codeExecutor = new Counting();
    codeExecutor.optimizeDataFile = true;
    await s.go(s.agent("main", [], { codeExecutor, tools: [] }), { parts: csv });
    expect(codeExecutor.ran).toEqual([]);
    expect(await place.asked("execute_code")).toBe(1);
  });
  await inPlace(async (place) => {
    const s = new Stage(place);
    const codeExecutor = new Counting();
    codeExecutor.optimizeDataFile = true;
    await place.world.move("main", "FREE");
    await s.go(s.agent("main", [], { codeExecutor, tools: [] }), { parts: csv });
    expect(codeExecutor.ran.length).toBe(1);
    expect(await place.told("execute_code")).toEqual(["execute_code ok"]);
  });
});

test.concurrent("judged: code of a skill's script", async () => {
  await inPlace(async (place) => {
    const s = new Stage(place);
    const codeExecutor = new Counting();
    const skill = { frontmatter: { name: "inner-skill", description: "x" }, instructions: "x", resources: { scripts: { "a.py": { src: "print(1)", content: "print(1)" } } } };
    const toolset = new SkillToolset([skill] as any, { codeExecutor } as any);
    const agent = s.calls("run_skill_script", { skill_name: "inner-skill", script_path: "a.py" }, { tools: [toolset] });
    await place.world.move("main", "FREE");
    await s.go(agent);
    expect(codeExecutor.ran.length).toBe(1);
    expect((await place.told("run_skill_script", "execute_code")).sort()).toEqual(["execute_code ok", "run_skill_script ok"]);
  });
});

test.concurrent("judged: code executor of an agent as a tool", async () => {
  await inPlace(async (place) => {
    const s = new Stage(place);
    const codeExecutor = new Counting();
    codeExecutor.optimizeDataFile = true;
    const agent = s.agent("inner", [], { codeExecutor, tools: [], instruction: "x" });
    const make = (agent: any): Runner => new InMemoryRunner({ agent, appName: "inner" });
    const run = inner(async () => {
      const runner = make(agent);
      const session = await runner.sessionService.createSession({ appName: "inner", userId: "other" });
      for await (const _ of runner.runAsync({ userId: "other", sessionId: session.id, newMessage: { role: "user", parts: csv } })) void _;
    });
    await s.go(s.calls("inner", {}, { tools: [run] }));
    expect(codeExecutor.ran).toEqual([]);
    expect(await place.asked("execute_code")).toBe(1);
  });
});

test.concurrent("refused: tools that the model's provider runs, unless they are named", async () => {
  await inPlace(async (place) => {
    const s = new Stage(place);
    const hosted: Record<string, object> = {
      googleSearch: { tools: [GOOGLE_SEARCH] }, urlContext: { tools: [URL_CONTEXT] }, enterpriseWebSearch: { tools: [ENTERPRISE_WEB_SEARCH] },
      googleMaps: { tools: [GOOGLE_MAPS_GROUNDING] }, retrieval: { tools: [new VertexAiSearchTool({ dataStoreId: "d" } as any)] }, codeExecution: { codeExecutor: new BuiltInCodeExecutor() },
    };
    for (const [name, more] of Object.entries(hosted)) {
      const make = (): LlmAgent => {
        const agent = s.agent("main", [], more);
        (agent.model as any).model = "gemini-2.5-pro";
        return agent;
      };
      await expect(s.go(make()), name).rejects.toThrow(name);
      await s.go(make(), { plugins: [s.plugin({ ungated: [name] })] });
      const model = s.agent("inner", [[{ id: "never", tool: "read_note", args: { path: "a" } }]], more);
      (model.model as any).model = "gemini-2.5-pro";
      await s.go(s.calls("inner", { request: "go" }, { tools: [new AgentTool({ agent: model })] }));
      expect(place.world.ran(), name).toEqual([]);
    }
  });
});

test.concurrent("refused: tools that the model's provider runs, which a callback, a plugin or a toolset adds late", async () => {
  await inPlace(async (place) => {
    const s = new Stage(place);
    const add = (request: any): undefined => void ((request.config ??= {}).tools = [...(request.config.tools ?? []), { googleSearch: {} }]);
    class Late extends BasePlugin {
      override async beforeModelCallback({ llmRequest }: any): Promise<undefined> {
        return add(llmRequest);
      }
    }
    const script = (): Script => [[{ id: "never", tool: "read_note", args: { path: "a" } }]];
    const byCallback = (): LlmAgent => s.agent("main", script(), { beforeModelCallback: ({ request }: any) => add(request) });
    await expect(s.go(byCallback())).rejects.toThrow(/"googleSearch"/);
    await expect(s.go(s.agent("main", script()), { plugins: [s.plugin(), new Late("late")] })).rejects.toThrow(/"googleSearch"/);
    await expect(s.go(s.agent("main", script()), { plugins: [new Late("early"), s.plugin()] })).rejects.toThrow(/"googleSearch"/);
    await s.go(s.calls("inner", { request: "go" }, { tools: [new AgentTool({ agent: byCallback().clone({ name: "inner" }) })] }));
    expect(place.world.ran()).toEqual([]);
    await s.go(byCallback(), { plugins: [s.plugin({ ungated: ["googleSearch"] })] });
    expect(place.world.ran()).toEqual(["read_note"]);
  });
});

test.concurrent("refused: tools that the model's provider runs, when the agent is live", async () => {
  await inPlace(async (place) => {
    const s = new Stage(place);
    const agent = s.agent("main", attempt(), { tools: [GOOGLE_SEARCH] });
    (agent.model as any).model = "gemini-2.5-pro";
    const runner = new Runner({ appName: "cases", agent, sessionService: s.sessions, plugins: [s.plugin()] });
    const all = (async () => {
      for await (const _ of runner.runLive({ userId: "user", sessionId: place.world.session("main"), liveRequestQueue: new LiveRequestQueue() })) void _;
    })();
    await expect(all).rejects.toThrow(/googleSearch/);
  });
});

test.concurrent("a call that a callback of the agent or another plugin answers is neither asked nor reported", async () => {
  await inPlace(async (place) => {
    const s = new Stage(place);
    const script = (): Script => [[{ id: "i1", tool: "read_note", args: { path: "a" } }]];
    await s.go(s.agent("main", script(), { beforeToolCallback: () => ({ result: "from a cache" }) }));
    class Answers extends BasePlugin {
      override async beforeToolCallback(): Promise<Record<string, unknown>> {
        return { result: "from a cache" };
      }
    }
    await s.go(s.agent("main", script()), { plugins: [s.plugin(), new Answers("answers")] });
    await s.go(s.agent("main", script()), { plugins: [new Answers("answers"), s.plugin()] });
    expect(place.world.ran()).toEqual([]);
    expect(await place.told()).toEqual([]);
    expect(await place.asked("read_note")).toBe(0);
  });
});

test.concurrent("a runner that a tool has used is not judged elsewhere", async () => {
  await inPlace(async (place) => {
    const s = new Stage(place);
    const scripts: Script = [...attempt(), [{ id: "f", tool: "read_note", args: { path: "a" } }]];
    scripts.splice(2, 0, undefined as never);
    const agent = s.agent("helper", scripts);
    const runner = new InMemoryRunner({ agent, appName: "inner" });
    const use = (): Promise<string> => alone(agent, () => runner);
    await s.go(s.calls("inner", {}, { tools: [inner(use)] }));
    await place.held();
    await use();
    expect(place.world.ran()).toEqual(["read_note", "read_note"]);
    expect(await place.told()).toEqual(["read_note ok"]);
  });
});

test.concurrent("a verdict of one conversation is not that of another whose model uses the same id", async () => {
  await inPlace(async (place) => {
    const s = new Stage(place);
    const plugins = [s.plugin()];
    const make = (): LlmAgent => s.agent("main", [[{ id: "functions.deploy:0", tool: "deploy", args: { target: "prod" } }]], { tools: [s.tool("deploy")] });
    await s.go(make(), { conversation: "first", plugins });
    await place.world.host.human({ approve: true });
    const at = { appName: "cases", userId: "user", sessionId: place.world.session("first") };
    const parts = await plugins[0]!.settle((await s.sessions.getSession(at))!);
    await s.go(make(), { conversation: "second", plugins });
    expect(place.world.ran()).toEqual([]);
    await s.go(s.agent("main", [], { tools: [s.tool("deploy")] }), { conversation: "first", plugins, parts });
    expect(place.world.ran()).toEqual(["deploy"]);
    expect(await place.told()).toEqual(["deploy ok"]);
  }, ["first", "second"]);
});

test.concurrent("an approval of an agent as a tool: the call is refused with the approval, and is made again when it was given", async () => {
  await inPlace(async (place) => {
    const s = new Stage(place);
    const deploy = { id: "d", tool: "deploy", args: { target: "prod" } };
    const agent = s.agent("inner", [[{ ...deploy, id: "d1" }], undefined as never, [{ ...deploy, id: "d2" }]], { tools: [s.tool("deploy")] });
    const main = new LlmAgent({
      name: "main", tools: [new AgentTool({ agent })],
      model: new Scripted([[{ id: "m1", tool: "inner", args: { request: "go" } }], undefined as never, [{ id: "m2", tool: "inner", args: { request: "go" } }]]),
    });
    await s.go(main);
    expect((agent.model as Scripted).reads["d1"]).toContain("APPROVAL_REQUIRED");
    await place.world.host.human({ approve: true });
    await s.go(main);
    expect(place.world.ran()).toEqual(["deploy"]);
    expect(await place.told()).toEqual(["deploy ok"]);
  });
});

test.concurrent("a long-running call stays open until its response comes", async () => {
  await inPlace(async (place) => {
    const s = new Stage(place);
    const { args, run } = place.tool("read_note");
    const slow = new LongRunningFunctionTool({ name: "read_note", description: "x", parameters: z.object(Object.fromEntries(args.map((arg) => [arg, z.string()]))) as any, execute: (given: any) => run(given) });
    const call = (id: string): Script => [[{ id, tool: "read_note", args: { path: "a" } }]];
    const plugins = [s.plugin()];
    const reports: object[] = [];
    plugins[0]!["gate"].tell = async (verdict, _, ok, more) => (reports.push({ tool: verdict.tool, ok, ...more }), "");
    await s.go(s.agent("main", call("r1"), { tools: [slow] }), { plugins });
    await s.go(s.agent("main", [], { tools: [slow] }), { plugins, parts: [{ functionResponse: { id: "r1", name: "read_note", response: { result: "done" } } }] });
    await s.go(s.agent("main", call("r2")), { plugins });
    expect(reports).toEqual([
      { tool: "read_note", ok: true, background: "read_note r1" },
      { tool: "read_note", ok: true, backgroundEnded: "read_note r1" },
    ]);
  });
});
