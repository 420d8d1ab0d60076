import { Link } from "@tanstack/react-router";
import { useVirtualizer } from "@tanstack/react-virtual";
import { type ReactNode, useEffect, useMemo, useRef, useState } from "react";
import type { Run } from "../../api/client";
import { Chip, Empty, Failure, Json, Text } from "../../ui/basics";
import { absolute, span } from "../../ui/time";
import { visible } from "../../ui/visible";
import { notEnforced } from "../standing";
import type { useFeed } from "./feed";
import {
  type Call,
  chosen,
  type Entry,
  grouped,
  type Kind,
  kinds,
  lineOf,
  type Result,
  type Row,
  verdictOf,
} from "./rows";
import "./run.css";

const height = 28;
/** After how many rows without a match a search asks before it reads on. */
const mostSearched = 5000;

interface Props {
  run: Run;
  feed: ReturnType<typeof useFeed>;
  of: Kind[];
  onOf: (of: Kind[]) => void;
  /** The version at which the run is shown. */
  at: number | undefined;
  onAt: (version: number) => void;
}

/** The calls, events, approvals and silences of a run, newest first: only the rows that are seen are drawn. */
export function Timeline({ run, feed, of, onOf, at, onAt }: Props) {
  const [search, setSearch] = useState("");
  const [further, setFurther] = useState(mostSearched);
  const [open, setOpen] = useState<ReadonlySet<string>>(new Set());
  const box = useRef<HTMLElement>(null);
  const rows = useMemo(() => grouped(chosen(feed.rows, of, search)), [feed.rows, of, search]);
  const table = useVirtualizer({
    count: rows.length,
    getScrollElement: () => box.current,
    estimateSize: () => height,
    getItemKey: (i) => rows[i]?.key ?? i,
    overscan: 20,
  });
  const seen = table.getVirtualItems();
  const last = seen.at(-1)?.index ?? 0;
  const { more, older } = feed;
  const reads = more && last >= rows.length - 40;
  const stops = reads && rows.length < 40 && feed.rows.length >= further;
  useEffect(() => {
    if (reads && !stops) older();
  });
  const toggle = (key: string) =>
    setOpen((before) => {
      const next = new Set(before);
      if (!next.delete(key)) next.add(key);
      return next;
    });
  return (
    <section className="panel timeline-panel" aria-label="Timeline">
      <div className="row">
        <h2>Timeline</h2>
        <fieldset className="kinds">
          <legend className="hidden-text">Kinds of rows</legend>
          {kinds.map((kind) => (
            <button
              key={kind}
              type="button"
              className="kind"
              aria-pressed={of.includes(kind)}
              onClick={() => onOf(of.includes(kind) ? of.filter((k) => k !== kind) : [...of, kind])}
            >
              {kind}
            </button>
          ))}
        </fieldset>
        <input
          type="search"
          aria-label="Search the timeline"
          placeholder="Search"
          value={search}
          onChange={(e) => setSearch(e.target.value)}
        />
      </div>
      {feed.error ? <Failure error={feed.error} retry={() => older(true)} /> : null}
      {rows.length > 0 && (
        <section
          className="rows"
          ref={box}
          // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard
          tabIndex={0}
          aria-label="Rows, newest first"
          style={{ height: table.getTotalSize() + height }}
        >
          <div className="happened heads" aria-hidden="true">
            <span className="when">Time</span>
            <span className="of">Kind</span>
            <span>What</span>
            <span>Verdict</span>
            <span className="who-did">Who</span>
          </div>
          <ul className="rows-body" style={{ height: table.getTotalSize() }}>
            {seen.map((v) => {
              const row = rows[v.index];
              return row === undefined ? null : (
                <li
                  key={row.key}
                  data-index={v.index}
                  ref={table.measureElement}
                  aria-setsize={more ? -1 : rows.length}
                  aria-posinset={v.index + 1}
                  aria-current={row.of === "event" && row.version === at ? "true" : undefined}
                  className="happened"
                  style={{ transform: `translateY(${v.start}px)` }}
                >
                  <Line row={row} outcomes={feed.outcomes} open={open.has(row.key)} onToggle={() => toggle(row.key)} />
                  {open.has(row.key) && (
                    <div className="opened stack tight">
                      <Opened row={row} run={run} outcomes={feed.outcomes} onAt={onAt} />
                    </div>
                  )}
                </li>
              );
            })}
          </ul>
        </section>
      )}
      {rows.length === 0 && feed.loading && (
        <div className="skeleton" aria-busy="true" role="status" aria-label="Loading" />
      )}
      {rows.length === 0 && !more && (
        <Empty>{of.length > 0 || search ? "Nothing fits these filters." : "Nothing has happened so far."}</Empty>
      )}
      <p className="small dim row" aria-live="polite">
        {counted(rows.length)}{" "}
        {more ? (stops ? `of the newest ${feed.rows.length}` : "so far; older ones follow") : "in all"}
        {stops && (
          <button type="button" onClick={() => setFurther(feed.rows.length + mostSearched)}>
            Read on
          </button>
        )}
      </p>
    </section>
  );
}

