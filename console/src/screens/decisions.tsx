import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { type DecisionRecord, get, type Schemas } from "../api/client";
import { Chip, download, Text, Time, useTitle } from "../ui/basics";
import { List, usePages } from "../ui/list";
import { Words } from "./runs";

interface Search {
  decision?: string;
  run_id?: string;
  session_id?: string;
  tool?: string;
}

/** Every decision, newest first; the filters are in the address. */
export function Decisions() {
  useTitle("Decisions");
  const search = useSearch({ strict: false }) as Search;
  const navigate = useNavigate();
  const query = { decision: search.decision, run_id: search.run_id, session_id: search.session_id, tool: search.tool };
  const pages = usePages<Schemas["DecisionList"]>(["decisions", "list", query], "/v1/decisions", query);
  const filter = (part: Search) => navigate({ to: "/decisions", search: { ...search, ...part } });
  return (
    <>
      <div className="head">
        <h1>Decisions</h1>
        <select
          aria-label="Decision"
          value={search.decision ?? ""}
          onChange={(e) => filter({ decision: e.target.value })}
        >
          <option value="">any decision</option>
          <option value="ALLOW">allowed</option>
          <option value="ASK">asked</option>
          <option value="DENY">denied</option>
        </select>
        <Words name="Tool" value={search.tool} onChange={(tool) => filter({ tool })} />
        <Words name="Run" value={search.run_id} onChange={(run_id) => filter({ run_id })} />
        <Words name="Session" value={search.session_id} onChange={(session_id) => filter({ session_id })} />
        <span className="grow" />
        <Export query={query} />
      </div>
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
          >
            <Chip>{d.decision}</Chip>
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
