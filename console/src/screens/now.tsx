import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { type Approval, get, type Schemas } from "../api/client";
import { Chip, Empty, Loaded, Text, Time, useTitle } from "../ui/basics";
import { type Group, groupBy } from "../ui/group";
import { absolute } from "../ui/time";
import { visible } from "../ui/visible";
import { askersOf, groupsOf } from "./approvals/groups";
import { about, titleOf } from "./approvals/subject";
import { grouped, type Repeated } from "./denials";
import { notEnforced, standingOf } from "./standing";

type Stats = Schemas["Stats"];
type Incident = Stats["not_enforced"][number];

/** The work that waits for people now. */
export function Now() {
  useTitle("Now");
  const query = useQuery({
    queryKey: ["stats"],
    queryFn: ({ signal }) => get<Stats>("/v1/stats", {}, signal),
    // Rates also fall without events.
    refetchInterval: (q) => (q.state.data?.complete === false ? 1000 : 10_000),
  });
  const system = useQuery({
    queryKey: ["system"],
    queryFn: ({ signal }) => get<Schemas["System"]>("/v1/system", {}, signal),
    refetchInterval: 15_000,
  });
  const looping = query.data?.looping ?? [];
  // Events of decisions and of runs make these old.
  const denials = useQuery({
    queryKey: ["decisions", "repeated"],
    queryFn: ({ signal }) =>
      get<Schemas["DecisionList"]>("/v1/decisions", { decision: "DENY", after: "1h", page_size: 200 }, signal),
    enabled: looping.length > 0,
  });
  const open = useOpen(query.data?.stopped ?? []);
  return (
    <>
      <div className="head">
        <h1>Now</h1>
        {system.data && !system.data.ready && (
          <Link to="/health" className="chip deny">
            something is down
          </Link>
        )}
      </div>
      <Loaded query={query}>
        {(o) => (
          <>
            {!o.complete && (
              <p className="banner" role="status">
                Earlier events are still being read.
              </p>
            )}
            <Rates rates={o.rates} />
            <div className="grid">
              <NotEnforced calls={o.not_enforced} open={open} />
              <Facts title="The log is sealed up to" value={o.sealed_at ? <Time at={o.sealed_at} /> : "not yet"}>
                <Link to="/health">Verify it</Link>
              </Facts>
              <Facts
                title="Events reach the stream in"
                bad={(o.delivery?.lag_ms ?? 0) > 5000}
                value={o.delivery ? `${o.delivery.lag_ms} ms` : "no event yet"}
              >
                {o.delivery && (
                  <>
                    The newest: <Time at={o.delivery.last_at} />
                  </>
                )}
              </Facts>
            </div>
            <div className="grid">
              <Column
                title="Pending approvals"
                all={<Link to="/approvals">All approvals</Link>}
                empty="No pending approvals. They come here, and into the title of this tab."
              >
                {groupsOf(o.waiting).map((g) => (
                  <li key={g.first.approval_id}>
                    <Waiting group={g} />
                  </li>
                ))}
              </Column>
              <Column
                title="Repeated denials"
                all={
                  <Link to="/decisions" search={{ decision: "DENY" }}>
                    All denials
                  </Link>
                }
                empty="No agent is denied again and again. Decisions has every denial."
              >
                {grouped(o.looping, denials.data?.decisions ?? []).map((g) => (
                  <li key={`${g.tool}${g.code}${g.message}`}>
                    <Denied group={g} />
                  </li>
                ))}
              </Column>
              <Column
                title="Paused or held"
                all={
                  <>
                    All{" "}
                    <Link to="/runs" search={{ status: "PAUSED" }}>
                      paused
                    </Link>
                    {" and "}
                    <Link to="/runs" search={{ status: "HELD" }}>
                      held
                    </Link>{" "}
                    runs
                  </>
                }
                empty="No run is paused or held. To stop one, open it; to stop many, choose them in Runs."
              >
                {groupBy(o.stopped, (r) =>
                  JSON.stringify([r.workflow, r.status, r.state, open.includes(r.run_id), reasons(r)]),
                ).map((g) => (
                  <li key={g.first.run_id}>
                    <Stopped group={g} open={open.includes(g.first.run_id)} />
                  </li>
                ))}
              </Column>
              <Column
                title="Near a limit"
                all={null}
                empty="No limit is used up by more than four fifths. The page of a policy shows all of its limits."
              >
                {o.near_limits.map((l) => (
                  <li key={`${l.run_id}${l.policy}${l.rule}${l.measure}${l.subject}`}>
                    <Limit limit={l} />
                  </li>
                ))}
              </Column>
              <Column title="Near a deadline" all={null} empty="Nothing ends within the hour.">
                {o.near_deadline.map((d) => (
                  <li key={`${d.approval_id}${d.run_id}`}>
                    <Deadline deadline={d} />
                  </li>
                ))}
              </Column>
              <Column
                title="Calls not enforced"
                all={
                  <Link to="/decisions" search={{ code: notEnforced }}>
                    All that passed
                  </Link>
                }
                empty="No call passed without a rule, and none was made without permission."
              >
                {groupBy(o.not_enforced, (i) => JSON.stringify([i.tool, i.reason])).map((g) => (
                  <li key={`${g.first.tool}${g.first.reason}`}>
                    <Incidents group={g} />
                  </li>
                ))}
              </Column>
            </div>
            {o.since && (
              <p className="small dim">
                Derived from events since <time dateTime={o.since}>{absolute(o.since)}</time>.
              </p>
            )}
          </>
        )}
      </Loaded>
    </>
  );
}

