import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { ask, type Schemas, segment } from "../api/client";
import { Chip, download, Empty, Facts, Loaded, Text } from "../ui/basics";
import { GraphView } from "../ui/graph";

const kinds: Record<string, string> = {
  PROVED: "ok",
  "PROVED while running": "ask",
  COUNTEREXAMPLE: "deny",
  LOOSENED: "deny",
  "NOT PROVED": "ask",
  NOT_PROVED: "ask",
};

interface Props {
  workflow: Schemas["Workflow"];
  graph: Schemas["Graph"];
}

/** The properties of a version, and for each one that does not hold a run that breaks it. */
export function Proof({ workflow: w, graph }: Props) {
  const [shown, setShown] = useState<string>();
  const [step, setStep] = useState(0);
  const show = (property: string | undefined) => {
    setShown(property);
    setStep(0);
  };
  const query = useQuery({
    queryKey: ["workflow", w.name, w.version, "proof"],
    queryFn: ({ signal }) =>
      ask<Schemas["Proof"]>("/v1/verify", { workflow: w.definition, max_states: 20_000 }, signal),
    staleTime: Number.POSITIVE_INFINITY,
    retry: false,
  });
  return (
    <Loaded query={query}>
      {(proof) => {
        const stands = proof.results.find((r) => r.property === shown)?.stands ?? [];
        const now = stands[step] ?? [];
        const before = new Set(stands.slice(0, step).flat());
        const mark = (state: string) => (now.includes(state) ? "current" : before.has(state) ? "visited" : "");
        return (
          <div className="split">
            <GraphView graph={graph} marks={{ state: mark }} />
            <div className="stack">
              {proof.results.length === 0 && (
                <Empty>It states no properties. What must be true of every run goes under "properties".</Empty>
              )}
              {proof.results.map((r) => (
                <section key={r.property} className="panel stack tight">
                  <div className="row">
                    <Chip kind={kinds[r.verdict] ?? ""}>{r.verdict}</Chip>
                    <Text>{r.property}</Text>
                    <span className="grow" />
                    <span className="dim small">{r.states} states</span>
                  </div>
                  {r.reason && (
                    <p>
                      <Text>{r.reason}</Text>
                    </p>
                  )}
                  {r.steps?.length ? (
                    <>
                      <button type="button" onClick={() => show(shown === r.property ? undefined : r.property)}>
                        {shown === r.property ? "Hide the run that breaks it" : "Show the run that breaks it"}
                      </button>
                      {shown === r.property && (
                        <Steps steps={r.steps} stands={r.stands ?? []} at={step} onMove={setStep} />
                      )}
                      {r.scenario && (
                        <button
                          type="button"
                          onClick={() => download("counterexample.test.yaml", r.scenario ?? "", "application/yaml")}
                        >
                          Save as a test (*.test.yaml)
                        </button>
                      )}
                    </>
                  ) : null}
                </section>
              ))}
              {proof.warnings.map((warning) => (
                <p key={warning.code + warning.pointer} className="small">
                  <Chip kind="ask">{warning.code}</Chip> <Text>{warning.message}</Text>
                </p>
              ))}
            </div>
          </div>
        );
      }}
    </Loaded>
  );
}

interface StepsProps {
  steps: string[];
  stands: (string[] | null)[];
  /** How many steps were taken. */
  at: number;
  onMove: (at: number) => void;
}

/** A run that is gone through step by step. */
function Steps({ steps, stands, at, onMove }: StepsProps) {
  return (
    <>
      <div className="row">
        <button type="button" disabled={at === 0} onClick={() => onMove(at - 1)}>
          Previous
        </button>
        <button type="button" disabled={at === steps.length} onClick={() => onMove(at + 1)}>
          Next
        </button>
        <span className="small dim">
          {at} of {steps.length}
        </span>
      </div>
      <p aria-live="polite">
        <Text>{at === 0 ? "It begins" : steps[at - 1]}</Text>
        {stands[at]?.length ? (
          <>
            {" · now in "}
            <Text>{stands[at].join(", ")}</Text>
          </>
        ) : null}
      </p>
      <ol>
        {steps.map((s, i) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: steps can repeat and never change
          <li key={i} aria-current={i === at - 1 ? "step" : undefined} className={i < at ? "" : "dim"}>
            <Text>{s}</Text>
          </li>
        ))}
      </ol>
    </>
  );
}

/** The new permissions if running runs move from an earlier version to this one. */
export function Migration({ workflow: w, graph }: Props) {
  const [from, setFrom] = useState(Math.max(1, w.version - 1));
  const query = useQuery({
    queryKey: ["workflow", w.name, "migration", from, w.version],
    queryFn: ({ signal }) =>
      ask<Schemas["MigrationPlan"]>(
        `/v1/workflows/${segment(w.name)}/migration-plans`,
        { from_version: from, to_version: w.version, max_states: 5_000 },
        signal,
      ),
    staleTime: Number.POSITIVE_INFINITY,
    enabled: w.version > 1 && from !== w.version,
    retry: false,
  });
  if (w.version === 1) return <Empty>This is the first version: no run can be moved to it.</Empty>;
  return (
    <>
      <label className="row small">
        Runs of version
        <input
          type="number"
          min={1}
          max={w.version - 1}
          value={from}
          onChange={(e) => setFrom(Math.min(w.version - 1, Math.max(1, Number(e.target.value) || 1)))}
        />
      </label>
      <Loaded query={query}>
        {(plan) => {
          const gained = new Set(plan.gains.map((g) => g.is));
          return (
            <div className="split">
              <GraphView graph={graph} marks={{ state: (s) => (gained.has(s) ? "changed" : "") }} />
              <div className="stack">
                <section className="panel stack tight">
                  <div className="row">
                    <Chip kind={kinds[plan.verdict] ?? ""}>{plan.verdict.replace("_", " ")}</Chip>
                    <span>
                      {plan.verdict === "PROVED"
                        ? "Nothing that a run may do after the move was refused before."
                        : plan.reason || `${plan.gains.length} newly allowed`}
                    </span>
                  </div>
                  <Facts
                    facts={[
                      ["Pairs compared", String(plan.pairs)],
                      ["Dropped evidence", plan.dropped_evidence.join(", ") || "none"],
                      ["Plan", plan.digest],
                    ]}
                  />
                </section>
                {plan.gains.map((g) => (
                  <section key={g.kind + (g.was ?? "") + (g.is ?? "") + g.what} className="panel stack tight">
                    <div className="row">
                      <Chip kind="deny">{g.kind}</Chip>
                      <span>
                        <Text>{g.is ?? "everywhere"}</Text>
                      </span>
                      {g.was && g.was !== g.is ? <span className="dim small">before: {g.was}</span> : null}
                    </div>
                    <p>
                      <Text>{g.what}</Text>
                    </p>
                    {g.path?.length ? (
                      <p className="small dim">
                        <Text>{`after: ${g.path.join(", ")}`}</Text>
                      </p>
                    ) : null}
                  </section>
                ))}
                {plan.stays.map((s) => (
                  <p key={s.state} className="small">
                    <Text>{`Runs in ${s.state} stay: ${s.reason}`}</Text>
                  </p>
                ))}
                <p className="small dim">
                  <Text>{`interlock migrate ${w.name}@${plan.from_version} ${w.name}@${plan.to_version} moves them with --apply.`}</Text>
                </p>
              </div>
            </div>
          );
        }}
      </Loaded>
    </>
  );
}
