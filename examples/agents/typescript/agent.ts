/** The agent of docs/agent-examples.md in TypeScript. Run it with `make example-agent-ts`. */
import { execFile } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { promisify } from "node:util";
import { AwaitingApproval, Denied, Interlock, Rejected, Result } from "@interlock/sdk";

/** The model's answer: a tool call, or an event of the workflow. */
interface Turn {
  say: string;
  tool?: string;
  input?: Record<string, string>;
  event?: string;
}

/** A scripted model: it gives its next turn, regardless of its input. */
async function model(file: string): Promise<(told: string) => Turn | undefined> {
  const turns = (await readFile(file, "utf8")).trim().split("\n").map((line) => JSON.parse(line) as Turn);
  return () => turns.shift();
}

/** Runs a tool. It is called only for calls that are allowed. */
async function perform(tool: string, input: Record<string, string>): Promise<Result> {
  const path = input["file_path"] ?? "";
  switch (tool) {
    case "Read":
      return new Result({ output: await readFile(path, "utf8") });
    case "Edit": {
      const text = await readFile(path, "utf8");
      await writeFile(path, text.replace(input["old_string"] ?? "", () => input["new_string"] ?? ""));
      return new Result({ output: "edited", filesChanged: [path] });
    }
    case "Bash":
      return new Result({ output: (await promisify(execFile)("bash", ["-c", input["command"] ?? ""])).stdout });
    default:
      throw new Error(`there is no tool ${tool}`);
  }
}

/** Makes one turn, and returns the message to the model about it. */
async function act(client: Interlock, { tool, input = {}, event = "" }: Turn): Promise<string> {
  try {
    if (tool !== undefined) {
      const result = await client.guard(tool, input, () => perform(tool, input));
      return `${result.output}\n${result.notice}`.trim();
    }
    const run = await client.transition(event);
    return run.ended ? run.status : `now in ${run.state}`;
  } catch (err) {
    if (err instanceof Denied) return `denied: ${err.message}`;
    if (err instanceof Rejected) return `refused: ${err.message}`;
    if (!(err instanceof AwaitingApproval)) throw err;
    console.log("  waits for a human");
    const [approval] = await Promise.all([client.waitApproval(err.approvalId), human(err.approvalId)]);
    if (!approval.granted) return `not approved: ${approval.outcome}`;
    const run = await client.waitRun("", { until: (run) => run.status !== "AWAITING_APPROVAL" }); // it moves a moment after the decision
    return `approved; now in ${run.state}`;
  }
}

/** Another person, with a token of the role approver, who approves. */
async function human(approvalId: string): Promise<void> {
  const client = new Interlock({ server: process.env["INTERLOCK_SERVER"] ?? "", token: process.env["APPROVER_TOKEN"] ?? "" });
  await client.decideApproval(approvalId, true);
  await client.close();
}

const client = Interlock.fromEnv();
const next = await model(process.argv[2] ?? "turns.jsonl");
let told = (await client.load("release", { workspace: process.cwd() })).instructions;
for (let turn = next(told); turn !== undefined; turn = next(told)) {
  console.log(turn.say);
  console.log("  > " + [turn.event ?? turn.tool, turn.input?.["command"] ?? turn.input?.["file_path"]].join(" ").trim());
  told = await act(client, turn);
  console.log("  " + told);
}
await client.close();
