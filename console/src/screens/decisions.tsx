import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { type DecisionRecord, get, type Schemas } from "../api/client";
import { Chip, download, Text, Time, useTitle } from "../ui/basics";
import { List, usePages } from "../ui/list";
import { Views } from "../ui/views";
import { Words } from "./runs";
import { notEnforced } from "./standing";

const filters = [
  "decision",
  "not_decision",
  "run_id",
  "session_id",
  "tool",
  "code",
  "workflow",
  "policy",
  "principal",
  "after",
  "before",
] as const;
type Search = { [key in (typeof filters)[number]]?: string };

/** Every decision, newest first; the filters are in the address. */
export function Decisions() {
  useTitle("Decisions");
  const search = useSearch({ strict: false }) as Search;
  const navigate = useNavigate();
  const query = Object.fromEntries(filters.map((f) => [f, search[f]]));
  const pages = usePages<Schemas["DecisionList"]>(["decisions", "list", query], "/v1/decisions", query);
  const filter = (part: Search) => navigate({ to: "/decisions", search: { ...search, ...part } });
  return (
    <>
      <div className="head">
        <h1>Decisions</h1>
        <select
          aria-label="Decision"
          value={search.not_decision ? `not ${search.not_decision}` : (search.decision ?? "")}
          onChange={(e) => {
            const not = e.target.value.startsWith("not ");
            filter({ decision: not ? "" : e.target.value, not_decision: not ? e.target.value.slice(4) : "" });
          }}
        >
          <option value="">any decision</option>
          <option value="ALLOW">allowed</option>
          <option value="ASK">asked</option>
          <option value="DENY">denied</option>
          <option value="not ALLOW">not allowed</option>
        </select>
        <Words name="Tool" value={search.tool} onChange={(tool) => filter({ tool })} />
        <Words name="Code" value={search.code} onChange={(code) => filter({ code })} />
        <Words name="Workflow" value={search.workflow} onChange={(workflow) => filter({ workflow })} />
        <Words name="Policy" value={search.policy} onChange={(policy) => filter({ policy })} />
        <Words name="Who" value={search.principal} onChange={(principal) => filter({ principal })} />
        <Words name="Run" value={search.run_id} onChange={(run_id) => filter({ run_id })} />
        <Words name="Session" value={search.session_id} onChange={(session_id) => filter({ session_id })} />
        <Moment name="Since" value={search.after} onChange={(after) => filter({ after })} />
        <Moment name="Until" value={search.before} onChange={(before) => filter({ before })} />
        <span className="grow" />
        <Export query={query} />
      </div>
      <Views of="decisions" to="/decisions" search={query} />
      <List
        pages={pages}
        label="Decisions"
        items={(p) => p.decisions}
        empty={
          Object.values(query).some(Boolean) ? "No decision fits these filters." : "No tool call has been judged yet."
        }
        row={(d, style) => (
          <Link
            key={`${d.partition}${d.sequence}`}
            className="list-row cols-decisions"
            style={style}
            to="/decisions/$run/$call"
            params={{ run: d.run_id || "-", call: d.call_id }}
            search={{ session_id: d.run_id ? undefined : d.session_id, sequence: String(d.sequence) }}
          >
            <Chip>{d.code === notEnforced ? d.code : d.decision}</Chip>
            <span className="dim">
              <Time at={d.time} />
            </span>
            <span>
              <Text>{d.tool}</Text>
            </span>
            <span className="wide">
              <Text>{d.principal}</Text>
            </span>
            <span className="wide">
              <Text>{d.workflow}</Text> <span className="dim">{d.state}</span>
            </span>
            <span className="wide dim">
              <Text>{d.message || d.code}</Text>
            </span>
          </Link>
        )}
      />
    </>
  );
}

/** A filter by time, in this browser's own. */
function Moment({ name, value, onChange }: { name: string; value?: string; onChange: (value: string) => void }) {
  const shown = (iso: string) => {
    const at = new Date(iso);
    return Number.isNaN(at.getTime())
      ? ""
      : new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
  };
  return (
    <label className="row small">
      {name}
      <input
        type="datetime-local"
        value={value ? shown(value) : ""}
        onChange={(e) => onChange(e.target.value ? new Date(e.target.value).toISOString() : "")}
      />
    </label>
  );
}

const columns: (keyof DecisionRecord)[] = [
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
  return [columns.join(","), ...rows.map((r) => columns.map((c) => cell(r[c])).join(","))].join("\r\n");
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
