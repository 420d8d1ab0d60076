import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { type ReactNode, useState } from "react";
import { change, get, type Run, type Schemas, segment } from "../../api/client";
import { useSession } from "../../shell";
import { download, Failure, Text } from "../../ui/basics";
import { Confirm } from "../../ui/dialog";
import { visible } from "../../ui/visible";
import { GrantException } from "../exceptions";
import { HaltDialog, InScope, mayHalt } from "../halts";
import { limitsOf } from "./limits";
import type { Entry } from "./rows";
import { scenarioOf } from "./scenario";

type Action = "pause" | "resume" | "cancel" | "force";

const titles: { [of in Action]: string } = {
  pause: "Pause this run?",
  resume: "Resume this run?",
  cancel: "Cancel this run?",
  force: "Force this run into a state?",
};

const over = (run: Run) => ["COMPLETED", "FAILED", "CANCELLED"].includes(run.status);

/** Whether the person may act on a run, and it can still be acted on. */
function useMayAct(run: Run) {
  const session = useSession();
  return !session.read_only && (!session.roles || session.roles.includes("operator")) && !over(run);
}

/** An action on the run, which asks before it is done. */
function useAction(run: Run) {
  const client = useQueryClient();
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
  const dialog = asked && (
    <Confirm
      title={titles[asked]}
      danger={asked === "cancel" || asked === "force"}
      reason={asked === "pause" || asked === "cancel"}
      onClose={() => setAsked(undefined)}
      onYes={(reason) => work.mutate({ action: asked, reason, state: target })}
    >
      {asked === "pause" && (
        <p>Every tool call of this run is denied until someone resumes it. No other run changes.</p>
      )}
      {asked === "cancel" && <p>The run ends at once, and cannot go on. No other run changes.</p>}
      {asked === "force" && (
        <label className="field">
          State; guards and approvals are passed over, and the history says who did it
          <input required value={target} onChange={(e) => setTarget(e.target.value)} />
        </label>
      )}
    </Confirm>
  );
  return { ask: setAsked, dialog, error: work.error ? <Failure error={work.error} /> : null };
}

/** Stops the run, or lets it go on. */
export function PauseButton({ run }: { run: Run }) {
  const { ask, dialog, error } = useAction(run);
  if (!useMayAct(run)) return error;
  const stopped = run.status === "PAUSED" || run.status === "HELD";
  return (
    <>
      <button
        type="button"
        className={stopped ? "primary" : undefined}
        onClick={() => ask(stopped ? "resume" : "pause")}
      >
        {stopped ? "Resume" : "Pause"}
      </button>
      {error}
      {dialog}
    </>
  );
}

/** Stops all work in a scope. */
export function HaltScope({ kind, name, stops }: { kind: string; name: string; stops: string }) {
  const session = useSession();
  const [open, setOpen] = useState(false);
  if (!mayHalt(session) || !name) return null;
  return (
    <Act
      button={
        <button type="button" className="danger" onClick={() => setOpen(true)}>
          Halt {kind === "session" ? "its session" : "its principal"}…
        </button>
      }
    >
      {stops} <strong>{visible(name)}</strong>.
      <InScope kind={kind} name={name} />
      {open && <HaltDialog session={session} scope={{ kind, name }} onClose={() => setOpen(false)} />}
    </Act>
  );
}

/** One act: its button, and its effect in words. */
export function Act({ button, children }: { button: ReactNode; children: ReactNode }) {
  return (
    <li className="act">
      {button}
      <div className="small">{children}</div>
    </li>
  );
}

/** Halts of the session and of the principal. */
export const Halts = ({ session, principal }: { session: string | undefined; principal: string | undefined }) => (
  <>
    <HaltScope kind="session" name={session ?? ""} stops="Denies every call of the session, and of all below it:" />
    <HaltScope kind="principal" name={principal ?? ""} stops="Denies every call of the principal, in every run:" />
  </>
);

interface Props {
  run: Run;
  /** The history as far as it is loaded, newest first. */
  entries: Entry[];
  principal: string | undefined;
  policies: string[];
}

