import { useInfiniteQuery, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link, useParams } from "@tanstack/react-router";
import { type ReactNode, useEffect, useMemo, useState } from "react";
import { CallError, change, get, type Run, type Schemas, segment } from "../api/client";
import { useSession } from "../shell";
import {
  Chip,
  CopyId,
  download,
  Empty,
  Facts,
  Failure,
  Json,
  Loaded,
  Names,
  Tabs,
  Text,
  Time,
  useTitle,
} from "../ui/basics";
import { Confirm } from "../ui/dialog";
import { GraphView } from "../ui/graph";
import { visible } from "../ui/visible";
import { scenarioOf } from "./scenario";
import { bannerOf, type Standing, standingOf, toolsOf } from "./standing";
import { Timeline } from "./timeline";

type Entry = Schemas["HistoryEntry"];
type Record_ = Schemas["DecisionRecord"];

/** One run: its machine, its path, and its denials. */
export function RunPage() {
  const { id } = useParams({ strict: false }) as { id: string };
  const run = useQuery({
    queryKey: ["run", id],
    queryFn: ({ signal }) => get<Run>(`/v1/runs/${segment(id)}`, {}, signal),
  });
  useTitle(run.data ? `${run.data.workflow} in ${run.data.state}` : "Run");
  return <Loaded query={run}>{(r) => <Shown run={r} />}</Loaded>;
}