/** Returns the paused runs without enforcement: their agents may make any call. */
function useOpen(stopped: Stats["stopped"]): string[] {
  const paused = stopped.filter((r) => r.status === "PAUSED");
  const runs = useQuery({
    queryKey: ["stats", "open", paused.map((r) => r.run_id)],
    queryFn: ({ signal }) => get<Schemas["RunList"]>("/v1/runs", { status: "PAUSED", page_size: 200 }, signal),
    enabled: paused.length > 0,
    placeholderData: (before) => before,
  });
  if (paused.length === 0) return [];
  return (runs.data?.runs ?? []).filter((r) => standingOf(r, r.enforcement) === "open").map((r) => r.run_id);
}

/** Counts the calls without enforcement, and the open runs. */
function NotEnforced({ calls, open }: { calls: Stats["not_enforced"]; open: string[] }) {
  const last = calls[0];
  const runs = `${open.length} ${open.length === 1 ? "run is" : "runs are"} open`;
  return (
    <Facts
      title="Calls not enforced"
      bad={calls.length > 0 || open.length > 0}
      value={calls.length > 0 || open.length === 0 ? calls.length : runs}
    >
      {open.length > 0 && (
        <>
          {calls.length > 0 ? `${runs} now: ` : ""}
          <Link to="/runs" search={{ status: "PAUSED" }}>
            paused by {open.length === 1 ? "its agent" : "their agents"}
          </Link>
          , so any call passes.{" "}
        </>
      )}
      {last ? (
        <>
          The last: <Text>{last.tool}</Text>, <Text>{last.reason}</Text>, <Time at={last.at} />
        </>
      ) : (
        open.length === 0 && "A state has judged every call, and every reported call was allowed."
      )}
    </Facts>
  );
}

/** The most named runs of a group. */
const mostNamed = 5;

const many = (n: number, word: string) => `${n} ${word}${n === 1 ? "" : "s"}`;

/** The runs of a group, each with a link. */
function Runs({ ids, sessions = [] }: { ids: string[]; sessions?: string[] }) {
  return (
    <span className="small dim">
      {many(ids.length, "run")}
      {sessions.length > 0 && ` in ${many(sessions.length, "session")}`}:{" "}
      {ids.slice(0, mostNamed).map((id) => (
        <span key={id}>
          <Link className="mono" to="/runs/$id" params={{ id }}>
            …{id.slice(-6)}
          </Link>{" "}
        </span>
      ))}
      {ids.length > mostNamed && `and ${ids.length - mostNamed} more`}
    </span>
  );
}

