/** Ways in which Claude Code runs a tool or a command, and how their ends are reported. */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Options, SDKMessage } from "@anthropic-ai/claude-agent-sdk";
import { afterAll, describe, expect, test, vi } from "vitest";
import { guarded, query, type GuardedOptions } from "../../src/claude-agent.js";
import { Fake } from "../../src/testing.js";
import { Api, environment } from "./claude-api.js";
import { Play } from "./harness.js";

const folders: string[] = [];
afterAll(() => folders.forEach((folder) => rmSync(folder, { recursive: true, force: true })));

interface Turn { tool: string; args: Record<string, unknown> }

/** Plays turns of one call each, and returns the fake and the model's play. */
async function played(
  turns: Turn[],
  { fake = new Fake().allow("*"), files = {}, prompt = "go", more = {}, options }: {
    fake?: Fake; files?: Record<string, string>; prompt?: string; more?: GuardedOptions; options?: (folder: string) => Partial<Options>;
  } = {},
) {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "interlock-ways-")));
  folders.push(folder);
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(join(folder, name, ".."), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
  const api = new Api();
  api.play = new Play({ main: [...turns.map((turn, i) => ({ calls: [{ id: `c${i}`, ...turn } as any] })), { text: "done" }] });
  const { CLAUDE_CODE_DISABLE_BACKGROUND_TASKS: _, ...env } = environment(await api.url(), folder);
  const messages: SDKMessage[] = [];
  try {
    const given: Options = { cwd: folder, env, settingSources: ["project"], strictMcpConfig: true, allowedTools: ["Bash", "Read", "Edit", "Write", "Skill"], ...options?.(folder) };
    for await (const message of query({ prompt, options: guarded(given, fake.client(), more) })) messages.push(message);
  } finally {
    api.close();
  }
  return { fake, folder, play: api.play, messages };
}

const ends = (fake: Fake) => fake.reports.map(({ tool, ok, outcomeUnknown, background }) => [tool, ok, outcomeUnknown, background !== ""]);

describe("ends of commands", () => {
  test("one that runs on after its time, one that is left in the background, and a status that is an answer are no success", async () => {
    const { fake, play } = await played(
      [
        { tool: "Bash", args: { command: "sh slow.sh", timeout: 1500 } },
        { tool: "Bash", args: { command: "sh slow.sh", run_in_background: true } },
        { tool: "Bash", args: { command: "grep -q zzz slow.sh" } },
        { tool: "Bash", args: { command: "true" } },
        { tool: "Bash", args: { command: "exit 3" } },
      ],
      { files: { "slow.sh": "sleep 8\nexit 1\n" } },
    );
    expect(ends(fake), JSON.stringify(play.reads)).toEqual([
      ["Bash", true, true, true], ["Bash", true, true, true], ["Bash", false, false, false], ["Bash", true, false, false], ["Bash", false, false, false],
    ]);
  });

  test("the folder is that in which the command runs", async () => {
    const { fake, folder } = await played(
      [{ tool: "Bash", args: { command: "cd other" } }, { tool: "Bash", args: { command: "make test" } }],
      { files: { "other/Makefile": "test:\n\ttrue\n" } },
    );
    expect(fake.calls.map((one) => one.folder)).toEqual([folder, join(folder, "other")]);
  });
});

describe("commands in the text of slash commands and skills", () => {
  const files = (folder = "."): Record<string, string> => ({
    ".claude/commands/touch.md": "---\nallowed-tools: Bash(touch:*)\n---\nresult: !`touch from-command`\n",
    ".claude/skills/toucher/SKILL.md": "---\nname: toucher\ndescription: touches\nallowed-tools: Bash(touch:*)\n---\nresult: !`touch from-skill`\n",
    [join(folder, "keep")]: "",
  });

  test("one that is denied does not run", async () => {
    const fake = new Fake().allow("Skill");
    const { folder } = await played([{ tool: "Skill", args: { skill: "toucher" } }], { fake, files: files(), prompt: "/touch" });
    expect([existsSync(join(folder, "from-command")), existsSync(join(folder, "from-skill"))]).toEqual([false, false]);
    expect(fake.calls.filter((one) => one.tool === "Bash").map((one) => (one.input as any).command)).toContain("touch from-command");
  });

  test("one that needs a human does not run, and one that is allowed runs, with an outcome that nobody can tell", async () => {
    const asked = await played([], { fake: new Fake().ask("Bash"), files: files(), prompt: "/touch" });
    expect(existsSync(join(asked.folder, "from-command"))).toBe(false);
    const { fake, folder } = await played([{ tool: "Skill", args: { skill: "toucher" } }], { files: files(), prompt: "/touch" });
    expect([existsSync(join(folder, "from-command")), existsSync(join(folder, "from-skill"))]).toEqual([true, true]);
    expect(ends(fake).filter(([tool]) => tool === "Bash")).toEqual([["Bash", true, true, false], ["Bash", true, true, false]]);
    expect(fake.openCalls).toEqual([]);
  });

  test("nothing runs when the server is away", async () => {
    const fake = new Fake();
    fake.down();
    const { folder } = await played([{ tool: "Write", args: { file_path: "written", content: "x" } }], { fake, files: files(), prompt: "/touch" });
    expect([existsSync(join(folder, "from-command")), existsSync(join(folder, "written"))]).toEqual([false, false]);
  });
});

