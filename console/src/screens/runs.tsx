import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useMemo, useState } from "react";
import { change, get, type Run, type Schemas, segment } from "../api/client";
import { runsWereRead, useNewRuns } from "../api/live";
import type { Filters } from "../router";
import { useSession } from "../shell";
import { Chip, Failure, Text, Time, useTitle } from "../ui/basics";
import { Confirm } from "../ui/dialog";
import { FilterField } from "../ui/filter";
import { moment } from "../ui/sort";
import { type Column, Table, useItems, usePages } from "../ui/table";
import type { Grammar, Key } from "../ui/tokens";
import { Views } from "../ui/views";

const statuses = [
  "running",
  "waiting",
  "awaiting_approval",
  "paused",
  "held",
  "completed",
  "failed",
  "blocked",
  "cancelled",
];
const actions = ["pause", "resume", "cancel"] as const;
type Action = (typeof actions)[number];

const text: Key = { name: "text", param: "text", about: "a text in its workflow, state, session or id" };

/** Returns the filters of runs, with the names of the workflows. */
const grammarOf = (workflows: string[]): Grammar => ({
  keys: [
    {
      name: "status",
      param: "status",
      not: "not_status",
      about: "such as running; -status: leaves one out",
      values: statuses,
      take: (v) => v.toUpperCase(),
      show: (v) => v.toLowerCase(),
    },
    {
      name: "workflow",
      param: "workflow",
      not: "not_workflow",
      about: "its workflow; -workflow: leaves one out",
      values: workflows,
    },
    { name: "session", param: "session_id", about: "the session that drives it" },
    { name: "denied", param: "denied", about: "denied in the last hour", values: ["true"] },
    { name: "silent", param: "stale_for", about: "active, and without progress for", values: ["10m", "1h", "1d"] },
    { name: "schedule", param: "schedule", about: "the schedule that has started it" },
    { name: "id", param: "id_prefix", about: "the beginning of its id" },
    text,
  ],
  word: () => text,
  joined: true,
});

const filters = grammarOf([]).keys.flatMap((k) => (k.not ? [k.param, k.not] : [k.param]));

const short = (id: string) => `${id.slice(0, 8)}…${id.slice(-4)}`;

const columns: Column<Run>[] = [
  {
    id: "status",
    name: "Status",
    width: "10.6rem",
    phone: 1,
    by: (r) => r.status,
    cell: (r) => <Chip>{r.status}</Chip>,
  },
  {
    id: "workflow",
    name: "Workflow",
    opens: true,
    width: "minmax(6.5rem, 1.4fr)",
    phone: 1,
    by: (r) => r.workflow,
    cell: (r) => (
      <>
        <Text>{r.workflow}</Text> <span className="dim">v{r.workflow_version}</span>
      </>
    ),
  },
  {
    id: "state",
    name: "State",
    width: "minmax(6.5rem, 1.2fr)",
    phone: 2,
    by: (r) => r.state,
    cell: (r) => <Text>{r.state}</Text>,
  },
  {
    id: "session",
    name: "Session",
    width: "minmax(5.8rem, 1fr)",
    phone: 2,
    by: (r) => r.session_id,
    cell: (r) => <Text>{r.session_id}</Text>,
  },
  {
    id: "run",
    name: "Run",
    width: "9.2rem",
    by: (r) => r.run_id,
    cell: (r) => <span className="mono small">{short(r.run_id)}</span>,
  },
  {
    id: "schedule",
    name: "Schedule",
    optional: true,
    width: "minmax(5.8rem, 1fr)",
    by: (r) => r.schedule,
    cell: (r) => <Text>{r.schedule}</Text>,
  },
  {
    id: "transitions",
    name: "Transitions",
    optional: true,
    width: "6.5rem",
    by: (r) => r.transition_count,
    number: true,
    cell: (r) => r.transition_count,
  },
  {
    id: "age",
    name: "Started",
    width: "6.5rem",
    by: (r) => moment(r.created_at),
    cell: (r) => <Time at={r.created_at} />,
  },
  {
    id: "activity",
    name: "Last activity",
    width: "7.2rem",
    phone: 2,
    end: true,
    by: (r) => moment(r.last_activity ?? r.updated_at),
    cell: (r) => <Time at={r.last_activity ?? r.updated_at} />,
  },
];

