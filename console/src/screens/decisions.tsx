import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { useMemo } from "react";
import { type DecisionRecord, get, type Schemas } from "../api/client";
import type { paths } from "../api/schema";
import type { Filters } from "../router";
import { download, Text, Time, useTitle } from "../ui/basics";
import { FilterField } from "../ui/filter";
import { moment } from "../ui/sort";
import { type Column, Table, useItems, usePages } from "../ui/table";
import { type Grammar, type Key, momentOf } from "../ui/tokens";
import { Views } from "../ui/views";
import { visible } from "../ui/visible";
import { argumentOf } from "./argument";
import { useWorkflows } from "./runs";
import { Cause, Verdict } from "./verdict";

type Query = NonNullable<paths["/v1/decisions"]["get"]["parameters"]["query"]>;

/** The codes of denials. */
const codes = [
  "TOOL_NOT_ALLOWED",
  "TOOL_DISALLOWED",
  "COMMAND_NOT_ALLOWED",
  "COMMAND_UNPARSABLE",
  "COMMAND_WRITES",
  "COMMAND_UNKNOWN",
  "ENV_BLOCKED",
  "EDIT_TOO_LARGE",
  "TOO_MANY_FILES",
  "MAX_ITERATIONS",
  "CONTEXT_BUDGET",
  "RUN_NOT_ACTIVE",
  "INVALID_INPUT",
  "POLICY_DENIED",
  "POLICY_UNAVAILABLE",
  "RATE_LIMITED",
  "BUDGET_EXCEEDED",
  "EMAIL_DENIED",
  "APPROVAL_REQUIRED",
  "APPROVAL_PENDING",
  "SELF_PROTECTED",
  "NOT_ENFORCED",
  "EFFECTS_UNKNOWN",
  "ACTS_ELSEWHERE",
  "SIGNALS_PROCESS",
  "CALLER_DENIED",
  "JAIL_REQUIRED",
  "CALL_UNCLEAR",
  "CALL_NOT_ALLOWED",
  "NARROWED",
  "HALTED",
  "UNGOVERNED",
] as const satisfies NonNullable<Query["code"]>[];
const verdicts = ["allow", "ask", "deny"] as const;

const upper = { take: (v: string) => v.toUpperCase() };
const lower = { ...upper, show: (v: string) => v.toLowerCase() };
const times = ["15m", "1h", "24h", "7d"];

/** Returns the filters of decisions, with the names of the workflows. */
const grammarOf = (workflows: string[]): Grammar => {
  const keys: Key[] = [
    {
      name: "verdict",
      param: "decision",
      not: "not_decision",
      about: "allow, ask or deny; -verdict: leaves one out",
      values: verdicts,
      ...lower,
    },
    { name: "tool", param: "tool", about: "the tool of the call" },
    { name: "code", param: "code", about: "the code of a denial", values: codes, ...upper },
    { name: "workflow", param: "workflow", about: "the workflow of its run", values: workflows },
    { name: "policy", param: "policy", about: "the policy that has decided" },
    { name: "who", param: "principal", about: "the principal that has called" },
    { name: "run", param: "run_id", about: "its run" },
    { name: "session", param: "session_id", about: "its session" },
    { name: "since", param: "after", about: "from a time on: 24h, or 2026-01-31T10:00", values: times, take: momentOf },
    { name: "until", param: "before", about: "before a time: 1h, or 2026-01-31T10:00", values: times, take: momentOf },
  ];
  const named = (param: string) => keys.find((k) => k.param === param);
  return {
    keys,
    word: (word) => {
      if (/^run_/.test(word)) return named("run_id");
      if ((codes as readonly string[]).includes(word.toUpperCase())) return named("code");
      return named((verdicts as readonly string[]).includes(word.toLowerCase()) ? "decision" : "tool");
    },
  };
};

const filters = grammarOf([]).keys.flatMap((k) => (k.not ? [k.param, k.not] : [k.param]));