const counted = (n: number) => `${n} ${n === 1 ? "row" : "rows"}`;

/** The time of a row as a clock shows it; on another day, with the day. */
function Clock({ at }: { at: string }) {
  const date = new Date(at);
  const today = date.toDateString() === new Date().toDateString();
  const clock = date.toLocaleTimeString(undefined, { hourCycle: "h23" });
  return (
    <time dateTime={at} title={absolute(at)}>
      {!today && <span className="day">{date.toLocaleDateString(undefined, { day: "numeric", month: "short" })} </span>}
      {clock}
    </time>
  );
}

interface LineProps {
  row: Row;
  outcomes: Map<string, Result>;
  open: boolean;
  onToggle: () => void;
}

function Line({ row, outcomes, open, onToggle }: LineProps) {
  const { kind, what, verdict, who } = partsOf(row, outcomes);
  return (
    <>
      <span className="when">
        <Clock at={row.time} />
      </span>
      <span className="dim of">{kind}</span>
      <span className="clip">
        {row.of === "silence" ? (
          what
        ) : (
          <button type="button" className="opens" aria-expanded={open} onClick={onToggle}>
            {what}
          </button>
        )}
      </span>
      <span className="clip">{verdict && <span className={`said ${verdict.kind}`}>{visible(verdict.text)}</span>}</span>
      <span className="clip dim who-did">
        <Text>{who}</Text>
      </span>
    </>
  );
}

interface Parts {
  kind: string;
  what: ReactNode;
  verdict?: { text: string; kind: string };
  who?: string;
}

function partsOf(row: Row, outcomes: Map<string, Result>): Parts {
  switch (row.of) {
    case "silence":
      return { kind: "time", what: <span className="dim">silence of {span(row.ms)}</span> };
    case "vote":
      return {
        kind: "approval",
        what: <Text>{row.vote.note || row.approval.message || "an approval"}</Text>,
        verdict: row.vote.approve ? { text: "approved", kind: "ok" } : { text: "rejected", kind: "deny" },
        who: row.vote.by,
      };
    case "event":
      return partsOfEntry(row.entry);
    default: {
      const [call] = row.calls;
      if (!call) return { kind: "call", what: "" };
      const reason = call.code === notEnforced ? call.message : "";
      return {
        kind: "call",
        what: (
          <>
            <strong>
              <Text>{call.tool}</Text>
            </strong>{" "}
            {row.calls.length > 1 && <span className="times">×{row.calls.length}</span>}{" "}
            <code>
              <Text>{lineOf(call)}</Text>
            </code>
            {reason && (
              <span className="said deny">
                {" "}
                <Text>{reason}</Text>
              </span>
            )}
          </>
        ),
        verdict: verdictOf(call, outcomes.get(call.call_id)),
        who: call.principal,
      };
    }
  }
}

/** The status of a run, where a change of it has another one than to go on. */
const colours: Record<string, string> = { COMPLETED: "ok", RUNNING: "", WAITING: "ask", AWAITING_APPROVAL: "ask" };

function partsOfEntry(e: Entry): Parts {
  const moved = e.from !== undefined && e.to && (e.from !== e.to || e.event);
  return {
    kind: e.cause || e.type === "reminded" || e.type === "stale" || e.type === "timer.blocked" ? "time" : "event",
    what: (
      <>
        <strong>
          <Text>{e.event && e.type === "transitioned" ? e.event : e.type}</Text>
        </strong>{" "}
        {e.event && e.type !== "transitioned" && (
          <>
            <Text>{e.event}</Text>{" "}
          </>
        )}
        {moved ? (
          <>
            <Text>{e.from}</Text> → <Text>{e.to}</Text>
          </>
        ) : (
          e.to && (
            <>
              in <Text>{e.to}</Text>
            </>
          )
        )}
        {e.branch && (
          <span className="dim">
            {" "}
            branch <Text>{e.branch}</Text>
          </span>
        )}{" "}
        <span className="dim">
          <Text>{e.reason || e.rationale}</Text>
        </span>
      </>
    ),
    verdict:
      e.status && e.status !== "RUNNING"
        ? { text: e.status.toLowerCase().replaceAll("_", " "), kind: colours[e.status] ?? "deny" }
        : undefined,
    who: e.actor,
  };
}