/** All that a person can do about the run. */
export function Acts({ run, entries, principal, policies }: Props) {
  const session = useSession();
  const may = useMayAct(run);
  const { ask, dialog, error } = useAction(run);
  const limits = limitsOf(run);
  const debug = useDebug(run, may);
  return (
    <section className="panel stack acts" aria-label="Acts">
      <h2>Act</h2>
      {mayHalt(session) && (
        <ul className="plain" aria-label="Stop">
          <Halts session={run.session_id} principal={principal} />
        </ul>
      )}
      {may && (limits.length > 0 || policies.length > 0) && (
        <ul className="plain" aria-label="Let more pass">
          {limits.map((l) => (
            <Act
              key={l.field}
              button={
                <Link
                  className="button"
                  to="/new/workflow"
                  search={{ from: run.workflow, version: String(run.workflow_version), at: l.pointer }}
                >
                  Raise {l.field}
                </Link>
              }
            >
              {l.used} of {l.most} {l.unit} are used in <Text>{run.state}</Text>. A new version holds for runs that
              start or move to it; none moves by itself.
            </Act>
          ))}
          {policies.map((name) => (
            <li key={name} className="act">
              <span className="row">
                <Link className="button" to="/policies/$name" params={{ name }} search={{ at: "/" }}>
                  Change <Text>{name}</Text>
                </Link>
                <GrantException policy={name} session={run.session_id} principal={principal} />
              </span>
              <div className="small">
                A change holds at once for every run that the policy is about; an exception for the calls that it names.
                Of <strong>{visible(run.workflow)}</strong>:
                <InScope kind="workflow" name={run.workflow} />
              </div>
            </li>
          ))}
        </ul>
      )}
      <div className="row">
        <Receipt run={run} />
        <SaveTest run={run} entries={entries} />
        <Link className="button" to="/decisions" search={{ run_id: run.run_id }}>
          All decisions
        </Link>
      </div>
      {may && (
        <ul className="plain dangers" aria-label="Dangerous">
          <Act
            button={
              <button type="button" className="danger" disabled={!debug} onClick={() => ask("force")}>
                Force state
              </button>
            }
          >
            Moves this run to a state that you name. Guards and approvals are passed over.
            {!debug && " Only for workflows with meta.debug."}
          </Act>
          <Act
            button={
              <button type="button" className="danger" onClick={() => ask("cancel")}>
                Cancel
              </button>
            }
          >
            Ends this run at once. It cannot go on.
          </Act>
        </ul>
      )}
      {error}
      {dialog}
    </section>
  );
}

/** Whether the workflow lets its states be forced. */
function useDebug(run: Run, wanted: boolean): boolean {
  const kind = run.process ? "processes" : "workflows";
  const { data } = useQuery({
    queryKey: [run.process ? "process" : "workflow", run.workflow, run.workflow_version],
    queryFn: ({ signal }) =>
      get<Schemas["Workflow"]>(`/v1/${kind}/${segment(run.workflow)}/versions/${run.workflow_version}`, {}, signal),
    staleTime: Number.POSITIVE_INFINITY,
    enabled: wanted,
  });
  return (data?.definition as { meta?: { debug?: boolean } } | undefined)?.meta?.debug === true;
}

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

/** The run as a test of its workflow. It needs all of its history. */
function SaveTest({ run, entries }: { run: Run; entries: Entry[] }) {
  const save = useMutation({
    mutationFn: async () => {
      const all: Entry[] = [];
      for (let next: object | undefined = {}; next; ) {
        const page: Schemas["History"] = await get(`/v1/runs/${segment(run.run_id)}/history`, {
          page_size: 1000,
          ...next,
        });
        all.push(...page.entries);
        next = page.next_after_version
          ? { after_version: page.next_after_version, after_result: page.next_after_result }
          : undefined;
      }
      const scenario = scenarioOf(run, all);
      if (scenario === undefined)
        throw new Error("The run made no transition of its own, so there is nothing to test.");
      download(`${visible(run.workflow)}.test.yaml`, scenario, "application/yaml");
    },
  });
  const moved = run.transition_count > 0 || entries.some((e) => e.type === "transitioned");
  return (
    <>
      <button
        type="button"
        disabled={!moved || save.isPending}
        title={moved ? undefined : "The run made no transition, so there is nothing to test."}
        onClick={() => save.mutate()}
      >
        Save as a test (*.test.yaml)
      </button>
      {save.error ? <Failure error={save.error} /> : null}
    </>
  );
}