describe("arguments that are changed after they were judged", () => {
  const write = (name: string): Turn => ({ tool: "Write", args: { file_path: name, content: "text" } });
  const ask = (): Partial<Options> => ({ allowedTools: [] });

  test("by canUseTool, are judged again", async () => {
    const allowed = await played([write("a")], {
      options: (folder) => ({
        ...ask(),
        canUseTool: async (_, input) => ({ behavior: "allow", updatedInput: { ...input, file_path: join(folder, "b") } }),
      }),
    });
    expect(allowed.fake.calls.map((one) => (one.input as any).file_path.split("/").at(-1))).toEqual(["a", "b"]);
    expect(allowed.fake.reports.map((one) => [one.ok, one.notExecuted])).toEqual([[false, true], [true, false]]);
    const fake = new Fake().allow("Write");
    const denied = await played([write("a")], {
      fake,
      options: (folder) => ({
        ...ask(),
        canUseTool: async (_, input) => {
          fake.deny("Write");
          return { behavior: "allow", updatedInput: { ...input, file_path: join(folder, "b") } };
        },
      }),
    });
    expect(existsSync(join(denied.folder, "b"))).toBe(false);
    expect(fake.openCalls).toEqual([]);
  });

  test("by a PermissionRequest hook, are judged again", async () => {
    const fake = new Fake().allow("Write");
    const { folder } = await played([write("a")], {
      fake,
      options: (folder) => ({
        ...ask(),
        canUseTool: async () => ({ behavior: "deny", message: "no" }),
        hooks: {
          PermissionRequest: [{
            hooks: [async (input: any) => {
              fake.deny("Write");
              return { hookSpecificOutput: { hookEventName: "PermissionRequest", decision: { behavior: "allow", updatedInput: { ...input.tool_input, file_path: join(folder, "b") } } } };
            }],
          }],
        },
      }),
    });
    expect([existsSync(join(folder, "a")), existsSync(join(folder, "b"))]).toEqual([false, false]);
  });

  test.each<[string, object]>([
    ["asks the user", { hookSpecificOutput: { hookEventName: "PreToolUse", permissionDecision: "ask" } }],
    ["ends the conversation", { continue: false, stopReason: "enough" }],
  ])("another hook that %s has no denied call made", async (_, answer) => {
    const { folder, fake } = await played([write("a")], {
      fake: new Fake().deny("Write"),
      options: () => ({
        ...ask(),
        canUseTool: async (_, input) => ({ behavior: "allow", updatedInput: input }),
        hooks: { PreToolUse: [{ hooks: [async () => answer] }] },
      }),
    });
    expect(existsSync(join(folder, "a"))).toBe(false);
    expect(fake.openCalls).toEqual([]);
  });

  test("another hook that asks the user has an allowed call made once the user allows it", async () => {
    const { folder, fake } = await played([write("a")], {
      options: () => ({
        ...ask(),
        canUseTool: async (_, input) => ({ behavior: "allow", updatedInput: input }),
        hooks: { PreToolUse: [{ hooks: [async () => ({ hookSpecificOutput: { hookEventName: "PreToolUse" as const, permissionDecision: "ask" as const } })] }] },
      }),
    });
    expect(existsSync(join(folder, "a"))).toBe(true);
    expect(fake.reports.map((one) => [one.tool, one.ok])).toEqual([["Write", true]]);
  });

  test("by permissionPromptToolName, cannot be judged: the options are refused", () => {
    expect(() => guarded({ permissionPromptToolName: "mcp__x__ask" }, new Fake().client())).toThrow(/use canUseTool/);
  });

  test("by a hook of a settings file, are seen at the end", async () => {
    const warned: string[] = [];
    const fake = new Fake().allow("*");
    const { hooks } = guarded({}, fake.client(), { onWarning: (message) => warned.push(message) });
    const fire = (event: "PreToolUse" | "PostToolUse", session_id: string, command: string) =>
      hooks![event]![0]!.hooks[0]!(
        { hook_event_name: event, session_id, cwd: "/repo", tool_name: "Bash", tool_use_id: "toolu_1", tool_input: { command }, tool_response: { stdout: "" } } as any,
        "toolu_1",
        { signal: new AbortController().signal },
      );
    // Two conversations have a call of one id.
    await Promise.all([fire("PreToolUse", "one", "make test"), fire("PreToolUse", "two", "make lint")]);
    await fire("PostToolUse", "two", "make lint");
    await fire("PostToolUse", "one", "true # make test");
    expect(fake.reports.map((one) => [one.callId === fake.calls[0]!.callId, one.ok, one.outcomeUnknown])).toEqual([[false, true, false], [true, false, true]]);
    expect(warned).toEqual(["a call has run with other arguments than were judged: Bash"]);
  });

  test("a call that the program's permissions refuse was not executed", async () => {
    const { fake } = await played([write("a")], { options: () => ({ ...ask(), canUseTool: async () => ({ behavior: "deny", message: "no" }) }) });
    expect(fake.reports.map((one) => [one.tool, one.notExecuted])).toEqual([["Write", true]]);
  });
});