function Shown({ run }: { run: Run }) {
  const kind = run.process ? "processes" : "workflows";
  const graph = useQuery({
    queryKey: ["graph", kind, run.workflow, run.workflow_version],
    queryFn: ({ signal }) =>
      get<Schemas["Graph"]>(`/v1/${kind}/${segment(run.workflow)}/versions/${run.workflow_version}/graph`, {}, signal),
    staleTime: Number.POSITIVE_INFINITY,
  });
  const history = useInfiniteQuery({
    queryKey: ["history", run.run_id],
    queryFn: ({ pageParam, signal }) =>
      get<Schemas["History"]>(`/v1/runs/${segment(run.run_id)}/history`, { page_size: 500, ...pageParam }, signal),
    initialPageParam: {} as { after_version?: number; after_result?: number },
    getNextPageParam: (last) =>
      last.next_after_version
        ? { after_version: last.next_after_version, after_result: last.next_after_result }
        : undefined,
  });
  useEffect(() => {
    if (history.hasNextPage && !history.isFetchingNextPage) history.fetchNextPage();
  }, [history.hasNextPage, history.isFetchingNextPage, history.fetchNextPage]);
  const denied = useQuery({
    queryKey: ["decisions", "of", run.run_id, "DENY"],
    queryFn: ({ signal }) =>
      get<Schemas["DecisionList"]>("/v1/decisions", { run_id: run.run_id, decision: "DENY", page_size: 200 }, signal),
  });
  const entries = useMemo(() => history.data?.pages.flatMap((p) => p.entries) ?? [], [history.data]);
  const scenario = useMemo(() => scenarioOf(run, entries), [run, entries]);
  const [at, setAt] = useState<number>();
  const [selected, setSelected] = useState<string>();
  const [tab, setTab] = useState("Events");
  const moves = entries.filter((e) => e.to && e.from !== undefined && !e.tool_result);
  const shown = at === undefined ? moves : moves.filter((e) => e.run_version <= at);
  const visited = new Set(shown.flatMap((e) => [e.from, e.to]).filter(Boolean));
  const taken = new Set(shown.map((e) => `${e.from}\0${e.to}`));
  const denials = new Map<string, number>();
  for (const d of denied.data?.decisions ?? []) denials.set(d.state ?? "", (denials.get(d.state ?? "") ?? 0) + 1);
  const then = useQuery({
    queryKey: ["run", run.run_id, "version", at],
    queryFn: ({ signal }) => get<Schemas["RunVersion"]>(`/v1/runs/${segment(run.run_id)}/versions/${at}`, {}, signal),
    staleTime: Number.POSITIVE_INFINITY,
    enabled: at !== undefined && at > 0,
    placeholderData: (before) => before,
  });
  const past = at === undefined || at === 0 ? undefined : then.data;
  const current = at === undefined ? run.state : (shown.at(-1)?.to ?? shown[0]?.from ?? run.state);
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
        <Actions run={run} />
      </div>
      <Standstill run={run} entries={entries} />
      {run.status === "HELD" && (
        <div className="notice warn">
          Held, so no tool call is allowed:{" "}
          {run.holds?.map((h) => (
            <span key={`${h.cause}${h.since}`}>
              <Text>{h.reason || h.cause}</Text>
              {h.by && (
                <>
                  , by <Text>{h.by}</Text>
                </>
              )}{" "}
            </span>
          ))}
        </div>
      )}
      {run.pending_approval && (
        <div className="notice warn row">
          <span>
            Waits for a human: <Text>{run.pending_approval.event}</Text> to <Text>{run.pending_approval.to}</Text>
          </span>
          <Link className="button" to="/approvals/$id" params={{ id: run.pending_approval.approval_id }}>
            Decide
          </Link>
        </div>
      )}
      <div className="split">
        <div className="stack">
          <Loaded query={graph}>
            {(g) => (
              <GraphView
                graph={g}
                selected={selected}
                onSelect={(s) => setSelected(s === selected ? undefined : s)}
                focus={run.state}
                marks={{
                  bad: true,
                  state: (s) => (s === current ? "current" : visited.has(s) ? "visited" : "unreached"),
                  taken: (from, to) => taken.has(`${from}\0${to}`),
                  tick: (s) => (denials.get(s) ? `${denials.get(s)} denied` : ""),
                }}
              />
            )}
          </Loaded>
          <Timeline entries={entries} denied={denied.data?.decisions ?? []} until={at} />
          {moves.length > 1 && (
            <label className="field">
              {at === undefined
                ? "As it is now; move to see it as it was"
                : `As it was at version ${at}: in ${visible(current)}`}
              <input
                type="range"
                min={0}
                max={moves.length}
                value={at === undefined ? moves.length : moves.findLastIndex((e) => e.run_version <= at) + 1}
                onChange={(e) => {
                  const n = Number(e.target.value);
                  setAt(n >= moves.length ? undefined : n === 0 ? 0 : moves[n - 1]?.run_version);
                }}
              />
            </label>
          )}
        </div>
        <div className="stack">
          <section className="panel stack">
            <h2>
              {selected ? (
                <>
                  State <Text>{selected}</Text>
                </>
              ) : past ? (
                <>
                  It was in <Text>{past.state}</Text>
                </>
              ) : (
                <>
                  In <Text>{run.state}</Text>
                </>
              )}
            </h2>
            {selected && selected !== run.state ? (
              <StateOf run={run} state={selected} />
            ) : past ? (
              <Past version={past} standing={standingOf(past, run.enforcement)} />
            ) : (
              <Facts
                facts={[
                  ...toolFacts(run, standingOf(run, run.enforcement)),
                  [
                    "Legal events",
                    <ul className="plain tight" key="e">
                      {run.legal_events?.map((e) => (
                        <li key={e.event}>
                          <code>
                            <Text>{e.event}</Text>
                          </code>{" "}
                          <span className="dim">to {visible(e.targets.join(", "))}</span>{" "}
                          {e.requires_approval && <Chip kind="ask">needs approval</Chip>}
                          {e.guards?.length ? (
                            <span className="small dim"> if {visible(e.guards.join(", "))}</span>
                          ) : null}
                        </li>
                      ))}
                      {!run.legal_events?.length && <li className="dim">none</li>}
                    </ul>,
                  ],
                  ["Calls in this entry", limit(run.iterations, run.max_iterations)],
                  ["Files changed", run.max_files_per_state ? limit(run.files_changed, run.max_files_per_state) : ""],
                  ["Context bytes", run.context_budget_bytes ? limit(run.context_bytes, run.context_budget_bytes) : ""],
                  [
                    "Instructions",
                    run.instructions ? (
                      <Text key="i" lines>
                        {run.instructions}
                      </Text>
                    ) : (
                      ""
                    ),
                  ],
                ]}
              />
            )}
          </section>
          {run.leases?.length ? <Leases run={run} leases={run.leases} /> : null}
          {run.evidence?.length ? <Evidence evidence={run.evidence} /> : null}
          <section className="panel">
            <Facts
              facts={[
                [
                  "Session",
                  run.session_id && (
                    <Link to="/decisions" search={{ session_id: run.session_id }}>
                      <Text>{run.session_id}</Text>
                    </Link>
                  ),
                ],
                ["Started", <Time key="s" at={run.created_at} />],
                ["Changed", <Time key="u" at={run.updated_at} />],
                ["Transitions", String(run.transition_count)],
                ["Policies", run.policies?.length ? <Names key="p" names={run.policies} none="" /> : ""],
                [
                  "Invoked by",
                  run.parent_run_id && (
                    <Link to="/runs/$id" params={{ id: run.parent_run_id }}>
                      {run.parent_run_id}
                    </Link>
                  ),
                ],
                [
                  "Waits for",
                  run.child && (
                    <Link to="/runs/$id" params={{ id: run.child.run_id }}>
                      <Text>{run.child.workflow}</Text>
                    </Link>
                  ),
                ],
                [
                  "Interrupt",
                  run.interrupt && visible(`${run.interrupt.name}, then back to ${run.interrupt.return_to}`),
                ],
                [
                  "Branches",
                  run.fork?.branches
                    .map((b) => visible(`${b.name}: ${b.state} (${b.status.toLowerCase()})`))
                    .join("; "),
                ],
              ]}
            />
          </section>
        </div>
      </div>
      <Tabs names={["Events", "Denials", "Context"]} at={tab} onChange={setTab} />
      {tab === "Events" && (
        <>
          {history.error ? <Failure error={history.error} /> : null}
          <Events entries={at === undefined ? entries : entries.filter((e) => e.run_version <= at)} run={run} />
        </>
      )}
      {tab === "Denials" && (
        <Loaded query={denied}>
          {(d) => (d.decisions.length === 0 ? <Empty>Nothing was denied.</Empty> : <Denials decisions={d.decisions} />)}
        </Loaded>
      )}
      {tab === "Context" && <Json value={past ? past.context : run.context} label="Context" />}
      <div className="row">
        <button
          type="button"
          disabled={scenario === undefined}
          title={scenario === undefined ? "The run made no transition, so there is nothing to test." : undefined}
          onClick={() => scenario && download(`${visible(run.workflow)}.test.yaml`, scenario, "application/yaml")}
        >
          Save as a test (*.test.yaml)
        </button>
        <Receipt run={run} />
        <Link className="button" to="/decisions" search={{ run_id: run.run_id }}>
          All decisions
        </Link>
      </div>
    </>
  );
}

