import { type ReactNode, useEffect, useState, useSyncExternalStore } from "react";
import { CallError } from "../api/client";
import { pretty } from "../api/json";
import { absolute, inZone, relative } from "./time";
import { pieces, visible } from "./visible";

let now = Date.now();
const ticks = new Set<() => void>();
let ticking: ReturnType<typeof setInterval> | undefined;

/** The time, renewed each second while the page is visible. */
export function useNow(): number {
  return useSyncExternalStore(
    (listener) => {
      ticks.add(listener);
      ticking ??= setInterval(() => {
        now = Date.now();
        for (const tick of ticks) tick();
      }, 1000);
      return () => {
        ticks.delete(listener);
        if (ticks.size === 0) {
          clearInterval(ticking);
          ticking = undefined;
        }
      };
    },
    () => now,
  );
}

/** Text by agents or other people. */
export function Text({ children, lines = false }: { children: string | undefined; lines?: boolean }) {
  return pieces(children ?? "", lines).map((p, i) =>
    p.code ? (
      // biome-ignore lint/suspicious/noArrayIndexKey: pieces have no other identity
      <span className="code-point" key={i}>
        {p.text}
      </span>
    ) : (
      p.text
    ),
  );
}

/** When something was or will be; the moment itself shows on hover. */
export function Time({ at }: { at: string | undefined | null }) {
  const current = useNow();
  if (!at) return null;
  return (
    <time dateTime={at} title={absolute(at)}>
      {relative(at, current)}
    </time>
  );
}

/** When something was or will be, as the clocks of a zone show it. */
export function ZonedTime({ at, zone }: { at: string | undefined; zone: string | undefined }) {
  if (!at) return null;
  return (
    <time dateTime={at} title={absolute(at)}>
      {inZone(at, zone)}
    </time>
  );
}

const kinds: Record<string, string> = {
  ALLOW: "ok",
  GRANTED: "ok",
  COMPLETED: "ok",
  SUCCEEDED: "ok",
  ok: "ok",
  USED: "ok",
  completed: "ok",
  ASK: "ask",
  PENDING: "ask",
  WAITING: "ask",
  AWAITING_APPROVAL: "ask",
  PAUSED: "ask",
  HELD: "ask",
  NOT_ENFORCED: "open",
  pending: "ask",
  warning: "ask",
  DENY: "deny",
  REJECTED: "deny",
  FAILED: "deny",
  BLOCKED: "deny",
  EXPIRED: "deny",
  STALE: "deny",
  failed: "deny",
  down: "deny",
  error: "deny",
  RUNNING: "run",
  ACTIVE: "run",
  running: "run",
  active: "run",
  paused: "ask",
  started: "ok",
  missed: "ask",
  skipped: "ask",
  queued: "ask",
  refused: "deny",
};

/** A status in the colour of its meaning. */
export function Chip({ children, kind }: { children: string | undefined; kind?: string }) {
  if (!children) return null;
  return (
    <span className={`chip ${kind ?? kinds[children] ?? ""}`}>
      {visible(children).toLowerCase().replaceAll("_", " ")}
    </span>
  );
}

/** An id, shortened, that a click copies whole. */
export function CopyId({ id, whole = false }: { id: string | undefined; whole?: boolean }) {
  const [copied, setCopied] = useState(false);
  useEffect(() => {
    if (!copied) return;
    const timer = setTimeout(() => setCopied(false), 1500);
    return () => clearTimeout(timer);
  }, [copied]);
  if (!id) return null;
  const shown = visible(id);
  return (
    <button
      type="button"
      className="quiet mono"
      title={`Copy ${shown}`}
      onClick={() => navigator.clipboard?.writeText(id).then(() => setCopied(true))}
    >
      {copied ? "copied" : whole || shown.length < 18 ? shown : `${shown.slice(0, 8)}…${shown.slice(-4)}`}
    </button>
  );
}