const times = (n: number) => (n > 1 ? ` ×${n}` : "");

/** Shows identical approvals. */
function Waiting({ group }: { group: Group<Approval> }) {
  const { first: a, all } = group;
  return (
    <Link className="item" to="/approvals/$id" params={{ id: a.approval_id }}>
      <span className="row">
        <strong>
          {titleOf(a)}
          {times(all.length)}
        </strong>
        <span className="grow" />
        <span className="dim small">
          <Time at={a.created_at} />
        </span>
      </span>
      <span className="small clip">{about(a)}</span>
      <span className="small dim">
        asked by {askersOf(group)}, expires <Time at={a.expires_at} />
      </span>
    </Link>
  );
}

/** Shows denials for the same reason, with their runs and sessions. */
function Denied({ group: g }: { group: Repeated }) {
  return (
    <div className="item">
      <span className="row">
        <Link to="/decisions" search={{ decision: "DENY", tool: g.tool, code: g.code }}>
          <strong>
            <Text>{g.tool}</Text> ×{g.count}
          </strong>
        </Link>
        <span className="grow" />
        <span className="dim small">
          <Time at={g.last} />
        </span>
      </span>
      <span className="small two-lines">
        <span className="mono">{g.code}</span> <Text>{g.message}</Text>
      </span>
      <Runs ids={g.runs} sessions={g.sessions} />
    </div>
  );
}

type StoppedRun = Stats["stopped"][number];

/** Returns the reasons of a hold. */
const reasons = (r: StoppedRun) => r.holds.map((h) => h.reason || h.cause).join("; ");

/** Shows runs in the same state, stopped for the same reason. */
function Stopped({ group: { first: r, all }, open }: { group: Group<StoppedRun>; open: boolean }) {
  const why = reasons(r);
  return (
    <div className="item">
      <span className="row">
        <strong>
          <Text>{r.workflow}</Text>
          {times(all.length)}
        </strong>
        <Chip>{r.status}</Chip>
        {open && <Chip>{notEnforced}</Chip>}
        <span className="grow" />
        <span className="dim small">
          <Time at={r.updated_at} />
        </span>
      </span>
      <span className="small dim">
        in <Text>{r.state}</Text>
        {why && (
          <>
            ; <Text>{why}</Text>
          </>
        )}
      </span>
      <Runs ids={all.map((one) => one.run_id)} />
    </div>
  );
}

/** A limit that is nearly used up: it leads to its policy, or to the run that nears it. */
function Limit({ limit: l }: { limit: Stats["near_limits"][number] }) {
  const shown = (
    <>
      <span className="row">
        <strong>
          <Text>{l.policy ? `${l.policy} ${l.rule ?? ""}` : `${l.workflow} in ${l.state}`}</Text>
        </strong>
        <span className="grow" />
        <span>{Math.round(l.part * 100)} %</span>
      </span>
      <span className="small dim">
        {l.used} of {l.max} {visible(l.measure)}
        {l.subject && (
          <>
            {" of "}
            <Text>{`${l.scope} ${l.subject}`}</Text>
          </>
        )}
      </span>
      <meter min={0} max={1} high={0.8} optimum={0} value={Math.min(1, l.part)} aria-label="used" />
    </>
  );
  return l.policy ? (
    <Link className="item" to="/policies/$name" params={{ name: l.policy }}>
      {shown}
    </Link>
  ) : (
    <Link className="item" to="/runs/$id" params={{ id: l.run_id ?? "" }}>
      {shown}
    </Link>
  );
}

