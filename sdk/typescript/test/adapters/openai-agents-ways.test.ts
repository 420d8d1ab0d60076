/** Every way in which the OpenAI Agents SDK runs a tool is judged, or the agent that has it is refused. */
import {
  Agent, applyPatchTool, codeInterpreterTool, computerTool, fileSearchTool, handoff, hostedMcpTool, imageGenerationTool, run, Runner, RunState,
  setTracingDisabled, shellTool, tool, toolNamespace, toolSearchTool, Usage, webSearchTool, type Model, type ModelRequest, type ModelResponse,
} from "@openai/agents";
import { RealtimeAgent, RealtimeSession } from "@openai/agents/realtime";
import { Capabilities, Manifest, memory, SandboxAgent, shell } from "@openai/agents/sandbox";
import { UnixLocalSandboxClient } from "@openai/agents/sandbox/local";
import { EventEmitter } from "node:events";
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { z } from "zod";
import { InterlockGate } from "../../src/openai-agents.js";
import { attempt, inPlace, type Place, type Script } from "./place.js";

setTracingDisabled(true);
const require = createRequire(import.meta.url);
require("@openai/agents").setTracingDisabled(true);

/** Plays a script, and keeps what it reads by call. */
class Scripted implements Model {
  readonly reads: Record<string, string> = {};
  constructor(private readonly script: Script) {}

  async getResponse(request: ModelRequest): Promise<ModelResponse> {
    for (const item of Array.isArray(request.input) ? request.input : []) {
      if (item.type === "function_call_result") this.reads[item.callId] = JSON.stringify(item.output);
    }
    const calls = this.script.shift();
    const output: any[] = calls
      ? calls.map(({ id, tool, args, namespace }) => ({
          type: "function_call", callId: id, status: "completed", name: tool, arguments: JSON.stringify(args), ...(namespace && { namespace }),
        }))
      : [{ type: "message", role: "assistant", status: "completed", content: [{ type: "output_text", text: "done" }] }];
    return { usage: new Usage(), output };
  }

  async *getStreamedResponse(request: ModelRequest): AsyncIterable<any> {
    const { output } = await this.getResponse(request);
    yield { type: "response_done", response: { id: "r", output, usage: { inputTokens: 0, outputTokens: 0, totalTokens: 0 } } };
  }
}

class Stage {
  readonly gate: InterlockGate;
  constructor(readonly place: Place) {
    const client = place.client();
    this.gate = new InterlockGate(client, { session: (context) => place.world.session(context.context.conversation) });
  }

  /** A tool of the contract that knows nothing of Interlock. */
  plain(name: string, more: object = {}): any {
    const { args, run: body } = this.place.tool(name);
    return tool({
      name, description: name, parameters: z.object(Object.fromEntries(args.map((arg) => [arg, z.string()]))),
      execute: (given: any) => body(given), ...more,
    } as any);
  }

  tools(): any[] {
    return [this.plain("read_note"), this.plain("write_note")];
  }

  /** An agent that knows nothing of Interlock. */
  bare(name: string, script: Script = attempt(), more: object = {}): Agent<any, any> {
    return new Agent<any>({ name, model: new Scripted(script), tools: this.tools(), ...more });
  }

  /** An agent that calls one tool and is done. */
  calls(name: string, args: object, more: object): Agent<any, any> {
    return new Agent<any>({ name: "main", model: new Scripted([[{ id: "m1", tool: name, args: args as never }]]), ...more });
  }

  async go(agent: Agent<any, any>, more: object = {}): Promise<any> {
    return run(agent, "go", { context: { conversation: "main" }, ...more } as any);
  }
}

type Path = (stage: Stage) => Promise<unknown>;