test("the agents of a workflow, and the commands of a monitor, are judged", async () => {
  const script = `export const meta = { name: "w", description: "w", phases: [{ title: "a" }] };\nphase("a");\nreturn await agent("touch it");`;
  // One play is for both: the conversation leaves a command to the agent.
  const judged = new Fake().allow("*").deny("Bash").deny("Monitor");
  const afterTheAgent = async (given: object): Promise<object> => {
    if (!("agent_id" in given)) await vi.waitFor(() => expect(judged.calls.map((one) => one.session)).toContain("agent"), { timeout: 50_000 });
    return {};
  };
  const { folder, fake } = await played(
    [
      { tool: "Monitor", args: { description: "m", timeout_ms: 60000, command: "touch monitored" } },
      { tool: "Workflow", args: { script } },
      { tool: "Bash", args: { command: "touch ran" } },
      { tool: "Bash", args: { command: "touch ran" } },
    ],
    {
      fake: judged,
      more: { session: (given) => ((given as { agent_id?: string }).agent_id ? "agent" : "main") },
      options: () => ({ allowedTools: ["Workflow", "Bash", "Monitor"], hooks: { PreToolUse: [{ matcher: "Bash", hooks: [afterTheAgent] }] } }),
    },
  );
  expect(fake.calls.map((one) => `${one.session} ${one.tool}`).sort()).toEqual(["agent Bash", "main Bash", "main Monitor", "main Workflow"]);
  expect([existsSync(join(folder, "ran")), existsSync(join(folder, "monitored"))]).toEqual([false, false]);
});

test("calls of a query that is aborted are settled: during the check as not executed, in their middle as unknown", async () => {
  const fake = new Fake().allow("*");
  const event = (session_id: string) => ({ hook_event_name: "PreToolUse", session_id, cwd: "/repo", tool_name: "Bash", tool_use_id: "toolu_1", tool_input: { command: "ls" } }) as any;
  const fire = (abortController: AbortController, session: string) =>
    guarded({ abortController }, fake.client()).hooks!.PreToolUse![0]!.hooks[0]!(event(session), "toolu_1", { signal: new AbortController().signal });
  const during = new AbortController();
  const asked = fire(during, "one");
  during.abort();
  expect(await asked).toMatchObject({ hookSpecificOutput: { permissionDecision: "deny" } });
  const middle = new AbortController();
  await fire(middle, "two");
  middle.abort();
  await vi.waitFor(() => expect(fake.openCalls).toEqual([]));
  expect(fake.reports.map((one) => [one.notExecuted, one.outcomeUnknown]).sort()).toEqual([[false, true], [true, false]]);
});

test("settings of the project cannot turn the hooks off", async () => {
  const { folder, fake } = await played([{ tool: "Bash", args: { command: "touch ran" } }], {
    fake: new Fake(),
    files: { ".claude/settings.json": JSON.stringify({ disableAllHooks: true, permissions: { allow: ["Bash"] } }) },
  });
  expect([existsSync(join(folder, "ran")), fake.calls.map((one) => one.decision)]).toEqual([false, ["DENY"]]);
});