/** Shows calls of a tool, not enforced for the same reason. */
function Incidents({ group: { first: i, all } }: { group: Group<Incident> }) {
  const runs = [...new Set(all.map((one) => one.run_id).filter(Boolean))];
  return (
    <div className="item">
      <span className="row">
        <Link to="/decisions" search={{ code: i.reason === "no permission" ? "" : notEnforced, tool: i.tool }}>
          <strong>
            <Text>{i.tool}</Text>
            {times(all.length)}
          </strong>
        </Link>
        <Chip kind="open">{i.reason}</Chip>
        <span className="grow" />
        <span className="dim small">
          <Time at={i.at} />
        </span>
      </span>
      {i.reason !== "no run" && <Runs ids={runs} />}
    </div>
  );
}

function Deadline({ deadline: d }: { deadline: Stats["near_deadline"][number] }) {
  const shown = (
    <span className="row">
      <strong>{visible(d.kind.replaceAll("_", " "))}</strong>
      <span className="grow" />
      <span className="dim small">
        <Time at={d.due_at} />
      </span>
    </span>
  );
  return d.approval_id ? (
    <Link className="item" to="/approvals/$id" params={{ id: d.approval_id }}>
      {shown}
    </Link>
  ) : (
    <Link className="item" to="/runs/$id" params={{ id: d.run_id ?? "" }}>
      {shown}
    </Link>
  );
}

function Facts({
  title,
  value,
  bad,
  children,
}: {
  title: string;
  value: ReactNode;
  bad?: boolean;
  children: ReactNode;
}) {
  return (
    <section className={`panel${bad ? " notice bad" : ""}`}>
      <h2>{title}</h2>
      <p className="big">{value}</p>
      <p className="small dim">{children}</p>
    </section>
  );
}

function Column({
  title,
  all,
  empty,
  children,
}: {
  title: string;
  all: ReactNode;
  empty: string;
  children: ReactNode[];
}) {
  return (
    <section className="panel stack">
      <div className="head">
        <h2>{title}</h2>
        <span className="grow" />
        <span className="small">{all}</span>
      </div>
      {children.length === 0 ? <Empty>{empty}</Empty> : <ul className="plain">{children}</ul>}
    </section>
  );
}

const kinds = ["allow", "ask", "deny"] as const;

/** Decisions of the last 15 minutes, in steps of ten seconds. */
function Rates({ rates }: { rates: Stats["rates"] }) {
  const height = 90;
  const top = Math.max(1, ...rates.map((r) => r.allow + r.ask + r.deny));
  const sum = (kind: (typeof kinds)[number]) => rates.reduce((n, r) => n + r[kind], 0);
  return (
    <section className="panel stack">
      <div className="head">
        <h2>Decisions in 15 minutes</h2>
        <span className="grow" />
        <Link to="/decisions" search={{ decision: "ALLOW" }} className="chip ok">
          {sum("allow")} allowed
        </Link>
        <Link to="/decisions" search={{ decision: "ASK" }} className="chip ask">
          {sum("ask")} asked
        </Link>
        <Link to="/decisions" search={{ decision: "DENY" }} className="chip deny">
          {sum("deny")} denied
        </Link>
      </div>
      <svg
        className="chart"
        viewBox={`0 0 ${rates.length * 10} ${height}`}
        preserveAspectRatio="none"
        width="100%"
        height={height}
        role="img"
        aria-label={`${sum("allow")} allowed, ${sum("ask")} asked, ${sum("deny")} denied; at most ${(top / 10).toFixed(1)} a second`}
      >
        <line x1="0" x2={rates.length * 10} y1={height - 0.5} y2={height - 0.5} />
        {rates.map((r, i) => {
          let y = height;
          return kinds.map((kind) => {
            const h = (r[kind] / top) * (height - 4);
            y -= h;
            return h > 0 ? (
              <rect key={`${r.at}${kind}`} className={kind} x={i * 10 + 1} width={8} y={y} height={h}>
                <title>{`${absolute(r.at)}: ${r[kind]} ${kind}`}</title>
              </rect>
            ) : null;
          });
        })}
      </svg>
      <p className="small dim">At most {(top / 10).toFixed(1)} a second.</p>
    </section>
  );
}
