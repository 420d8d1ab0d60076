import { useMutation, useQueryClient } from "@tanstack/react-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { useState } from "react";
import { change, type Run, type Schemas, segment } from "../api/client";
import { runsWereRead, useNewRuns } from "../api/live";
import { useSession } from "../shell";
import { Chip, Failure, Text, Time, useTitle } from "../ui/basics";
import { Confirm } from "../ui/dialog";
import { List, usePages } from "../ui/list";

const statuses = ["RUNNING", "WAITING", "AWAITING_APPROVAL", "PAUSED", "COMPLETED", "FAILED", "BLOCKED", "CANCELLED"];
const actions = ["pause", "resume", "cancel"] as const;
type Action = (typeof actions)[number];

interface Search {
  status?: string;
  workflow?: string;
  id_prefix?: string;
}

/** All runs, newest first; the filters are in the address. */
export function Runs() {
  useTitle("Runs");
  const search = useSearch({ strict: false }) as Search;
  const navigate = useNavigate();
  const session = useSession();
  const fresh = useNewRuns();
  const [chosen, setChosen] = useState<Set<string>>(new Set());
  const pages = usePages<Schemas["RunList"]>(["runs", search], "/v1/runs", {
    status: search.status,
    workflow: search.workflow,
    id_prefix: search.id_prefix,
  });
  const filter = (part: Search) => navigate({ to: "/runs", search: { ...search, ...part } });
  const mayChange = !session.read_only && (session.roles?.includes("operator") ?? true);
  return (
    <>
      <div className="head">
        <h1>Runs</h1>
        <select aria-label="Status" value={search.status ?? ""} onChange={(e) => filter({ status: e.target.value })}>
          <option value="">any status</option>
          {statuses.map((s) => (
            <option key={s} value={s}>
              {s.toLowerCase().replaceAll("_", " ")}
            </option>
          ))}
        </select>
        <Words name="Workflow" value={search.workflow} onChange={(workflow) => filter({ workflow })} />
        <Words name="Begin of the id" value={search.id_prefix} onChange={(id_prefix) => filter({ id_prefix })} />
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
      {mayChange && <Bulk chosen={chosen} done={() => setChosen(new Set())} />}
      <List
        pages={pages}
        label="Runs"
        items={(p) => p.runs}
        empty={
          search.status || search.workflow || search.id_prefix ? (
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

/** Does one thing to every run that is chosen, and tells which failed. */
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