const limit = (used: number | undefined, most: number | undefined) =>
  most ? `${used ?? 0} of ${most}` : used ? String(used) : "";

/** The leases that approvers gave. */
function Leases({ run, leases }: { run: Run; leases: NonNullable<Run["leases"]> }) {
  const client = useQueryClient();
  const session = useSession();
  const revoke = useMutation({
    mutationFn: (id: string) => change("DELETE", `/v1/leases/${segment(id)}`),
    onSettled: () => client.invalidateQueries({ queryKey: ["run", run.run_id] }),
  });
  return (
    <section className="panel stack tight" aria-label="Leases">
      <h2>Let pass without a question</h2>
      {revoke.error ? <Failure error={revoke.error} /> : null}
      <ul className="plain">
        {leases.map((l) => (
          <li key={l.lease_id} className="item">
            <span className="row">
              <code>
                <Text>{[l.pattern, l.only && JSON.stringify(l.only)].filter(Boolean).join(" ")}</Text>
              </code>
              <span className="grow" />
              <span className="small dim">
                {l.calls_left} calls, until <Time at={l.expires_at} />
              </span>
            </span>
            <span className="row small dim">
              granted by <Text>{l.granted_by}</Text>
              <Link to="/approvals/$id" params={{ id: l.approval_id }}>
                the approval
              </Link>
              <span className="grow" />
              {!session.read_only && (
                <button type="button" disabled={revoke.isPending} onClick={() => revoke.mutate(l.lease_id)}>
                  Revoke
                </button>
              )}
            </span>
          </li>
        ))}
      </ul>
    </section>
  );
}

