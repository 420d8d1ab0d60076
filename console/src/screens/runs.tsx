import { useMutation, useQueryClient } from "@tanstack/react-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { useState } from "react";
import { change, type Run, type Schemas, segment } from "../api/client";
import { runsWereRead, useNewRuns } from "../api/live";
import { useSession } from "../shell";
import { Chip, Failure, Text, Time, useTitle } from "../ui/basics";
import { Confirm } from "../ui/dialog";
import { List, usePages } from "../ui/list";
import { Views } from "../ui/views";

const statuses = [
  "RUNNING",
  "WAITING",
  "AWAITING_APPROVAL",
  "PAUSED",
  "HELD",
  "COMPLETED",
  "FAILED",
  "BLOCKED",
  "CANCELLED",
];
const actions = ["pause", "resume", "cancel"] as const;
type Action = (typeof actions)[number];

const filters = [
  "status",
  "not_status",
  "workflow",
  "not_workflow",
  "session_id",
  "text",
  "denied",
  "id_prefix",
] as const;
type Search = { [key in (typeof filters)[number]]?: string };

/** The words of a status as people read them. */
const worded = (status: string) => status.toLowerCase().replaceAll("_", " ");

/** All runs, newest first; the filters are in the address. */
export function Runs() {
  useTitle("Runs");
  const search = useSearch({ strict: false }) as Search;
  const navigate = useNavigate();
  const session = useSession();
  const fresh = useNewRuns();
  const [chosen, setChosen] = useState<Set<string>>(new Set());
  const query = Object.fromEntries(filters.map((f) => [f, search[f]]));
  const pages = usePages<Schemas["RunList"]>(["runs", query], "/v1/runs", query);
  const filter = (part: Search) => navigate({ to: "/runs", search: { ...search, ...part } });
  const mayChange = !session.read_only && (session.roles?.includes("operator") ?? true);
  return (
    <>
      <div className="head">
        <h1>Runs</h1>
        <StatusFilter search={search} filter={filter} />
        <Words name="Text" value={search.text} onChange={(text) => filter({ text })} />
        <Words name="Workflow" value={search.workflow} onChange={(workflow) => filter({ workflow })} />
        <Words
          name="Not the workflow"
          value={search.not_workflow}
          onChange={(not_workflow) => filter({ not_workflow })}
        />
        <Words name="Session" value={search.session_id} onChange={(session_id) => filter({ session_id })} />
        <Words name="Beginning of the id" value={search.id_prefix} onChange={(id_prefix) => filter({ id_prefix })} />
        <label className="row small">
          <input
            type="checkbox"
            checked={search.denied === "true"}
            onChange={(e) => filter({ denied: e.target.checked ? "true" : "" })}
          />
          denied lately
        </label>
        <span className="grow" />
        {fresh > 0 && (
          <button
            type="button"
            className="primary"
            onClick={() => {
              runsWereRead();
              pages.refetch();
            }}
          >
            {fresh} new
          </button>
        )}
      </div>
      <Views of="runs" to="/runs" search={query} />
      {mayChange && <Bulk chosen={chosen} done={() => setChosen(new Set())} />}
      <List
        pages={pages}
        label="Runs"
        items={(p) => p.runs}
        empty={
          Object.values(query).some(Boolean) ? (
            "No run fits these filters."
          ) : (
            <>
              No run has started yet. <code>interlock run start WORKFLOW</code> starts one.
            </>
          )
        }
        row={(r, style) => (
          <Link key={r.run_id} className="list-row cols-runs" style={style} to="/runs/$id" params={{ id: r.run_id }}>
            <Chip>{r.status}</Chip>
            <span>
              <Text>{r.workflow}</Text> <span className="dim">v{r.workflow_version}</span>
            </span>
            <span>
              <Text>{r.state}</Text>
            </span>
            <span className="wide dim">
              <Text>{r.session_id}</Text>
            </span>
            <span className="wide mono small">{short(r.run_id)}</span>
            <span className="wide dim">
              <Time at={r.updated_at} />
            </span>
            <span className="wide">
              {mayChange && (
                <input
                  type="checkbox"
                  aria-label={`Choose ${r.run_id}`}
                  checked={chosen.has(r.run_id)}
                  onClick={(e) => e.stopPropagation()}
                  onChange={(e) => {
                    const next = new Set(chosen);
                    if (e.target.checked) next.add(r.run_id);
                    else next.delete(r.run_id);
                    setChosen(next);
                  }}
                />
              )}
            </span>
          </Link>
        )}
      />
    </>
  );
}

/** A status that runs have, or that they do not have. */
function StatusFilter({ search, filter }: { search: Search; filter: (part: Search) => void }) {
  const value = search.not_status ? `not ${search.not_status}` : (search.status ?? "");
  return (
    <select
      aria-label="Status"
      value={value}
      onChange={(e) => {
        const not = e.target.value.startsWith("not ");
        filter({ status: not ? "" : e.target.value, not_status: not ? e.target.value.slice(4) : "" });
      }}
    >
      <option value="">any status</option>
      {statuses.map((s) => (
        <option key={s} value={s}>
          {worded(s)}
        </option>
      ))}
      {statuses.map((s) => (
        <option key={s} value={`not ${s}`}>
          not {worded(s)}
        </option>
      ))}
    </select>
  );
}

const short = (id: string) => `${id.slice(0, 8)}…${id.slice(-4)}`;

/** A filter by words, applied when it is left or Enter is typed. */
export function Words({
  name,
  value,
  onChange,
}: {
  name: string;
  value: string | undefined;
  onChange: (value: string) => void;
}) {
  return (
    <input
      key={value ?? ""}
      aria-label={name}
      placeholder={name}
      defaultValue={value ?? ""}
      onBlur={(e) => e.target.value !== (value ?? "") && onChange(e.target.value.trim())}
      onKeyDown={(e) => e.key === "Enter" && onChange(e.currentTarget.value.trim())}
    />
  );
}

/** Does one action to every chosen run, and names those that failed. */
function Bulk({ chosen, done }: { chosen: Set<string>; done: () => void }) {
  const client = useQueryClient();
  const [action, setAction] = useState<Action>();
  const work = useMutation({
    mutationFn: async ({ action, reason }: { action: Action; reason: string }) => {
      const results = await Promise.allSettled(
        [...chosen].map((id) =>
          change<Run>("POST", `/v1/runs/${segment(id)}/${action}`, action === "resume" ? {} : { reason }),
        ),
      );
      const failed = results.flatMap((r) => (r.status === "rejected" ? [String(r.reason?.message ?? r.reason)] : []));
      if (failed.length > 0) throw new Error(`${failed.length} of ${results.length} failed:\n${failed.join("\n")}`);
    },
    onSuccess: done,
    onSettled: () => client.invalidateQueries({ queryKey: ["runs"] }),
  });
  if (chosen.size === 0 && !work.error) return null;
  return (
    <div className="row panel">
      <strong>{chosen.size} chosen</strong>
      {actions.map((a) => (
        <button key={a} type="button" disabled={work.isPending || chosen.size === 0} onClick={() => setAction(a)}>
          {a}
        </button>
      ))}
      <button type="button" className="quiet" onClick={done}>
        choose none
      </button>
      {work.error ? <Failure error={work.error} /> : null}
      {action && (
        <Confirm
          title={`${action} ${chosen.size} ${chosen.size === 1 ? "run" : "runs"}?`}
          danger={action === "cancel"}
          reason={action !== "resume"}
          onClose={() => setAction(undefined)}
          onYes={(reason) => work.mutate({ action, reason })}
        />
      )}
    </div>
  );
}
