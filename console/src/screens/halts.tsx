import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useLocation } from "@tanstack/react-router";
import { useEffect, useRef, useState } from "react";
import { CallError, change, get, type Schemas, type Session, segment } from "../api/client";
import { Failure, Text, Time } from "../ui/basics";
import { Confirm } from "../ui/dialog";

type Halt = Schemas["Halt"];

/** Whether the person may stop work and let it go on, as far as the session says. */
export const mayHalt = (s: Session) => !s.read_only && (s.roles?.some((r) => r === "operator" || r === "root") ?? true);

/** How each kind of scope is named, and what a halt of it stops. */
const kinds: [kind: string, label: string, name: string, stops: string][] = [
  ["session", "One session", "Session", "the session and all sessions below it"],
  ["workflow", "Runs of one workflow", "Workflow", "its runs, and the runs that they have invoked"],
  ["agent", "One agent", "Agent", "the sessions that were started from the agent, with all below them"],
  ["principal", "One token or caller", "Principal", "every call by this principal"],
  ["human", "Work for one human", "Human", "all who act on behalf of this human"],
  [
    "group",
    "Work for a group",
    "Group",
    "all who act on behalf of a human of the group, or of one whose groups are unknown",
  ],
  ["person", "One person", "Person", "every call by this person"],
  ["namespace", "This namespace", "", "all work in the namespace"],
  ["all", "The whole deployment", "", "all work in every namespace"],
];

const stopsOf = (kind: string) => kinds.find(([k]) => k === kind)?.[3] ?? "all work in this scope";

/** The scope of a halt, in a few words. */
const scopeOf = (h: Halt) =>
  h.kind === "all"
    ? "the whole deployment"
    : h.kind === "namespace"
      ? `namespace ${h.namespace}`
      : `${h.kind} ${h.name}`;

/** The most halts that the banner names. */
const mostShown = 3;

/** Shows on every page what is halted, with a way to lift it. */
export function HaltBanner({ session }: { session: Session }) {
  const [all, setAll] = useState(false);
  const query = useQuery({
    queryKey: ["halts"],
    queryFn: ({ signal }) => get<Schemas["HaltList"]>("/v1/halts", {}, signal),
    refetchInterval: 15_000, // a halt of the deployment may be announced in another namespace
  });
  // Callers who may not read halts have no banner; any other failure is shown.
  if (query.error && !(query.error instanceof CallError && query.error.status === 403) && !query.data)
    return (
      <p className="notice warn" role="status">
        It is not known whether work is halted: <Text>{query.error.message}</Text>
      </p>
    );
  const halts = query.data?.halts ?? [];
  if (halts.length === 0) return null;
  const shown = all ? halts : halts.slice(0, mostShown);
  return (
    <section className="halted stack tight" aria-label="Halts in force">
      {shown.map((h) => (
        <InForce key={h.halt_id} halt={h} session={session} />
      ))}
      {halts.length > mostShown && (
        <button type="button" className="link" aria-expanded={all} onClick={() => setAll(!all)}>
          {all ? "Show less" : `Show ${halts.length - mostShown} more`}
        </button>
      )}
    </section>
  );
}

function InForce({ halt: h, session }: { halt: Halt; session: Session }) {
  const client = useQueryClient();
  const [asked, setAsked] = useState(false);
  const lift = useMutation({
    mutationFn: (reason: string) =>
      change(
        "POST",
        `/v1/halts/${segment(h.halt_id)}/lift`,
        { reason },
        undefined,
        h.by_root && session.roles?.includes("root") ? "root" : undefined,
      ),
    onSettled: () => client.invalidateQueries({ queryKey: ["halts"] }),
  });
  const rootOnly = h.by_root && session.roles && !session.roles.includes("root");
  return (
    <div className="row">
      <span role="alert">
        <strong>
          Halted: <Text>{scopeOf(h)}</Text>.
        </strong>{" "}
        <Text>{h.reason}</Text>
      </span>
      <span className="small">
        by <Text>{h.created_by}</Text>, <Time at={h.created_at} />
      </span>
      <span className="grow" />
      {mayHalt(session) && !rootOnly && (
        <button type="button" disabled={lift.isPending} onClick={() => setAsked(true)}>
          Lift<span className="hidden-text"> the halt of {scopeOf(h)}</span>
        </button>
      )}
      {rootOnly && <span className="small">Only the role root can lift it.</span>}
      {lift.error ? <Failure error={lift.error} /> : null}
      {asked && (
        <Confirm
          title={`Lift the halt of ${scopeOf(h)}?`}
          reason="required"
          onClose={() => setAsked(false)}
          onYes={(reason) => lift.mutate(reason)}
        >
          <p>From the answer on, calls in this scope are decided by the rules again.</p>
        </Confirm>
      )}
    </div>
  );
}

/** The red button: stops work. */
export function HaltButton({ session }: { session: Session }) {
  const [open, setOpen] = useState(false);
  if (!mayHalt(session)) return null;
  return (
    <>
      <button type="button" className="stop" onClick={() => setOpen(true)}>
        Halt…
      </button>
      {open && <HaltDialog session={session} onClose={() => setOpen(false)} />}
    </>
  );
}

