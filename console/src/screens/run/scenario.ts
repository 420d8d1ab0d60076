// A run as a test file for `interlock test`: the same events again, and where they led.
import type { Run, Schemas } from "../../api/client";
import { pretty } from "../../api/json";

type Entry = Schemas["HistoryEntry"];

/** Text as YAML in double quotes, which is JSON's. */
const quoted = (text: string) => JSON.stringify(text);
const indented = (text: string, by: number) => text.split("\n").join(`\n${" ".repeat(by)}`);

/** The file; undefined for a run that made no transition of its own, which cannot be tested. Acts of people (approvals, pauses) and the steps of branches are comments: a test says how those are decided. */
export function scenarioOf(run: Run, entries: Entry[]): string | undefined {
  const kind = run.process ? "process" : "workflow";
  const lines = [
    `# Made from ${run.run_id}. Save the ${kind} beside it:`,
    `#   interlock ${kind} get ${run.workflow} --version ${run.workflow_version} -o json > ${run.workflow}.json`,
    `${kind}: ${quoted(`${run.workflow}.json`)}`,
    "cases:",
    `  - name: ${quoted(`as in ${run.run_id}`)}`,
    "    steps:",
  ];
  let steps = 0;
  for (const e of entries) {
    if (e.type !== "transitioned" || !e.event || e.event.startsWith("$") || e.branch) {
      lines.push(`      # ${e.type} ${JSON.stringify(e.event ?? "").slice(1, -1)}`.trimEnd());
      continue;
    }
    steps++;
    lines.push(`      - event: ${quoted(e.event)}`);
    if (e.data !== undefined && e.data !== null) lines.push(`        data: ${indented(pretty(e.data), 8)}`);
    if (e.to) lines.push(`        expect: {state: ${quoted(e.to)}}`);
  }
  return steps > 0 ? `${lines.join("\n")}\n` : undefined;
}