test("settings of the user cannot turn the hooks off", async () => {
  const { folder, fake } = await played([{ tool: "Bash", args: { command: "touch ran" } }], {
    fake: new Fake(),
    files: { "claude/settings.json": JSON.stringify({ env: { CLAUDE_CODE_SIMPLE: "1" } }) },
    options: () => ({ settingSources: ["user"] }),
  });
  expect([existsSync(join(folder, "ran")), fake.calls.map((one) => one.decision)]).toEqual([false, ["DENY"]]);
});

test.each<[string, Options]>([
  ["an argument", { extraArgs: { bare: null } }],
  ["the environment", { env: { CLAUDE_CODE_SIMPLE: "1" } }],
  ["settings", { settings: { env: { CLAUDE_CODE_SIMPLE: "true" } } }],
  ["settings as JSON", { settings: '{"env": {"CLAUDE_CODE_SIMPLE": "yes"}}' }],
  ["managed settings", { managedSettings: { env: { CLAUDE_CODE_SIMPLE: "on" } } }],
])("a Claude Code that runs no hooks is refused, by %s", (_, options) => {
  expect(() => guarded(options, new Fake().client())).toThrow(/runs no hooks/);
});

test("settings in a file are read, and a variable that is off is no reason", () => {
  const folder = mkdtempSync(join(tmpdir(), "interlock-ways-"));
  folders.push(folder);
  writeFileSync(join(folder, "on.json"), '{"env": {"CLAUDE_CODE_SIMPLE": "1"}}');
  expect(() => guarded({ cwd: folder, settings: "on.json" }, new Fake().client())).toThrow(/runs no hooks/);
  expect(() => guarded({ cwd: folder, settings: "none.json" }, new Fake().client())).toThrow(/none.json/);
  const { settings } = guarded({ env: { CLAUDE_CODE_SIMPLE: "0" }, settings: '{"model": "m", "env": {"A": "b"}}' }, new Fake().client());
  expect(settings).toEqual({ model: "m", env: { A: "b", CLAUDE_CODE_SIMPLE: "0" } });
});

describe.concurrent("a conversation that is left while a command runs reports it, with an unknown outcome", () => {
  const ways: Record<string, (messages: ReturnType<typeof query>, abort: AbortController) => unknown> = {
    "the loop is left": () => true,
    "it is aborted": (_, abort) => abort.abort(),
    "it is closed": (messages) => messages.close(),
    "it is interrupted": (messages) => void messages.interrupt().catch(() => undefined),
  };
  test.each(Object.keys(ways))("%s", async (name) => {
    const folder = realpathSync(mkdtempSync(join(tmpdir(), "interlock-ways-")));
    folders.push(folder);
    const api = new Api();
    api.play = new Play({ main: [{ calls: [{ id: "c0", tool: "Bash", args: { command: "touch began; sleep 30" } } as any] }, { text: "done" }] });
    const fake = new Fake().allow("*");
    const client = fake.client();
    const abortController = new AbortController();
    const options: Options = { cwd: folder, env: environment(await api.url(), folder), settingSources: [], strictMcpConfig: true, allowedTools: ["Bash"], abortController };
    const messages = query({ prompt: "go", options: guarded(options, client) });
    try {
      for await (const message of messages) {
        if (message.type !== "assistant" || !JSON.stringify(message).includes("tool_use")) continue;
        await vi.waitFor(() => expect(existsSync(join(folder, "began"))).toBe(true), { timeout: 30_000 });
        if (ways[name]!(messages, abortController) === true) break;
      }
    } catch {
      // An interrupted conversation ends with an error.
    }
    await vi.waitFor(() => expect(fake.reports.map((one) => [one.tool, one.ok, one.outcomeUnknown])).toEqual([["Bash", false, true]]));
    expect(fake.openCalls).toEqual([]);
    await client.close();
    api.close();
  });
});

test("every event that Claude Code has is known here: a new one may be about a tool or a command", () => {
  const declared = readFileSync(new URL("../../node_modules/@anthropic-ai/claude-agent-sdk/sdk.d.ts", import.meta.url), "utf8");
  const events = /HOOK_EVENTS: readonly \[(.*?)\]/.exec(declared)![1]!.split(", ").map((one) => one.slice(1, -1));
  expect(events.filter((one) => !/^(Pre|Post)(ToolUse|Compact|ModelSwitch)$|Failure$|Batch$|^Notification$|^UserPrompt|^Session|Stop$|^SubagentStart$|^Permission|^Setup$|^TeammateIdle$|^Task|^Elicitation|^ConfigChange$|^Worktree|^InstructionsLoaded$|Changed$|^DirectoryAdded$|^MessageDisplay$|^PreSkillShellCommand$/.test(one))).toEqual([]);
});