/** Each lets a model, somewhere, make the calls of `attempt`. */
const judged: Record<string, Path> = {
  "a tool of the agent": (s) => s.go(s.gate.agent(s.bare("main"))),
  "by a stream": async (s) => {
    const result = await s.go(s.gate.agent(s.bare("main")), { stream: true });
    for await (const _ of result) void _;
    await result.completed;
  },
  "by a runner of its own": (s) => new Runner({}).run(s.gate.agent(s.bare("main")), "go", { context: { conversation: "main" } }),
  "tools of gate.tool in an agent without a gate": (s) => {
    const tools = ["read_note", "write_note"].map((name) => {
      const { args, run: body } = s.place.tool(name);
      return s.gate.tool({ name, description: name, parameters: z.object(Object.fromEntries(args.map((arg) => [arg, z.string()]))), execute: (given: any) => body(given) });
    });
    return s.go(s.bare("main", attempt(), { tools }));
  },
  "tools of gate.tool in an agent of the gate": (s) => {
    const tools = ["read_note", "write_note"].map((name) => {
      const { args, run: body } = s.place.tool(name);
      return s.gate.tool({ name, description: name, parameters: z.object(Object.fromEntries(args.map((arg) => [arg, z.string()]))), execute: (given: any) => body(given) });
    });
    return s.go(s.gate.agent(s.bare("main", attempt(), { tools })));
  },
  "a tool that was added later": (s) => {
    const agent = s.gate.agent(s.bare("main", attempt(), { tools: [] }));
    agent.tools.push(...s.tools());
    return s.go(agent);
  },
  "tools that were replaced later": (s) => {
    const agent = s.gate.agent(s.bare("main", attempt(), { tools: [] }));
    agent.tools = s.tools();
    return s.go(agent);
  },
  "a tool in a namespace": (s) => {
    const script = attempt().map((turn) => turn.map((call) => ({ ...call, namespace: "notes" })));
    const tools = toolNamespace({ name: "notes", description: "Notes.", tools: s.tools() });
    return s.go(s.gate.agent(s.bare("main", script, { tools })));
  },
  "a clone": (s) => s.go(s.gate.agent(s.bare("main", [], { tools: [] })).clone({ model: new Scripted(attempt()), tools: s.tools() })),
  "a clone of a clone": (s) => s.go(s.gate.agent(s.bare("main")).clone({ name: "second" }).clone({ name: "third" })),
  "a clone that is put before another gate's agent": (s) => s.go(s.gate.agent(s.gate.agent(s.bare("main")).clone({ name: "second" }))),
  "an agent as a tool": (s) => s.go(s.gate.agent(s.calls("inner", { input: "go" }, { tools: [s.bare("inner").asTool({ toolName: "inner" })] }))),
  "an agent as a tool, by a stream": (s) =>
    s.go(s.gate.agent(s.calls("inner", { input: "go" }, { tools: [s.bare("inner").asTool({ toolName: "inner", onStream: () => undefined })] }))),
  "an agent as a tool of an agent as a tool": (s) => {
    const inner = s.bare("inner").asTool({ toolName: "inner" });
    const outer = new Agent<any>({ name: "outer", model: new Scripted([[{ id: "o1", tool: "inner", args: { input: "go" } }]]), tools: [inner] });
    return s.go(s.gate.agent(s.calls("outer", { input: "go" }, { tools: [outer.asTool({ toolName: "outer" })] })));
  },
  "an agent of the gate as a tool": (s) => s.go(s.gate.agent(s.calls("inner", { input: "go" }, { tools: [s.gate.agent(s.bare("inner")).asTool({ toolName: "inner" })] }))),
  "an agent of the gate as a tool of one without": (s) => s.go(s.calls("inner", { input: "go" }, { tools: [s.gate.agent(s.bare("inner")).asTool({ toolName: "inner" })] })),
  "a clone of an agent of the gate as a tool of one without": (s) =>
    s.go(s.calls("inner", { input: "go" }, { tools: [s.gate.agent(s.bare("inner", [])).clone({ model: new Scripted(attempt()) }).asTool({ toolName: "inner" })] })),
  "a hand-off of an agent as a tool": (s) => {
    const inner = new Agent<any>({ name: "inner", model: new Scripted([[{ id: "h1", tool: "transfer_to_helper", args: {} }]]), handoffs: [s.bare("helper")] });
    return s.go(s.gate.agent(s.calls("inner", { input: "go" }, { tools: [inner.asTool({ toolName: "inner" })] })));
  },
  "an agent that a tool runs": (s) => {
    const inner = tool({ name: "inner", description: "inner", parameters: z.object({}), execute: async () => (await s.go(s.bare("inner"))).finalOutput });
    return s.go(s.gate.agent(s.calls("inner", {}, { tools: [inner] })));
  },
  "an agent that a tool runs without a context, by a runner and a stream": (s) => {
    const inner = tool({
      name: "inner", description: "inner", parameters: z.object({}),
      execute: async () => {
        const result = await new Runner({}).run(s.bare("inner"), "go", { stream: true });
        for await (const _ of result) void _;
        await result.completed;
        return "done";
      },
    });
    return s.go(s.gate.agent(s.calls("inner", {}, { tools: [inner] })));
  },
  "an agent that a guardrail of the agent runs": (s) =>
    s.go(s.gate.agent(s.bare("main", [], { inputGuardrails: [{ name: "asks", execute: async () => (await run(s.bare("judge"), "go"), { tripwireTriggered: false, outputInfo: {} }) }] }))),
  "an agent that a guardrail of a tool runs": (s) => {
    const asks = { type: "tool_input", name: "asks", run: async () => (await run(s.bare("judge"), "go"), { behavior: { type: "rejectContent", message: "no" } }) };
    return s.go(s.gate.agent(s.calls("inner", {}, { tools: [tool({ name: "inner", description: "x", parameters: z.object({}), execute: async () => "x", inputGuardrails: [asks] } as any)] })));
  },
  "an agent that instructions run": (s) =>
    s.go(s.gate.agent(s.bare("main", [], { instructions: async () => (await run(s.bare("writer"), "go")).finalOutput }))),
  "a copy of an agent by its settings": (s) => s.go(new Agent<any>({ ...s.gate.agent(s.bare("main")), name: "copy" } as any)),
  "an agent as a tool, of the CommonJS copy of the SDK": (s) => {
    const sdk = require("@openai/agents");
    const tools = s.tools();
    const agent = new sdk.Agent({ name: "inner", model: new Scripted(attempt()), tools });
    const main = new sdk.Agent({ name: "main", model: new Scripted([[{ id: "m1", tool: "inner", args: { input: "go" } }]]), tools: [agent.asTool({ toolName: "inner" })] });
    return sdk.run(s.gate.agent(main), "go", { context: { conversation: "main" } });
  },
  "a clone and a later hand-off, of the CommonJS copy of the SDK": (s) => {
    const sdk = require("@openai/agents");
    const agent = s.gate.agent(new sdk.Agent({ name: "main", model: new Scripted([[{ id: "m1", tool: "transfer_to_helper", args: {} }]]) }) as Agent<any, any>).clone({ name: "copy" });
    agent.handoffs.push(new sdk.Agent({ name: "helper", model: new Scripted(attempt()), tools: s.tools() }));
    return sdk.run(agent, "go", { context: { conversation: "main" } });
  },
  "a hand-off": (s) => s.go(s.gate.agent(s.calls("transfer_to_helper", {}, { handoffs: [s.bare("helper")] }))),
  "a hand-off of handoff()": (s) => s.go(s.gate.agent(s.calls("transfer_to_helper", {}, { handoffs: [handoff(s.bare("helper"))] }))),
  "a hand-off of handoff() to an agent that it makes": (s) => {
    const made = handoff(s.bare("helper", []));
    made.onInvokeHandoff = async () => s.bare("another");
    return s.go(s.gate.agent(s.calls("transfer_to_helper", {}, { handoffs: [made] })));
  },
  "a hand-off that was added later": (s) => {
    const agent = s.gate.agent(s.calls("transfer_to_helper", {}, {}));
    agent.handoffs.push(s.bare("helper") as never);
    return s.go(agent);
  },
  "hand-offs that were replaced later": (s) => {
    const agent = s.gate.agent(s.calls("transfer_to_helper", {}, {}));
    agent.handoffs = [handoff(s.bare("helper"))] as never;
    return s.go(agent);
  },
  "a hand-off that was added later to the agent behind a hand-off": (s) => {
    const middle = new Agent<any>({ name: "middle", model: new Scripted([[{ id: "h1", tool: "transfer_to_helper", args: {} }]]) });
    const agent = s.gate.agent(s.calls("transfer_to_middle", {}, { handoffs: [middle] }));
    middle.handoffs.push(s.bare("helper") as never);
    return s.go(agent);
  },
  "a hand-off of a clone": (s) => s.go(s.gate.agent(s.bare("main")).clone({ model: new Scripted([[{ id: "m1", tool: "transfer_to_helper", args: {} }]]), handoffs: [s.bare("helper")] as never })),
  "a hand-off back": (s) => {
    const main = new Agent<any>({ name: "main", model: new Scripted([[{ id: "m1", tool: "transfer_to_helper", args: {} }], ...attempt()]), tools: s.tools() });
    const helper = new Agent<any>({ name: "helper", model: new Scripted([[{ id: "h1", tool: "transfer_to_main", args: {} }]]), handoffs: [main] });
    main.handoffs.push(helper as never);
    return s.go(s.gate.agent(main));
  },
  "an agent whose class makes its tools": (s) => {
    class Own extends Agent<any, any> {
      override async getAllTools(): Promise<any[]> {
        return s.tools();
      }
    }
    return s.go(s.gate.agent(new Own({ name: "main", model: new Scripted(attempt()) })));
  },
  "the invoke of a tool that the agent shows": async (s) => {
    const agent = s.gate.agent(s.bare("main"));
    const context = (await s.go(s.bare("other", [])))["state"]["_context"];
    for (const one of agent.tools as any[]) await one.invoke(context, JSON.stringify({ path: "a", text: "b" }));
  },
  "tools that the search of the client loads": (s) => {
    const search: any = toolSearchTool({ execution: "client", execute: async () => s.tools() } as any);
    const script: any[] = [{ search: true }, ...attempt()];
    const model = new Scripted(script as Script);
    const respond = model.getResponse.bind(model);
    model.getResponse = async (request) => {
      if (!(script[0] as any)?.search) return respond(request);
      script.shift();
      return { usage: new Usage(), output: [{ type: "tool_search_call", callId: "s1", status: "completed", execution: "client", arguments: {} } as any] };
    };
    const gate = new InterlockGate(s.place.client(), { session: s.place.world.session("main"), ungated: ["tool_search"] });
    return s.go(gate.agent(new Agent<any>({ name: "main", model, tools: [search] })));
  },
};