interface OpenedProps {
  row: Row;
  run: Run;
  outcomes: Map<string, Result>;
  onAt: (version: number) => void;
}

function Opened({ row, run, outcomes, onAt }: OpenedProps) {
  if (row.of === "event") return <OpenedEntry entry={row.entry} run={run} onAt={onAt} />;
  if (row.of === "vote")
    return (
      <span className="row">
        <Text lines>{row.vote.note}</Text>
        <Link to="/approvals/$id" params={{ id: row.approval.approval_id }}>
          The approval
        </Link>
      </span>
    );
  return row.of === "call" ? <OpenedCalls calls={row.calls} outcomes={outcomes} /> : null;
}

/** How many calls of one row are listed with their times. */
const mostListed = 20;

function OpenedCalls({ calls, outcomes }: { calls: Call[]; outcomes: Map<string, Result> }) {
  const [call] = calls;
  if (!call) return null;
  const result = outcomes.get(call.call_id);
  return (
    <>
      {call.message && (
        <p>
          <Text lines>{call.message}</Text>
        </p>
      )}
      <span className="row small">
        <span className="dim">
          in <Text>{call.state}</Text>
          {call.branch && (
            <>
              , branch <Text>{call.branch}</Text>
            </>
          )}
        </span>
        {calls.length === 1 && <ToDecision call={call}>The decision</ToDecision>}
        {call.approval_id && (
          <Link to="/approvals/$id" params={{ id: call.approval_id }}>
            The approval
          </Link>
        )}
      </span>
      {calls.length > 1 && (
        <span className="row small">
          Decisions:
          {calls.slice(0, mostListed).map((c) => (
            <ToDecision key={`${c.partition} ${c.sequence}`} call={c}>
              <Clock at={c.time} />
            </ToDecision>
          ))}
          {calls.length > mostListed && <span className="dim">and {calls.length - mostListed} more</span>}
        </span>
      )}
      {call.input !== undefined && call.input !== null && <Json value={call.input} label="Input" />}
      {call.input_truncated && <p className="small dim">The input is cut.</p>}
      {result && (
        <>
          <span className="row small">
            <Chip kind={result.ok ? "ok" : "deny"}>{result.ok ? "ok" : "failed"}</Chip>
            {result.evidence?.length ? <span>evidence: {visible(result.evidence.join(", "))}</span> : null}
          </span>
          {result.output && (
            <pre className="doc">
              <Text lines>{result.output}</Text>
            </pre>
          )}
        </>
      )}
    </>
  );
}

function ToDecision({ call, children }: { call: Call; children: ReactNode }) {
  return (
    <Link
      to="/decisions/$run/$call"
      params={{ run: call.run_id || "-", call: call.call_id }}
      search={{ session_id: call.run_id ? undefined : call.session_id, sequence: String(call.sequence) }}
    >
      {children}
    </Link>
  );
}

function OpenedEntry({ entry: e, run, onAt }: { entry: Entry; run: Run; onAt: (version: number) => void }) {
  return (
    <>
      {(e.rationale || e.reason) && (
        <p>
          <Text lines>{e.rationale || e.reason}</Text>
        </p>
      )}
      {e.guards?.length ? (
        <ul className="plain tight small" aria-label="Guards">
          {e.guards.map((g) => (
            <li key={g.name} className="row">
              <Chip kind={g.passed ? "ok" : "deny"}>{g.passed ? "passed" : "failed"}</Chip>
              <strong>
                <Text>{g.name}</Text>
              </strong>
              <Text>{g.message || `${g.field} ${g.op} ${short(g.expected)}; it is ${short(g.actual)}`}</Text>
            </li>
          ))}
        </ul>
      ) : null}
      {e.files?.length ? <p className="small">Files: {visible(e.files.join(", "))}</p> : null}
      <span className="row small">
        <span className="dim">version {e.run_version}</span>
        {e.approval_id && (
          <Link to="/approvals/$id" params={{ id: e.approval_id }}>
            The approval
          </Link>
        )}
        {e.child_run_id && (
          <Link to="/runs/$id" params={{ id: e.child_run_id }}>
            The invoked run
          </Link>
        )}
        {e.run_version < run.version && (
          <button type="button" className="link" onClick={() => onAt(e.run_version)}>
            The run as it was then
          </button>
        )}
      </span>
      {e.data !== undefined && e.data !== null && <Json value={e.data} label="Data" />}
    </>
  );
}

const short = (value: unknown) => (value === null || value === undefined ? "nothing" : JSON.stringify(value));