const columns: Column<DecisionRecord>[] = [
  { id: "verdict", name: "Verdict", width: "7.9rem", phone: 1, by: (d) => d.decision, cell: (d) => <Verdict of={d} /> },
  {
    id: "tool",
    name: "Tool",
    opens: true,
    width: "minmax(5rem, 0.8fr)",
    phone: 1,
    by: (d) => d.tool,
    cell: (d) => <Text>{d.tool}</Text>,
  },
  {
    id: "argument",
    name: "Argument",
    width: "minmax(6.5rem, 2.4fr)",
    phone: 2,
    by: (d) => argumentOf(d.input),
    cell: (d) => (
      <span className="mono small" title={visible(argumentOf(d.input))}>
        <Text>{argumentOf(d.input)}</Text>
      </span>
    ),
  },
  {
    id: "code",
    name: "Code",
    width: "minmax(7.2rem, 1.3fr)",
    phone: 2,
    end: true,
    by: (d) => d.code,
    cell: (d) => (
      <span className="small" title={visible(d.message)}>
        <Cause of={d} />
      </span>
    ),
  },
  {
    id: "state",
    name: "State",
    width: "minmax(5rem, 0.8fr)",
    by: (d) => d.state,
    cell: (d) => <Text>{d.state}</Text>,
  },
  {
    id: "person",
    name: "Who",
    width: "minmax(5rem, 0.8fr)",
    by: (d) => d.principal,
    cell: (d) => <Text>{d.principal}</Text>,
  },
  {
    id: "time",
    name: "Time",
    width: "6rem",
    phone: 1,
    end: true,
    by: (d) => moment(d.time),
    cell: (d) => <Time at={d.time} />,
  },
  {
    id: "workflow",
    name: "Workflow",
    width: "minmax(5rem, 0.8fr)",
    by: (d) => d.workflow,
    cell: (d) => <Text>{d.workflow}</Text>,
  },
  {
    id: "run",
    name: "Run",
    width: "6.5rem",
    by: (d) => d.run_id,
    cell: (d) =>
      d.run_id && (
        <Link className="mono small" to="/runs/$id" params={{ id: d.run_id }}>
          …{d.run_id.slice(-6)}
        </Link>
      ),
  },
  {
    id: "message",
    name: "Message",
    optional: true,
    width: "minmax(8.6rem, 2fr)",
    by: (d) => d.message,
    cell: (d) => (
      <span title={visible(d.message)}>
        <Text>{d.message}</Text>
      </span>
    ),
  },
  {
    id: "session",
    name: "Session",
    optional: true,
    width: "minmax(5rem, 1fr)",
    by: (d) => d.session_id,
    cell: (d) => <Text>{d.session_id}</Text>,
  },
];

/** Every decision, newest first; the filters are in the address. */
export function Decisions() {
  useTitle("Decisions");
  const search = useSearch({ strict: false }) as Filters;
  const navigate = useNavigate();
  const workflows = useWorkflows();
  const grammar = useMemo(() => grammarOf(workflows), [workflows]);
  const query = Object.fromEntries(filters.map((f) => [f, search[f]]));
  const pages = usePages<Schemas["DecisionList"]>(["decisions", "list", query], "/v1/decisions", query);
  const decisions = useItems(pages, (p) => p.decisions);
  return (
    <>
      <div className="head">
        <h1>Decisions</h1>
        <span className="grow" />
        <Views of="decisions" to="/decisions" search={query} />
        <Link to="/refusals">Refused callers</Link>
        <Export query={query} />
      </div>
      <Table
        name="decisions"
        label="Decisions"
        source={pages}
        items={decisions}
        columns={columns}
        id={(d) => `${d.partition} ${d.sequence}`}
        place={(d) => ({
          to: "/decisions/$run/$call",
          params: { run: d.run_id || "-", call: d.call_id },
          search: { session_id: d.run_id ? undefined : d.session_id, sequence: String(d.sequence) },
        })}
        tools={
          <FilterField
            label="decisions"
            grammar={grammar}
            search={query}
            onChange={(part) => navigate({ to: "/decisions", search: { ...search, ...part } })}
          />
        }
        empty={
          Object.values(query).some(Boolean) ? (
            "No decision fits these filters. Remove one of them above."
          ) : (
            <>
              No tool call has been judged yet. <code>interlock demo</code> shows some; the{" "}
              <Link to="/playground">playground</Link> judges calls without effects.
            </>
          )
        }
      />
    </>
  );
}

const exported: (keyof DecisionRecord)[] = [
  "time",
  "decision",
  "code",
  "principal",
  "session_id",
  "run_id",
  "workflow",
  "workflow_version",
  "state",
  "tool",
  "capability",
  "policy",
  "rule",
  "call_id",
  "approval_id",
  "input_digest",
  "hash",
];

/** The most decisions that one export has. */
const mostExported = 10_000;

/** CSV that no spreadsheet takes for a formula. */
function csv(rows: DecisionRecord[]): string {
  const cell = (value: unknown) => {
    const text = value === undefined || value === null ? "" : String(value);
    return `"${(/^[=+\-@\t\r]/.test(text) ? `'${text}` : text).replaceAll('"', '""')}"`;
  };
  return [exported.join(","), ...rows.map((r) => exported.map((c) => cell(r[c])).join(","))].join("\r\n");
}

function Export({ query }: { query: Record<string, string | undefined> }) {
  const save = async (form: string) => {
    const rows: DecisionRecord[] = [];
    let token = "";
    do {
      const page = await get<Schemas["DecisionList"]>("/v1/decisions", {
        ...query,
        page_size: 1000,
        page_token: token || undefined,
      });
      rows.push(...page.decisions);
      token = page.next_page_token ?? "";
    } while (token && rows.length < mostExported);
    if (form === "csv") download("decisions.csv", csv(rows), "text/csv");
    else download("decisions.jsonl", rows.map((r) => `${JSON.stringify(r)}\n`).join(""), "application/x-ndjson");
  };
  return (
    <span className="row">
      <button type="button" onClick={() => save("jsonl")}>
        JSONL
      </button>
      <button type="button" onClick={() => save("csv")}>
        CSV
      </button>
    </span>
  );
}
