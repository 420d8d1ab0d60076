import { useQuery } from "@tanstack/react-query";
import { Link, useParams } from "@tanstack/react-router";
import { useMemo, useState } from "react";
import { get, type Run, type Schemas, segment } from "../../api/client";
import { Chip, CopyId, Json, Loaded, Text, useTitle } from "../../ui/basics";
import { GraphView } from "../../ui/graph";
import { visible } from "../../ui/visible";
import { FrozenRun } from "../freezes";
import { About } from "./about";
import { Acts, PauseButton } from "./actions";
import { useFeed } from "./feed";
import { Clocks, Parked, Standstill } from "./notices";
import { Evidence, Leases } from "./permits";
import type { Kind } from "./rows";
import { StateOfRun } from "./state";
import { Timeline } from "./timeline";
import "./run.css";

/** One run: its notices, state and timeline, with its machine beside them. */
export function RunPage() {
  const { id } = useParams({ strict: false }) as { id: string };
  const run = useQuery({
    queryKey: ["run", id],
    queryFn: ({ signal }) => get<Run>(`/v1/runs/${segment(id)}`, {}, signal),
  });
  useTitle(run.data ? `${run.data.workflow} in ${run.data.state}` : "Run");
  return <Loaded query={run}>{(r) => <Shown key={r.run_id} run={r} />}</Loaded>;
}

function Shown({ run }: { run: Run }) {
  const [of, setOf] = useState<Kind[]>([]);
  const feed = useFeed(run, of);
  const [at, setAt] = useState<number>();
  const [selected, setSelected] = useState<string>();
  const then = useQuery({
    queryKey: ["run", run.run_id, "version", at],
    queryFn: ({ signal }) => get<Schemas["RunVersion"]>(`/v1/runs/${segment(run.run_id)}/versions/${at}`, {}, signal),
    staleTime: Number.POSITIVE_INFINITY,
    enabled: at !== undefined,
    placeholderData: (before) => before,
  });
  const past = at === undefined ? undefined : then.data;
  const latest = feed.calls[0]?.principal ?? feed.entries.findLast((e) => e.type === "started")?.actor;
  const policies = useMemo(
    () => [...new Set([...(run.policies ?? []), ...feed.denials.flatMap((d) => d.policy || [])])],
    [run.policies, feed.denials],
  );
  return (
    <>
      <div className="head">
        <h1>
          <Link to={run.process ? "/processes/$name" : "/workflows/$name"} params={{ name: run.workflow }}>
            <Text>{run.workflow}</Text>
          </Link>
        </h1>
        <span className="dim">version {run.workflow_version}</span>
        <Chip>{run.status}</Chip>
        <CopyId id={run.run_id} />
        <span className="grow" />
        <PauseButton run={run} />
        <a className="button" href="#acts">
          Act…
        </a>
      </div>
      <Standstill run={run} entries={feed.entries} />
      <FrozenRun run={run} />
      <Parked run={run} />
      <Clocks run={run} />
      <div className="run-page">
        <div className="run-column">
          <div className="run-time">
            <Timeline run={run} feed={feed} of={of} onOf={setOf} at={at} onAt={setAt} />
          </div>
          <div className="run-acts" id="acts">
            <Acts run={run} entries={feed.entries} principal={latest} policies={policies} />
          </div>
        </div>
        <div className="run-column">
          <Machine
            run={run}
            feed={feed}
            at={at}
            past={past}
            selected={selected}
            onAt={setAt}
            onSelect={(s) => setSelected(s === selected ? undefined : s)}
          />
          <div className="run-state">
            <StateOfRun run={run} past={past} selected={selected} />
          </div>
          <div className="run-rest stack">
            {run.leases?.length ? <Leases run={run} leases={run.leases} /> : null}
            {run.evidence?.length ? <Evidence evidence={run.evidence} /> : null}
            <About run={run} />
            <details className="panel">
              <summary>Context</summary>
              <Json value={past ? past.context : run.context} label="Context" />
            </details>
          </div>
        </div>
      </div>
    </>
  );
}

interface MachineProps {
  run: Run;
  feed: ReturnType<typeof useFeed>;
  at: number | undefined;
  past: Schemas["RunVersion"] | undefined;
  selected: string | undefined;
  onAt: (version: number | undefined) => void;
  onSelect: (state: string) => void;
}

/** The state machine with the path of the run, now or at a version. Folded on a narrow screen. */
function Machine({ run, feed, at, past, selected, onAt, onSelect }: MachineProps) {
  const [open, setOpen] = useState(() => !matchMedia("(max-width: 760px)").matches);
  const kind = run.process ? "processes" : "workflows";
  const graph = useQuery({
    queryKey: ["graph", kind, run.workflow, run.workflow_version],
    queryFn: ({ signal }) =>
      get<Schemas["Graph"]>(`/v1/${kind}/${segment(run.workflow)}/versions/${run.workflow_version}/graph`, {}, signal),
    staleTime: Number.POSITIVE_INFINITY,
  });
  const path = useMemo(() => {
    const moves = feed.entries.filter((e) => e.to && e.from !== undefined && (at === undefined || e.run_version <= at));
    return {
      visited: new Set(moves.flatMap((e) => [e.from, e.to])),
      taken: new Set(moves.map((e) => `${e.from}\0${e.to}`)),
    };
  }, [feed.entries, at]);
  const denied = useMemo(() => {
    const counts = new Map<string, number>();
    for (const d of feed.denials) counts.set(d.state ?? "", (counts.get(d.state ?? "") ?? 0) + 1);
    return counts;
  }, [feed.denials]);
  const current = new Set(
    past
      ? [past.state, ...(past.branches ?? []).map((b) => b.state)]
      : [run.state, ...(run.fork?.branches ?? []).map((b) => b.state)],
  );
  const here = past ? past.state : run.state;
  return (
    <details className="run-graph" open={open} onToggle={(e) => setOpen(e.currentTarget.open)}>
      <summary>
        Graph{" "}
        <span className="dim small">
          {feed.allEntries ? "" : `with the path of the newest ${feed.entries.length} events`}
        </span>
      </summary>
      {open && (
        <div className="stack tight">
          <Loaded query={graph}>
            {(g) => (
              <GraphView
                graph={g}
                selected={selected}
                onSelect={onSelect}
                here={here}
                marks={{
                  bad: true,
                  state: (s) => (current.has(s) ? "current" : path.visited.has(s) ? "visited" : "unreached"),
                  taken: (from, to) => path.taken.has(`${from}\0${to}`),
                  tick: (s) => {
                    const n = denied.get(s);
                    return n ? `${n}${feed.allDenials ? "" : "+"} denied` : "";
                  },
                }}
              />
            )}
          </Loaded>
          {run.version > 1 && (
            <label className="field">
              {past
                ? `As it was at version ${past.version}: in ${visible(past.state)}`
                : "As it is now; move to see it as it was"}
              <input
                className="versions"
                type="range"
                min={1}
                max={run.version}
                value={at ?? run.version}
                onChange={(e) => {
                  const version = Number(e.target.value);
                  onAt(version >= run.version ? undefined : version);
                }}
              />
            </label>
          )}
        </div>
      )}
    </details>
  );
}