/** The evidence that the workflow asks for, and the missing part. */
function Evidence({ evidence }: { evidence: NonNullable<Run["evidence"]> }) {
  return (
    <section className="panel stack tight" aria-label="Evidence">
      <h2>Evidence</h2>
      <ul className="plain">
        {evidence.map((e) => (
          <li key={e.name} className="item">
            <span className="row">
              <Chip kind={e.held ? "ok" : "ask"}>{e.held ? "held" : "missing"}</Chip>
              <strong>
                <Text>{e.name}</Text>
              </strong>
              <span className="grow" />
              {e.since && (
                <span className="dim small">
                  <Time at={e.since} />
                </span>
              )}
            </span>
            <span className="small">
              <Text>{e.held ? e.needs : e.missing || e.needs}</Text>
            </span>
            {e.tree && (
              <span className="small dim mono" title={e.tree}>
                on tree <Text>{e.tree.replace(/^tree:sha256:/, "").slice(0, 12)}</Text>
              </span>
            )}
            {e.voided_by && (
              <span className="small dim">
                voided by <Text>{e.voided_by}</Text>
              </span>
            )}
          </li>
        ))}
      </ul>
    </section>
  );
}

/** The rules that a run still enforces when it is paused or has ended. */
function Standstill({ run, entries }: { run: Run; entries: Entry[] }) {
  const banner = bannerOf(run, entries);
  if (!banner) return null;
  return (
    <div className="notice warn" role="status">
      {banner.text}
      {banner.since && (
        <>
          {" since "}
          <Time at={banner.since} />
        </>
      )}
      {banner.by && (
        <>
          , paused by <Text>{banner.by}</Text>
        </>
      )}
      {run.superseded_by && (
        <>
          {" "}
          <Link to="/runs/$id" params={{ id: run.superseded_by }}>
            That run
          </Link>
        </>
      )}
    </div>
  );
}

type Lists = Pick<Run, "allowed_tools" | "allowed_commands" | "disallowed_tools" | "superseded_by">;

/** Which tools pass: the lists of the state only where they are enforced. */
function toolFacts(run: Lists, standing: Standing | undefined): [string, ReactNode][] {
  if (run.superseded_by || !standing) return [];
  if (standing !== "state") return [["Allowed tools", toolsOf[standing]]];
  return [
    [
      "Allowed tools",
      run.allowed_tools ? <Names key="a" names={run.allowed_tools} none="none" /> : "any that no rule forbids",
    ],
    ["Forbidden tools", run.disallowed_tools?.length ? <Names key="d" names={run.disallowed_tools} none="" /> : ""],
    ["Allowed commands", run.allowed_commands ? <Names key="c" names={run.allowed_commands} none="none" /> : ""],
  ];
}

/** The run at a version: the permissions of its state then. */
function Past({ version: v, standing }: { version: Schemas["RunVersion"]; standing: Standing | undefined }) {
  return (
    <Facts
      facts={[
        ["At", <Time key="t" at={v.at} />],
        ["Status", <Chip key="s">{v.status}</Chip>],
        ...toolFacts(v, standing),
        [
          "Limits",
          visible(
            Object.entries(v.limits ?? {})
              .filter(([, most]) => most)
              .map(([name, most]) => `${name.replaceAll("_", " ")} ${most}`)
              .join(", "),
          ),
        ],
        [
          "Legal events",
          <ul className="plain tight" key="e">
            {v.legal_events?.map((e) => (
              <li key={e.event}>
                <code>
                  <Text>{e.event}</Text>
                </code>{" "}
                <span className="dim">to {visible(e.targets.join(", "))}</span>
              </li>
            ))}
            {!v.legal_events?.length && <li className="dim">none</li>}
          </ul>,
        ],
        ["Branches", v.branches?.map((b) => visible(`${b.name}: ${b.state}`)).join("; ")],
      ]}
    />
  );
}