test.concurrent.each(Object.keys(judged))("judged: %s", async (name) => {
  await inPlace(async (place) => {
    await judged[name]!(new Stage(place));
    await place.held();
  });
});

test.concurrent("judged: a realtime agent, which stays one", async () => {
  await inPlace(async (place) => {
    const s = new Stage(place);
    let answered = (): void => undefined;
    const transport: any = Object.assign(new EventEmitter(), {
      status: "connected", muted: false, connect: async () => undefined, sendEvent: () => undefined, updateSessionConfig: () => undefined, close: () => undefined,
      sendFunctionCallOutput: () => answered(), resetHistory: () => undefined, interrupt: () => undefined, sendMessage: () => undefined, requestResponse: () => undefined,
    });
    const agent = s.gate.agent(new RealtimeAgent<any>({ name: "voice", voice: "alloy", tools: s.tools() }) as any) as any;
    expect(agent).toBeInstanceOf(RealtimeAgent);
    expect(agent.voice).toBe("alloy");
    const session = new RealtimeSession(agent, { transport, context: { conversation: "main" } as any });
    await session.connect({ apiKey: "none" });
    for (const [call] of attempt()) {
      const done = new Promise<void>((resolve) => (answered = resolve));
      transport.emit("function_call", {
        type: "function_call", id: `i_${call!.id}`, responseId: call!.id, callId: call!.id, name: call!.tool, arguments: JSON.stringify(call!.args),
      });
      await done;
    }
    session.close();
    await place.held();
  });
});

