import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useLocation } from "@tanstack/react-router";
import { useEffect, useRef, useState } from "react";
import { CallError, change, get, type Schemas, type Session, segment } from "../api/client";
import { Failure, Text, Time } from "../ui/basics";
import { Confirm } from "../ui/dialog";
import { mayHalt } from "./halts";

type Freeze = Schemas["Freeze"];

/** Shows on every page which workflows are frozen, with a way to lift it. */
export function FreezeBanner({ session }: { session: Session }) {
  const query = useQuery({
    queryKey: ["freezes"],
    queryFn: ({ signal }) => get<Schemas["FreezeList"]>("/v1/freezes", {}, signal),
    refetchInterval: 15_000, // one that ends by itself is not announced
  });
  if (query.error && !(query.error instanceof CallError && query.error.status === 403) && !query.data)
    return (
      <p className="notice warn" role="status">
        It is not known whether workflows are frozen: <Text>{query.error.message}</Text>
      </p>
    );
  const freezes = query.data?.freezes ?? [];
  if (freezes.length === 0) return null;
  return (
    <section className="notice warn stack tight" aria-label="Freezes in force">
      {freezes.map((f) => (
        <InForce key={f.freeze_id} freeze={f} session={session} />
      ))}
    </section>
  );
}

function InForce({ freeze: f, session }: { freeze: Freeze; session: Session }) {
  const client = useQueryClient();
  const [asked, setAsked] = useState(false);
  const asRoot = session.roles?.includes("root");
  const lift = useMutation({
    mutationFn: (reason: string) =>
      change(
        "POST",
        `/v1/freezes/${segment(f.freeze_id)}/lift`,
        { reason },
        undefined,
        f.by_root && asRoot ? "root" : undefined,
      ),
    onSettled: () => {
      client.invalidateQueries({ queryKey: ["freezes"] });
      client.invalidateQueries({ queryKey: ["run"] });
    },
  });
  const rootOnly = f.by_root && session.roles && !asRoot;
  return (
    <div className="row">
      <span>
        <strong>
          Frozen: workflows <Text>{f.workflow}</Text>
        </strong>{" "}
        until <Time at={f.until} />. <Text>{f.reason}</Text>
      </span>
      <span className="small">
        by <Text>{f.created_by}</Text>
      </span>
      <span className="grow" />
      {mayHalt(session) && !rootOnly && (
        <button type="button" disabled={lift.isPending} onClick={() => setAsked(true)}>
          Lift<span className="hidden-text"> the freeze of {f.workflow}</span>
        </button>
      )}
      {rootOnly && <span className="small">Only the role root can lift it.</span>}
      {lift.error ? <Failure error={lift.error} /> : null}
      {asked && (
        <Confirm
          title={`Lift the freeze of ${f.workflow}?`}
          reason="required"
          onClose={() => setAsked(false)}
          onYes={(reason) => lift.mutate(reason)}
        >
          <p>From the answer on, transitions of these workflows are decided by their rules again.</p>
        </Confirm>
      )}
    </div>
  );
}

/** Opens the form of a freeze. */
export function FreezeButton({ session }: { session: Session }) {
  const [open, setOpen] = useState(false);
  if (!mayHalt(session)) return null;
  return (
    <>
      <button type="button" onClick={() => setOpen(true)}>
        Freeze…
      </button>
      {open && <FreezeDialog onClose={() => setOpen(false)} />}
    </>
  );
}

function FreezeDialog({ onClose }: { onClose: () => void }) {
  const client = useQueryClient();
  const path = useLocation().pathname;
  const box = useRef<HTMLDialogElement>(null);
  const [workflow, setWorkflow] = useState(decodeURIComponent(path.match(/\/workflows\/([^/]+)/)?.[1] ?? ""));
  const [until, setUntil] = useState("");
  const [reason, setReason] = useState("");
  useEffect(() => box.current?.showModal(), []);
  const freeze = useMutation({
    mutationFn: () =>
      change<Freeze>("POST", "/v1/freezes", {
        workflow: workflow.trim(),
        until: new Date(until).toISOString(),
        reason: reason.trim(),
      }),
    onSuccess: () => {
      client.invalidateQueries({ queryKey: ["freezes"] });
      client.invalidateQueries({ queryKey: ["run"] });
      box.current?.close();
    },
  });
  return (
    <dialog ref={box} aria-label="Freeze workflows" onClose={onClose}>
      <form
        className="stack"
        onSubmit={(e) => {
          e.preventDefault();
          freeze.mutate();
        }}
      >
        <h2>Freeze workflows</h2>
        <label className="field">
          Workflows, in which * stands for any text
          <input required spellCheck={false} value={workflow} onChange={(e) => setWorkflow(e.target.value)} />
        </label>
        <label className="field">
          Until
          <input required type="datetime-local" value={until} onChange={(e) => setUntil(e.target.value)} />
        </label>
        <label className="field">
          Reason, which agents and people read
          <input required maxLength={1000} value={reason} onChange={(e) => setReason(e.target.value)} />
        </label>
        <p>
          From the answer on, the transitions that these workflows name in "freeze" are refused with your reason;
          without that, those to states with a danger level; without any, all but those to failing ends. Tool calls go
          on. The freeze ends by itself.
        </p>
        {freeze.error ? <Failure error={freeze.error} /> : null}
        <div className="row">
          <button type="submit" className="primary" disabled={freeze.isPending}>
            Freeze
          </button>
          <button type="button" onClick={() => box.current?.close()}>
            Cancel
          </button>
        </div>
      </form>
    </dialog>
  );
}

/** Names the events that a freeze stops in a run. */
export function FrozenRun({ run }: { run: Schemas["Run"] }) {
  const frozen = run.legal_events?.filter((e) => e.frozen) ?? [];
  if (!run.freeze || frozen.length === 0) return null;
  return (
    <div className="notice warn" role="status">
      Frozen until <Time at={run.freeze.until} />: <Text>{frozen.map((e) => e.event).join(", ")}</Text>.{" "}
      <Text>{run.freeze.reason}</Text>, by <Text>{run.freeze.created_by}</Text>
    </div>
  );
}