/** A state as its definition has it. */
function StateOf({ run, state }: { run: Run; state: string }) {
  const kind = run.process ? "processes" : "workflows";
  const query = useQuery({
    queryKey: [run.process ? "process" : "workflow", run.workflow, run.workflow_version],
    queryFn: ({ signal }) =>
      get<Schemas["Workflow"]>(`/v1/${kind}/${segment(run.workflow)}/versions/${run.workflow_version}`, {}, signal),
  });
  return (
    <Loaded query={query}>
      {(w) => (
        <Json
          value={(w.definition as { states?: Record<string, unknown> })?.states?.[state] ?? w.definition}
          label="Definition"
        />
      )}
    </Loaded>
  );
}

type Action = "pause" | "resume" | "cancel" | "force";

/** The actions of an operator on a run. */
function Actions({ run }: { run: Run }) {
  const client = useQueryClient();
  const session = useSession();
  const [asked, setAsked] = useState<Action>();
  const [target, setTarget] = useState("");
  const work = useMutation({
    // The action is an argument: the dialog is closed by the time that it is sent.
    mutationFn: async (what: { action: Action; reason: string; state: string }) => {
      const path = `/v1/runs/${segment(run.run_id)}`;
      if (what.action === "force")
        return change("POST", `${path}/force-state`, { state: what.state, expected_version: run.version });
      return change("POST", `${path}/${what.action}`, what.action === "resume" ? {} : { reason: what.reason });
    },
    onSettled: () => {
      client.invalidateQueries({ queryKey: ["run", run.run_id] });
      client.invalidateQueries({ queryKey: ["history", run.run_id] });
      client.invalidateQueries({ queryKey: ["runs"] });
    },
  });
  const over = ["COMPLETED", "FAILED", "CANCELLED"].includes(run.status);
  if (session.read_only || (session.roles && !session.roles.includes("operator")) || over)
    return work.error ? <Failure error={work.error} /> : null;
  return (
    <div className="row">
      {run.status === "PAUSED" || run.status === "HELD" ? (
        <button type="button" className="primary" onClick={() => setAsked("resume")}>
          Resume
        </button>
      ) : (
        <button type="button" onClick={() => setAsked("pause")}>
          Pause
        </button>
      )}
      <button type="button" onClick={() => setAsked("force")}>
        Force state
      </button>
      <button type="button" className="danger" onClick={() => setAsked("cancel")}>
        Cancel
      </button>
      {work.error ? <Failure error={work.error} /> : null}
      {asked && (
        <Confirm
          title={
            asked === "force" ? "Force this run into a state?" : `${asked[0]?.toUpperCase()}${asked.slice(1)} this run?`
          }
          danger={asked === "cancel" || asked === "force"}
          reason={asked === "pause" || asked === "cancel"}
          onClose={() => setAsked(undefined)}
          onYes={(reason) => work.mutate({ action: asked, reason, state: target })}
        >
          {asked === "force" && (
            <label className="field">
              State; guards and approvals are passed over, and the history says who did it
              <input required value={target} onChange={(e) => setTarget(e.target.value)} />
            </label>
          )}
        </Confirm>
      )}
    </div>
  );
}

const typesOfAll = (entries: Entry[]) => [...new Set(entries.map((e) => e.type))].sort();