test.concurrent("judged: the shell of a sandbox", async () => {
  await inPlace(async (place) => {
    const s = new Stage(place);
    const mark = join(place.world.folder, "ran");
    const agent = s.gate.agent(
      new SandboxAgent<any>({
        name: "main", model: new Scripted([[{ id: "m1", tool: "exec_command", args: { cmd: `touch ${mark}` } }]]), tools: s.tools(),
        capabilities: [shell()], defaultManifest: new Manifest({}),
      } as any),
    );
    const model = agent.model as Scripted;
    await s.go(agent, { sandbox: { client: new UnixLocalSandboxClient() } });
    expect(model.reads["m1"]).toContain("TOOL_NOT_ALLOWED");
    expect(existsSync(mark)).toBe(false);
  });
});

test("refused: tools that cannot be judged, also when they are added later or belong to an inner agent", async () => {
  await inPlace(async (place) => {
    const s = new Stage(place);
    const computer: any = Object.fromEntries(["screenshot", "click", "doubleClick", "drag", "keypress", "move", "scroll", "type", "wait"].map((name) => [name, async () => ""]));
    const hosted: any[] = [
      webSearchTool(), fileSearchTool(["vs"]), codeInterpreterTool(), imageGenerationTool(), hostedMcpTool({ serverLabel: "x", serverUrl: "https://x.invalid" }),
      shellTool({ shell: { run: async () => ({ output: [] }) } as any }), applyPatchTool({ editor: {} as any }), computerTool({ computer: { ...computer, environment: "mac", dimensions: [1, 1] } }),
    ];
    for (const one of hosted) {
      await expect(s.go(s.gate.agent(s.bare("main", [], { tools: [one] }))), one.name).rejects.toThrow(/cannot judge/);
      const later = s.gate.agent(s.bare("main", []));
      later.tools.push(one);
      await expect(s.go(later), one.name).rejects.toThrow(/cannot judge/);
      await expect(s.go(s.gate.agent(s.bare("main")).clone({ tools: [one] })), one.name).rejects.toThrow(/cannot judge/);
      const model = new Scripted([[{ id: "m1", tool: "inner", args: { input: "go" } }]]);
      const inner = vi.fn(async () => ({ usage: new Usage(), output: [] }));
      const hidden = new Agent<any>({ name: "inner", model: { getResponse: inner, getStreamedResponse: inner } as any, tools: [one] });
      await s.go(s.gate.agent(new Agent<any>({ name: "main", model, tools: [hidden.asTool({ toolName: "inner" })] })));
      expect(inner, one.name).not.toHaveBeenCalled();
    }
  });
});