/** Why something could not be read or done. */
export function Failure({ error, retry }: { error: unknown; retry?: () => void }) {
  const e =
    error instanceof CallError ? error : new CallError(0, "", error instanceof Error ? error.message : String(error));
  return (
    <div className="notice bad stack tight" role="alert">
      <strong>
        {e.status === 403 ? "You may not" : e.status === 404 ? "Not found" : e.status === 0 ? "Not reached" : "Refused"}
      </strong>
      <pre>
        <Text lines>{e.message}</Text>
      </pre>
      <div className="row small dim">
        {e.code && <span className="mono">{e.code}</span>}
        {retry && (
          <button type="button" onClick={retry}>
            Try again
          </button>
        )}
      </div>
    </div>
  );
}

export function Empty({ children }: { children: ReactNode }) {
  return <div className="empty">{children}</div>;
}

interface Loadable<T> {
  data: T | undefined;
  error: unknown;
  isPending: boolean;
  refetch: () => unknown;
}

/** Shows a query: while it loads, when it fails, and when it is there. */
export function Loaded<T>({ query, children }: { query: Loadable<T>; children: (data: T) => ReactNode }) {
  if (query.data !== undefined)
    return (
      <>
        {query.error ? <Failure error={query.error} retry={() => query.refetch()} /> : null}
        {children(query.data)}
      </>
    );
  if (query.isPending) return <div className="skeleton" aria-busy="true" role="status" aria-label="Loading" />;
  return <Failure error={query.error} retry={() => query.refetch()} />;
}

/** A JSON document as text. */
export function Json({ value, label }: { value: unknown; label: string }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard
    <section className="doc" tabIndex={0} aria-label={label}>
      <pre>
        <Text lines>{pretty(value)}</Text>
      </pre>
    </section>
  );
}

/** Content that may be wider than its place. */
export function Scroll({ label, panel, children }: { label: string; panel?: boolean; children: ReactNode }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard
    <section className={panel ? "panel scroll-x" : "scroll-x"} tabIndex={0} aria-label={label}>
      {children}
    </section>
  );
}

/** Facts with their names; those without a value are left out. */
export function Facts({ facts }: { facts: [string, ReactNode][] }) {
  return (
    <dl className="facts">
      {facts
        .filter(([, value]) => value !== undefined && value !== null && value !== "" && value !== false)
        .map(([name, value]) => (
          <div key={name} className="fact" style={{ display: "contents" }}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
    </dl>
  );
}

/** Names of tools, commands and the like. */
export function Names({ names, none }: { names: string[]; none: string }) {
  if (names.length === 0) return <span className="dim">{none}</span>;
  return (
    <span className="row">
      {names.map((n) => (
        <code key={n}>
          <Text>{n}</Text>
        </code>
      ))}
    </span>
  );
}

/** Tabs, by arrow keys too. */
export function Tabs({ names, at, onChange }: { names: string[]; at: string; onChange: (name: string) => void }) {
  const move = (by: number) => {
    const next = names[(names.indexOf(at) + by + names.length) % names.length];
    if (next) onChange(next);
  };
  return (
    <div
      className="tabs"
      role="tablist"
      onKeyDown={(e) => {
        if (e.key === "ArrowRight") move(1);
        if (e.key === "ArrowLeft") move(-1);
      }}
    >
      {names.map((name) => (
        <button
          key={name}
          type="button"
          role="tab"
          aria-selected={name === at}
          tabIndex={name === at ? 0 : -1}
          onClick={() => onChange(name)}
        >
          {name}
        </button>
      ))}
    </div>
  );
}

/** Offers a text as a file. */
export function download(name: string, text: string, type = "text/plain") {
  const url = URL.createObjectURL(new Blob([text], { type }));
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  URL.revokeObjectURL(url);
}

/** Sets the tab's title. */
export function useTitle(title: string) {
  useEffect(() => {
    document.title = `${visible(title)} · Interlock`;
  }, [title]);
}