/** The history as a list. */
function Events({ entries, run }: { entries: Entry[]; run: Run }) {
  const [type, setType] = useState("");
  const [count, setCount] = useState(100);
  const chosen = entries.filter((e) => !type || e.type === type).reverse();
  return (
    <div className="stack">
      <div className="row">
        <select aria-label="Type of event" value={type} onChange={(e) => setType(e.target.value)}>
          <option value="">all types</option>
          {typesOfAll(entries).map((t) => (
            <option key={t}>{t}</option>
          ))}
        </select>
        <span className="dim small">{chosen.length} events, newest first</span>
      </div>
      <ul className="plain">
        {chosen.slice(0, count).map((e) => (
          <li key={`${e.run_version}.${e.tool_result?.number ?? ""}.${e.type}`} className="item">
            <span className="row">
              <span className="mono small dim">{e.run_version}</span>
              <strong>{e.type}</strong>
              {e.event && (
                <code>
                  <Text>{e.event}</Text>
                </code>
              )}
              {e.from !== undefined && e.to && (
                <span>
                  <Text>{e.from}</Text> → <Text>{e.to}</Text>
                </span>
              )}
              {e.branch && (
                <span className="dim">
                  branch <Text>{e.branch}</Text>
                </span>
              )}
              {e.tool_result && (
                <>
                  <code>
                    <Text>{e.tool_result.tool}</Text>
                  </code>
                  <Chip kind={e.tool_result.ok ? "ok" : "deny"}>{e.tool_result.ok ? "ok" : "failed"}</Chip>
                </>
              )}
              {e.status && <Chip>{e.status}</Chip>}
              <span className="grow" />
              <span className="dim small">
                <Text>{e.actor}</Text> <Time at={e.time} />
              </span>
            </span>
            {(e.rationale || e.reason) && (
              <span>
                <Text lines>{e.rationale || e.reason}</Text>
              </span>
            )}
            {e.guards?.length ? (
              <span className="row small">
                {e.guards.map((g) => (
                  <span key={g.name}>
                    <Chip kind={g.passed ? "ok" : "deny"}>{g.name}</Chip>
                  </span>
                ))}
              </span>
            ) : null}
            {e.approval_id && (
              <Link className="small" to="/approvals/$id" params={{ id: e.approval_id }}>
                the approval
              </Link>
            )}
            {(e.data !== undefined && e.data !== null) || e.tool_result?.output ? (
              <details>
                <summary className="small dim">data</summary>
                {e.data !== undefined && e.data !== null && <Json value={e.data} label="Data" />}
                {e.tool_result?.output && (
                  <pre className="doc">
                    <Text lines>{e.tool_result.output}</Text>
                  </pre>
                )}
              </details>
            ) : null}
          </li>
        ))}
      </ul>
      {chosen.length > count && (
        <button type="button" onClick={() => setCount(count + 500)}>
          {chosen.length - count} more
        </button>
      )}
      {entries.length === 0 && <Empty>Nothing has happened in {run.run_id} so far.</Empty>}
    </div>
  );
}

function Denials({ decisions }: { decisions: Record_[] }) {
  return (
    <ul className="plain">
      {decisions.map((d) => (
        <li key={`${d.partition}${d.sequence}`}>
          <Link
            className="item"
            to="/decisions/$run/$call"
            params={{ run: d.run_id || "-", call: d.call_id }}
            search={{ session_id: d.run_id ? undefined : d.session_id, sequence: String(d.sequence) }}
          >
            <span className="row">
              <strong>
                <Text>{d.tool}</Text>
              </strong>
              <code>{d.code}</code>
              <span className="dim">
                in <Text>{d.state}</Text>
              </span>
              <span className="grow" />
              <span className="dim small">
                <Time at={d.time} />
              </span>
            </span>
            <span className="small">
              <Text>{d.message}</Text>
            </span>
          </Link>
        </li>
      ))}
    </ul>
  );
}

export const isNotFound = (error: unknown) => error instanceof CallError && error.status === 404;

/** The run's receipt, for a check without a server. */
function Receipt({ run }: { run: Run }) {
  const receipt = useMutation({
    mutationFn: async () => {
      const file = await get<Schemas["Receipt"]>(`/v1/runs/${segment(run.run_id)}/receipt`);
      download(`${run.run_id}.receipt.json`, `${JSON.stringify(file, null, 2)}\n`, "application/json");
    },
  });
  return (
    <>
      <button type="button" disabled={receipt.isPending} onClick={() => receipt.mutate()}>
        Save its receipt
      </button>
      {receipt.error ? <Failure error={receipt.error} /> : null}
    </>
  );
}
