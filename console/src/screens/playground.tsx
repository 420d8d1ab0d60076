import { useMutation } from "@tanstack/react-query";
import { lazy, Suspense, useState } from "react";
import { ask, type Schemas } from "../api/client";
import { parse, pretty } from "../api/json";
import { Chip, download, Failure, Json, Text, useTitle } from "../ui/basics";
import { GraphView } from "../ui/graph";
import { Problems, useChecked } from "./edit";
import { notEnforced } from "./standing";

const Editor = lazy(() => import("../ui/editor"));

const example = {
  id: "bugfix",
  initial: "plan",
  states: {
    plan: { allowed_tools: ["Read"], on: { READY: "work" } },
    work: {
      allowed_tools: ["Read", "Edit", "Bash"],
      allowed_commands: ["go test *"],
      max_iterations: 5,
      on: { DONE: "end" },
    },
    end: { type: "final" },
  },
};

const steps = [
  { call: { tool: "Edit", input: { file_path: "a.go" } } },
  { event: "READY" },
  { call: { tool: "Bash", input: { command: "go test ./... && git push" } } },
  { call: { tool: "Bash", input: { command: "go test ./..." } } },
  { event: "DONE" },
];

/** Plays a workflow without effects. */
export function Playground() {
  useTitle("Playground");
  const [text, setText] = useState(pretty(example));
  const [plan, setPlan] = useState(pretty(steps));
  const [at, setAt] = useState(0);
  const { validation, graph } = useChecked(text);
  const play = useMutation({
    mutationFn: () => ask<Schemas["Trial"]>("/v1/simulate", { workflow: parse(text), steps: parse(plan) }),
    onSuccess: (r) => setAt(r.steps.length - 1),
  });
  const played = play.data?.steps ?? [];
  const step = played[at];
  const visited = new Set(played.slice(0, at + 1).map((s) => s.after.run.state));
  return (
    <>
      <div className="head">
        <h1>Playground</h1>
        {validation.data && (
          <Chip kind={validation.data.ok ? "ok" : "deny"}>{validation.data.ok ? "valid" : "not valid"}</Chip>
        )}
        <span className="grow" />
        <button
          type="button"
          onClick={() =>
            download(
              "playground.test.yaml",
              `# Plays with: interlock test playground.test.yaml\nworkflow: ${text}\ncases:\n  - name: playground\n    steps: ${plan}\n`,
              "application/yaml",
            )
          }
        >
          Save as a file
        </button>
        <button type="button" className="primary" onClick={() => play.mutate()} disabled={play.isPending}>
          Play
        </button>
      </div>
      <p className="dim">
        Nothing is stored, counted or asked: the steps are played by the same rules that the services enforce.
      </p>
      {play.error ? <Failure error={play.error} /> : null}
      <div className="split">
        <div className="stack">
          {graph.data && (
            <GraphView
              graph={graph.data}
              marks={{ state: (s) => (s === step?.after.run.state ? "current" : visited.has(s) ? "visited" : "") }}
            />
          )}
          <Problems problems={validation.data?.problems ?? []} />
          {play.data?.stopped && <p className="notice warn">It ended early: {play.data.stopped.toLowerCase()}.</p>}
          {played.length > 0 && (
            <>
              <ol className="plain-steps">
                {played.map((s, i) => (
                  // biome-ignore lint/suspicious/noArrayIndexKey: steps are known by their place
                  <li key={i}>
                    <button type="button" className="item" aria-current={i === at} onClick={() => setAt(i)}>
                      <span className="row">
                        <span className="mono small dim">{i + 1}</span>
                        <strong>
                          <Text>{s.action}</Text>
                        </strong>
                        {s.decision && <Chip kind={s.code === notEnforced ? "ask" : undefined}>{s.decision}</Chip>}
                        {(s.code || s.rejected) && <code>{s.code || s.rejected}</code>}
                        <span className="grow" />
                        <span className="dim">
                          <Text>{s.after.run.state}</Text>
                        </span>
                      </span>
                      {(s.verdicts?.length ?? 0) > 1 && (
                        <span className="row small">
                          {s.verdicts?.map((v) => (
                            <span key={`${v.policy}${v.rule}`}>
                              <Text>
                                {v.policy
                                  ? `${v.policy} ${v.rule ?? ""}`
                                  : v.code === notEnforced
                                    ? "not enforced"
                                    : "the state"}
                              </Text>{" "}
                              <Chip>{v.decision}</Chip>
                            </span>
                          ))}
                        </span>
                      )}
                      {s.message && (
                        <span className="small">
                          <Text>{s.message}</Text>
                        </span>
                      )}
                    </button>
                  </li>
                ))}
              </ol>
              {step && <Json value={step.after} label="The run after this step" />}
            </>
          )}
        </div>
        <div className="stack">
          <Suspense fallback={<div className="skeleton" />}>
            <h2>Workflow</h2>
            <Editor short text={text} problems={validation.data?.problems} label="Workflow" onChange={setText} />
            <h2>Steps</h2>
            <Editor short text={plan} label="Steps" onChange={setPlan} />
          </Suspense>
        </div>
      </div>
    </>
  );
}
