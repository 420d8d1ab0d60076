/** A place where one way of a framework to run a tool is tried: a server, a session in the state `reading`, and tools that note their runs. */
import { expect, inject } from "vitest";
import type { Interlock } from "../../src/index.js";
import { Case } from "../host.js";
import { contract, World } from "./harness.js";

/** One call of a script. */
export interface Scripted {
  id: string;
  tool: string;
  args: Record<string, unknown>;
  namespace?: string;
}

/** The calls of a model turn by turn; it says "done" when they are used up. */
export type Script = Scripted[][];

/** A script that makes one call that the state denies and then one that it allows. */
export function attempt(prefix = "i"): Script {
  return [
    [{ id: `${prefix}1`, tool: "write_note", args: { path: "a", text: "b" } }],
    [{ id: `${prefix}2`, tool: "read_note", args: { path: "a" } }],
  ];
}

/** Runs `body` in a place of its own. */
export async function inPlace(body: (place: Place) => Promise<void>, sessions: string[] = ["main"]): Promise<void> {
  const workflow = structuredClone(contract.workflow) as any;
  const delegates = ["inner", "outer", "task"];
  workflow.meta = { ...workflow.meta, tools: delegates };
  for (const state of ["reading", "counting"]) workflow.states[state].allowed_tools = [...workflow.states[state].allowed_tools, ...delegates];
  // Code is judged only where commands are free.
  workflow.states.free = { on: { DONE: "done" } };
  workflow.states.reading.on = { ...workflow.states.reading.on, FREE: "free" };
  const host = await Case.begin(inject("control"), { workflows: [workflow], policies: [{ role: "agent", meta: { tools: ["deploy"] }, ...contract.policy }] });
  const world = new World(host, { name: "path", what: "", steps: sessions.map((as) => ({ as })) });
  try {
    await world.prepare();
    await body(new Place(world));
  } finally {
    await world.close();
  }
}

export class Place {
  private readonly clients: Interlock[] = [];
  constructor(readonly world: World) {}

  /** A client for an adapter. */
  client(): Interlock {
    const client = this.world.client();
    this.clients.push(client);
    return client;
  }

  /** A tool of the contract. */
  tool(name: string): { name: string; args: string[]; run: (args: Record<string, string>) => Promise<string> } {
    return this.world.tools().find((one) => one.name === name)!;
  }

  /** The reports of tools, of those of the contract without names, as `tool ok` or `tool failed`. */
  async told(...names: string[]): Promise<string[]> {
    if (names.length === 0) names = Object.keys(contract.tools);
    await Promise.all(this.clients.splice(0).map((client) => client.close())); // calls that were given up are settled then
    return (await this.world.host.attempts())
      .filter((one) => one.rpc === "ReportToolCall" && names.includes(one.tool ?? ""))
      .map((one) => `${one.tool!} ${one.ok ? "ok" : "failed"}`);
  }

  /** Checks of a tool of the contract. */
  async asked(tool: string): Promise<number> {
    return new Set((await this.world.host.attempts()).filter((one) => one.rpc === "CheckToolCall" && one.tool === tool).map((one) => one.key)).size;
  }

  /** Expects that of the calls of `attempt` the denied one has not run, and that the allowed one has run and was reported once. */
  async held(): Promise<void> {
    expect(this.world.ran()).toEqual(["read_note"]);
    expect(await this.told()).toEqual(["read_note ok"]);
  }
}
