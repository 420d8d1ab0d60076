import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { ask, type Schemas, segment } from "../api/client";
import { Chip, download, Empty, Facts, Loaded, Text } from "../ui/basics";
import { GraphView } from "../ui/graph";

const kinds: Record<string, string> = {
  PROVED: "ok",
  COUNTEREXAMPLE: "deny",
  LOOSENED: "deny",
  "NOT PROVED": "ask",
  NOT_PROVED: "ask",
};

interface Props {
  workflow: Schemas["Workflow"];
  graph: Schemas["Graph"];
}

/** What is true of every run of a version: its properties, and a run that breaks each one that does not hold. */
export function Proof({ workflow: w, graph }: Props) {
  const [shown, setShown] = useState<string>();
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
        const steps = proof.results.find((r) => r.property === shown)?.steps ?? [];
        const told = steps.join(" ");
        const met = (state: string) => told.includes(`"${state}"`);
        return (
          <div className="split">
            <GraphView graph={graph} marks={{ state: (s) => (shown && met(s) ? "changed" : "") }} />
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
                      <button type="button" onClick={() => setShown(shown === r.property ? undefined : r.property)}>
                        {shown === r.property ? "Hide the run that breaks it" : "Show the run that breaks it"}
                      </button>
                      {shown === r.property && (
                        <ol>
                          {r.steps.map((s, i) => (
                            // biome-ignore lint/suspicious/noArrayIndexKey: steps can repeat and never change
                            <li key={i}>
                              <Text>{s}</Text>
                            </li>
                          ))}
                        </ol>
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

/** What moving running runs from an earlier version to this one would newly allow. */
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