test("refused: a sandbox that lets agents of its own write memories", async () => {
  await inPlace(async (place) => {
    const s = new Stage(place);
    const agent = (): any => new SandboxAgent<any>({ name: "main", capabilities: [...Capabilities.default(), memory({ generate: {} } as any)] } as any);
    await expect((async () => s.go(s.gate.agent(agent())))()).rejects.toThrow(/memory/);
  });
});

test.concurrent.each<[string, object]>([
  ["prompt", { prompt: { promptId: "pmpt_1" } }],
  ["prompt", { prompt: async () => ({ promptId: "pmpt_1" }) }],
  ["providerData", { modelSettings: { providerData: { tools: [{ type: "web_search" }] } } }],
])("refused: tools that the model has beside the agent's list, by %s", async (name, more) => {
  await inPlace(async (place) => {
    const s = new Stage(place);
    const refusal = new RegExp(`"${name}" may give`);
    await expect(s.go(s.gate.agent(s.bare("main", [], more)))).rejects.toThrow(refusal);
    await expect(s.go(s.gate.agent(s.bare("main", [])).clone(more))).rejects.toThrow(refusal);
    const respond = vi.fn(async () => ({ usage: new Usage(), output: [] }));
    const inner = new Agent<any>({ name: "inner", ...more, model: { getResponse: respond, getStreamedResponse: respond } as any });
    await s.go(s.gate.agent(s.calls("inner", { input: "go" }, { tools: [inner.asTool({ toolName: "inner" })] })));
    expect(respond).not.toHaveBeenCalled();
    const ungated = new InterlockGate(place.client(), { session: place.world.session("main"), ungated: [name] });
    await s.go(ungated.agent(s.bare("main", [], more)));
  });
});