/** Returns the names of the workflows, for suggestions. */
export function useWorkflows(): string[] {
  const query = useQuery({
    queryKey: ["workflows", "names"],
    queryFn: ({ signal }) => get<Schemas["WorkflowList"]>("/v1/workflows", { page_size: 200 }, signal),
  });
  return useMemo(() => query.data?.workflows.map((w) => w.name) ?? [], [query.data]);
}

/** All runs, newest first; the filters are in the address. */
export function Runs() {
  useTitle("Runs");
  const search = useSearch({ strict: false }) as Filters;
  const navigate = useNavigate();
  const session = useSession();
  const fresh = useNewRuns();
  const workflows = useWorkflows();
  const grammar = useMemo(() => grammarOf(workflows), [workflows]);
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const query = Object.fromEntries(filters.map((f) => [f, search[f]]));
  const pages = usePages<Schemas["RunList"]>(["runs", query], "/v1/runs", query);
  const runs = useItems(pages, (p) => p.runs);
  const mayChange = !session.read_only && (session.roles?.includes("operator") ?? true);
  return (
    <>
      <div className="head">
        <h1>Runs</h1>
        <span className="grow" />
        <Views of="runs" to="/runs" search={query} />
      </div>
      <Table
        name="runs"
        label="Runs"
        source={pages}
        items={runs}
        columns={columns}
        id={(r) => r.run_id}
        place={(r) => ({ to: "/runs/$id", params: { id: r.run_id } })}
        tools={
          <>
            <FilterField
              label="runs"
              grammar={grammar}
              search={query}
              onChange={(part) => navigate({ to: "/runs", search: { ...search, ...part } })}
            />
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
          </>
        }
        choice={
          mayChange
            ? {
                chosen,
                onChange: setChosen,
                bar: (ids) => <Bulk ids={ids} done={() => setChosen(new Set())} />,
              }
            : undefined
        }
        empty={
          Object.values(query).some(Boolean) ? (
            "No run fits these filters. Remove one of them above."
          ) : (
            <>
              No run has started yet. <code>interlock run start WORKFLOW</code> starts one.
            </>
          )
        }
      />
    </>
  );
}

/** Does one action to every chosen run, and names those that failed. */
function Bulk({ ids, done }: { ids: string[]; done: () => void }) {
  const client = useQueryClient();
  const [action, setAction] = useState<Action>();
  const work = useMutation({
    mutationFn: async ({ action, reason }: { action: Action; reason: string }) => {
      const results = await Promise.allSettled(
        ids.map((id) =>
          change<Run>("POST", `/v1/runs/${segment(id)}/${action}`, action === "resume" ? {} : { reason }),
        ),
      );
      const failed = results.flatMap((r) => (r.status === "rejected" ? [String(r.reason?.message ?? r.reason)] : []));
      if (failed.length > 0) throw new Error(`${failed.length} of ${results.length} failed:\n${failed.join("\n")}`);
    },
    onSuccess: done,
    onSettled: () => client.invalidateQueries({ queryKey: ["runs"] }),
  });
  return (
    <>
      <strong>{ids.length} chosen</strong>
      {actions.map((a) => (
        <button key={a} type="button" disabled={work.isPending} onClick={() => setAction(a)}>
          {a}
        </button>
      ))}
      <button type="button" className="quiet" onClick={done}>
        choose none
      </button>
      {work.error ? <Failure error={work.error} /> : null}
      {action && (
        <Confirm
          title={`${action} ${ids.length} ${ids.length === 1 ? "run" : "runs"}?`}
          danger={action === "cancel"}
          reason={action !== "resume"}
          onClose={() => setAction(undefined)}
          onYes={(reason) => work.mutate({ action, reason })}
        />
      )}
    </>
  );
}
