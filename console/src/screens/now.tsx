import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { get, type Schemas } from "../api/client";
import { Chip, CopyId, Empty, Loaded, Text, Time, useTitle } from "../ui/basics";
import { absolute } from "../ui/time";
import { visible } from "../ui/visible";
import { titleOf } from "./approvals";
import { notEnforced } from "./standing";

type Stats = Schemas["Stats"];

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
              <Facts title="Calls not enforced" bad={o.not_enforced.length > 0} value={o.not_enforced.length}>
                {o.not_enforced[0] ? (
                  <>
                    The last: <Text>{o.not_enforced[0].tool}</Text>, <Text>{o.not_enforced[0].reason}</Text>,{" "}
                    <Time at={o.not_enforced[0].at} />
                  </>
                ) : (
                  "A state has judged every call, and every reported call was allowed."
                )}
              </Facts>
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
                title="Waits for a human"
                all={<Link to="/approvals">All approvals</Link>}
                empty="Nothing waits for a human."
              >
                {o.waiting.map((a) => (
                  <li key={a.approval_id}>
                    <Link className="item" to="/approvals/$id" params={{ id: a.approval_id }}>
                      <span className="row">
                        <strong>{titleOf(a)}</strong>
                        <span className="grow" />
                        <span className="dim small">
                          <Time at={a.created_at} />
                        </span>
                      </span>
                      <span className="small dim">
                        asked by <Text>{a.asker.principal}</Text>, expires <Time at={a.expires_at} />
                      </span>
                    </Link>
                  </li>
                ))}
              </Column>
              <Column
                title="Denied again and again"
                all={
                  <Link to="/decisions" search={{ decision: "DENY" }}>
                    All denials
                  </Link>
                }
                empty="No agent runs against a wall."
              >
                {o.looping.map((l) => (
                  <li key={`${l.run_id}${l.tool}`}>
                    <Link className="item" to="/runs/$id" params={{ id: l.run_id }}>
                      <span className="row">
                        <strong>
                          <Text>{l.tool}</Text> ×{l.count}
                        </strong>
                        <span className="grow" />
                        <span className="dim small">
                          <Time at={l.last_at} />
                        </span>
                      </span>
                      <span className="small dim">
                        <span className="mono">{l.code}</span> in <Text>{l.state}</Text>
                      </span>
                    </Link>
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
                empty="No run is paused or held."
              >
                {o.stopped.map((r) => (
                  <li key={r.run_id}>
                    <Link className="item" to="/runs/$id" params={{ id: r.run_id }}>
                      <span className="row">
                        <strong>
                          <Text>{r.workflow}</Text>
                        </strong>
                        <Chip>{r.status}</Chip>
                        <span className="grow" />
                        <span className="dim small">
                          <Time at={r.updated_at} />
                        </span>
                      </span>
                      <span className="small dim">
                        in <Text>{r.state}</Text>
                        {r.holds.map((h) => (
                          <span key={`${h.cause}${h.since}`}>
                            ; <Text>{h.reason || h.cause}</Text>
                          </span>
                        ))}
                      </span>
                    </Link>
                  </li>
                ))}
              </Column>
              <Column title="Near a limit" all={null} empty="No limit is used up by more than four fifths.">
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
                {o.not_enforced.map((i) => (
                  <li key={`${i.run_id}${i.call_id}${i.reason}`}>
                    <Incident incident={i} />
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

/** A call that was not enforced: it leads to its run, or to the log where there was none. */
function Incident({ incident: i }: { incident: Stats["not_enforced"][number] }) {
  const shown = (
    <>
      <span className="row">
        <strong>
          <Text>{i.tool}</Text>
        </strong>
        <span className="grow" />
        <span className="dim small">
          <Time at={i.at} />
        </span>
      </span>
      <span className="row small">
        <Chip kind={i.reason === "no permission" ? "deny" : "ask"}>{i.reason}</Chip>
        <span className="grow" />
        <CopyId id={i.call_id} />
      </span>
    </>
  );
  return i.reason === "no run" ? (
    <Link className="item" to="/decisions" search={{ code: notEnforced, tool: i.tool }}>
      {shown}
    </Link>
  ) : (
    <Link className="item" to="/runs/$id" params={{ id: i.run_id }}>
      {shown}
    </Link>
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