const guardrail = (run: (data: any) => Promise<any>): any => ({ type: "tool_input", name: "checks", run });

test.concurrent("a verdict of one conversation is not that of another whose model uses the same id", async () => {
  await inPlace(async (place) => {
    const s = new Stage(place);
    await place.world.move("first", "READY"); // where write_note is legal
    let judgedFirst = (): void => undefined;
    let ranSecond = (): void => undefined;
    const first = new Promise<void>((resolve) => (judgedFirst = resolve));
    const second = new Promise<void>((resolve) => (ranSecond = resolve));
    // The second is denied; before it comes to its tool, the first is allowed, and waits until the second is over.
    const waits = guardrail(async ({ context }) => {
      if (context.context.conversation === "first") {
        judgedFirst();
        await second;
      } else await first;
      return { behavior: { type: "allow" } };
    });
    const agent = (): Agent<any, any> =>
      s.gate.agent(s.bare("main", [[{ id: "functions.write_note:0", tool: "write_note", args: { path: "a", text: "b" } }]], { tools: [s.plain("write_note", { inputGuardrails: [waits] })] }));
    const runs = ["second", "first"].map((conversation) => run(agent(), "go", { context: { conversation } }));
    await runs[0];
    expect(place.world.ran()).toEqual([]);
    ranSecond();
    await runs[1];
    expect(place.world.ran()).toEqual(["write_note"]);
    expect(await place.told()).toEqual(["write_note ok"]);
  }, ["first", "second"]);
});

test.concurrent.each([
  ["rejects", async () => ({ behavior: { type: "rejectContent", message: "no" } })],
  ["stops the run", async () => ({ behavior: { type: "throwException" } })],
  ["throws", () => Promise.reject(new Error("broken"))],
])("a guardrail that %s after the decision leaves no call open", async (_, behave) => {
  await inPlace(async (place) => {
    const s = new Stage(place);
    const tools = [s.plain("read_note", { inputGuardrails: [guardrail(behave)] })];
    await s.go(s.gate.agent(s.bare("main", [[{ id: "i1", tool: "read_note", args: { path: "a" } }]], { tools }))).catch(() => undefined);
    expect(place.world.ran()).toEqual([]);
    expect(await place.told()).toEqual(["read_note failed"]); // it was withdrawn
    expect((await place.world.host.record()).results).toEqual([]);
  });
});