/** The scope that a page is about: its session or its workflow. */
function scopeOfPage(path: string): Scope {
  const [, kind, name] = path.match(/^\/(?:ui\/)?(sessions|workflows)\/([^/]+)/) ?? [];
  if (!kind || !name) return { kind: "namespace", name: "" };
  return { kind: kind === "sessions" ? "session" : "workflow", name: decodeURIComponent(name) };
}

interface Scope {
  kind: string;
  name: string;
}

/** The form of a halt. It begins with a scope, or with that of the page. */
export function HaltDialog({ session, scope, onClose }: { session: Session; scope?: Scope; onClose: () => void }) {
  const client = useQueryClient();
  const page = scopeOfPage(useLocation().pathname);
  const first = scope ?? page;
  const box = useRef<HTMLDialogElement>(null);
  const [kind, setKind] = useState(first.kind);
  const [name, setName] = useState(first.name);
  const [reason, setReason] = useState("");
  useEffect(() => box.current?.showModal(), []);
  const label = kinds.find(([k]) => k === kind)?.[2] ?? "";
  const halt = useMutation({
    mutationFn: () =>
      change<Halt>(
        "POST",
        "/v1/halts",
        { kind, name: label ? name.trim() : undefined, reason: reason.trim() },
        undefined,
        kind === "all" ? "root" : undefined,
      ),
    onSuccess: () => {
      client.invalidateQueries({ queryKey: ["halts"] });
      box.current?.close();
    },
  });
  return (
    <dialog ref={box} aria-label="Halt work" onClose={onClose}>
      <form
        className="stack"
        onSubmit={(e) => {
          e.preventDefault();
          halt.mutate();
        }}
      >
        <h2>Halt work</h2>
        <label className="field">
          What to stop
          <select value={kind} onChange={(e) => setKind(e.target.value)}>
            {kinds
              .filter(([k]) => k !== "all" || session.roles?.includes("root"))
              .map(([k, words]) => (
                <option key={k} value={k}>
                  {words}
                </option>
              ))}
          </select>
        </label>
        {label && (
          <label className="field">
            {label}
            <input required spellCheck={false} value={name} onChange={(e) => setName(e.target.value)} />
          </label>
        )}
        <label className="field">
          Reason, which agents and people read
          <input required maxLength={1000} value={reason} onChange={(e) => setReason(e.target.value)} />
        </label>
        <p>
          This stops {stopsOf(kind)}. From the answer on, every tool call in the scope is denied with your reason, and
          no run starts or moves, no session starts, and no approval is granted. Calls that were made can still be
          reported. Nothing is cancelled: work goes on when the halt is lifted.
        </p>
        <InScope kind={kind} name={name.trim()} />
        {kind === "all" && <p>Only the role root can lift it.</p>}
        {halt.error ? <Failure error={halt.error} /> : null}
        <div className="row">
          <button type="submit" className="stop" disabled={halt.isPending}>
            Halt
          </button>
          <button type="button" onClick={() => box.current?.close()}>
            Cancel
          </button>
        </div>
      </form>
    </dialog>
  );
}

/** How many decisions are looked at for the runs of a principal. */
const mostDecisions = 200;

/** The runs in a scope: those that a filter of runs finds, or, of a principal, those that it made calls in within a day. */
function useInScope(kind: string, name: string) {
  const filters: Record<string, Record<string, string>> = {
    namespace: {},
    workflow: { workflow: name },
    session: { session_id: name },
  };
  const filter = kind === "namespace" || name ? filters[kind] : undefined;
  const calls = kind === "principal" && name !== "";
  return useQuery({
    queryKey: ["runs", "in scope", kind, name],
    queryFn: async ({ signal }) => {
      if (calls) {
        const page = await get<Schemas["DecisionList"]>(
          "/v1/decisions",
          { principal: name, since: "24h", page_size: mostDecisions },
          signal,
        );
        const runs = new Set(page.decisions.map((d) => d.run_id).filter(Boolean));
        return { count: runs.size, more: Boolean(page.next_page_token) };
      }
      const page = await get<Schemas["RunList"]>(
        "/v1/runs",
        { ...filter, not_status: "COMPLETED,FAILED,CANCELLED", page_size: 100 },
        signal,
      );
      return { count: page.runs.length, more: Boolean(page.next_page_token) };
    },
    enabled: filter !== undefined || calls,
  });
}

/** Says how many runs are in a scope, where that is known. */
export function InScope({ kind, name }: Scope) {
  const { data } = useInScope(kind, name);
  if (!data) return null;
  const runs = `${data.count}${data.more ? " or more" : ""} ${data.count === 1 && !data.more ? "run" : "runs"}`;
  const are = data.count === 1 && !data.more ? "is" : "are";
  return (
    <p role="status">
      {kind === "principal"
        ? `It has made calls in ${runs} within a day.`
        : `${runs} ${are} in progress ${kind === "session" ? "in the session itself" : "in this scope"}.`}
    </p>
  );
}