test.concurrent.each(["kept in memory", "stored"])("an approval inside of an agent as a tool pauses the whole, and lets the call run once: %s", async (how) => {
  await inPlace(async (place) => {
    const s = new Stage(place);
    const make = (inner: Script, outer: Script): Agent<any, any> => {
      const deployer = new Agent<any>({ name: "inner", model: new Scripted(inner), tools: [s.plain("deploy")] });
      return s.gate.agent(new Agent<any>({ name: "main", model: new Scripted(outer), tools: [deployer.asTool({ toolName: "inner" })] }));
    };
    let agent = make([[{ id: "d1", tool: "deploy", args: { target: "prod" } }]], [[{ id: "m1", tool: "inner", args: { input: "go" } }]]);
    const paused = await s.go(agent);
    expect(paused.interruptions.length).toBe(1);
    expect(place.world.ran()).toEqual([]);
    let { state } = paused;
    if (how === "stored") {
      agent = make([], []);
      state = await RunState.fromString(agent, state.toString());
    }
    await s.gate.settle(state);
    expect(state.getInterruptions().length).toBe(1); // nobody has decided
    await place.world.host.human({ approve: true });
    await s.gate.settle(state);
    const done = (await run(agent, state)) as any;
    expect(done.interruptions).toEqual([]);
    expect(place.world.ran()).toEqual(["deploy"]);
    expect(await place.told()).toEqual(["deploy ok"]);
  });
});

test.concurrent("a call whose run is cancelled is reported at once, with an unknown outcome", async () => {
  await inPlace(async (place) => {
    const s = new Stage(place);
    const controller = new AbortController();
    const tools = [
      tool({
        name: "read_note", description: "x", parameters: z.object({ path: z.string() }),
        execute: (_: unknown, __: unknown, details: any) =>
          new Promise((_, reject) => {
            details.signal.addEventListener("abort", () => reject(new Error("aborted")));
            controller.abort();
          }),
      } as any),
    ];
    await s.go(s.gate.agent(s.bare("main", [[{ id: "i1", tool: "read_note", args: { path: "a" } }]], { tools })), { signal: controller.signal }).catch(() => undefined);
    expect(await place.told()).toEqual(["read_note failed"]);
  });
});

test.concurrent("a run that is cancelled during the decision leaves no call open", async () => {
  await inPlace(async (place) => {
    const s = new Stage(place);
    const controller = new AbortController();
    const client = place.client();
    const forSession = client.forSession.bind(client);
    client.forSession = (name) => {
      const bound = forSession(name);
      const check = bound.check.bind(bound);
      bound.check = async (...args) => {
        const decision = await check(...args);
        controller.abort();
        return decision;
      };
      return bound;
    };
    const gate = new InterlockGate(client, { session: (context) => place.world.session(context.context.conversation) });
    const agent = gate.agent(s.bare("main", [[{ id: "i1", tool: "read_note", args: { path: "a" } }]]));
    await s.go(agent, { signal: controller.signal }).catch(() => undefined);
    await new Promise((resolve) => setImmediate(resolve));
    expect(place.world.ran()).toEqual([]);
    expect(await place.told()).toEqual(["read_note failed"]); // it was withdrawn
  });
});

test.concurrent("a copy of an agent by its settings cannot use its MCP servers without a gate", async () => {
  await inPlace(async (place) => {
    const s = new Stage(place);
    const server: any = {
      name: "notes", cacheToolsList: false, connect: async () => undefined, close: async () => undefined, invalidateToolsCache: async () => undefined,
      listTools: async () => ["read_note", "write_note"].map((name) => ({ name, description: name, inputSchema: { type: "object", properties: {}, required: [], additionalProperties: true } })),
      callTool: async (name: string, args: any) => [{ type: "text", text: await place.tool(name).run(args) }],
    };
    const gated = s.gate.agent(s.bare("main", attempt(), { tools: [], mcpServers: [server] }));
    await s.go(gated);
    expect(place.world.ran()).toEqual(["read_note"]);
    await s.go(new Agent<any>({ ...gated, name: "copy", model: new Scripted(attempt()) } as any)).catch(() => undefined);
    expect(place.world.ran()).toEqual(["read_note"]);
    expect(await place.told()).toEqual(["read_note ok"]);
  });
});
