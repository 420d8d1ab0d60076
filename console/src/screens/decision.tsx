import { useMutation, useQuery } from "@tanstack/react-query";
import { Link, useParams, useSearch } from "@tanstack/react-router";
import { type ReactNode, useState } from "react";
import { ask, get, type Run, type Schemas, segment } from "../api/client";
import { parse, pretty } from "../api/json";
import { Chip, CopyId, Facts, Failure, Json, Loaded, Names, Scroll, Text, Time, useTitle } from "../ui/basics";
import { Command } from "../ui/command";
import { escaped, visible } from "../ui/visible";
import { notEnforced } from "./standing";

/** One call: the decision, and the rule that made it. */
export function DecisionPage() {
  const { run, call } = useParams({ strict: false }) as { run: string; call: string };
  const place = useSearch({ strict: false }) as { session_id?: string; sequence?: string };
  useTitle("Decision");
  const query = useQuery({
    queryKey: ["decisions", "of", run, call, place],
    queryFn: ({ signal }) =>
      get<Decision>(`/v1/decisions/${segment(run)}/${segment(call)}`, { explain: true, ...place }, signal),
  });
  return <Loaded query={query}>{(d) => <Shown record={d} />}</Loaded>;
}

type Decision = Schemas["DecisionDetail"];

const words: Record<string, string> = { ALLOW: "Allowed", ASK: "Put to a human", DENY: "Denied" };

/** The protection at a level of the jail (S20.2). */
const held: Record<number, string> = {
  1: "files",
  2: "files, signals and ports",
  3: "files, signals, processes and the network",
};

function Shown({ record: d }: { record: Decision }) {
  const open = d.code === notEnforced;
  const outcome = open ? "Allowed, not enforced" : words[d.decision];
  const run = useQuery({
    queryKey: ["run", d.run_id],
    queryFn: ({ signal }) => get<Run>(`/v1/runs/${segment(d.run_id ?? "")}`, {}, signal),
    enabled: Boolean(d.run_id),
  });
  return (
    <>
      <div className="head">
        <h1>
          {outcome}: <Text>{d.tool}</Text>
        </h1>
        <Chip kind={open ? "ask" : undefined}>{d.decision}</Chip>
        {d.code && <code>{d.code}</code>}
        <span className="grow" />
        <CopyId id={d.call_id} />
      </div>
      {d.message && (
        <section className="panel stack tight">
          <h2>{open ? "Why nothing was enforced" : "What the agent was told"}</h2>
          <pre>
            <Text lines>{d.message}</Text>
          </pre>
        </section>
      )}
      <div className="split">
        <section className="panel stack">
          <h2>Why</h2>
          <ol className="proof">
            <Step title="Who asked">
              <Text>{d.principal}</Text>
              {d.session_id && (
                <>
                  {" in session "}
                  <Link to="/decisions" search={{ session_id: d.session_id }}>
                    <Text>{d.session_id}</Text>
                  </Link>
                </>
              )}
            </Step>
            {d.run_id && (
              <Step
                title="In which state"
                verdict={
                  open
                    ? notEnforced
                    : d.explanation?.state
                      ? colour(d.explanation.state.verdict)
                      : !d.policy && d.decision === "DENY"
                        ? "deny"
                        : "ok"
                }
              >
                <Link to="/runs/$id" params={{ id: d.run_id }}>
                  <Text>{d.workflow}</Text>
                </Link>{" "}
                version {d.workflow_version}, state <strong>{visible(d.state ?? "")}</strong>
                {d.branch && (
                  <>
                    , branch <Text>{d.branch}</Text>
                  </>
                )}
                {!open && d.explanation?.state?.allowed_tools && (
                  <div>
                    Its tools: <Names names={d.explanation.state.allowed_tools} none="none" />
                  </div>
                )}
                {!open && d.explanation?.state?.matched && (
                  <div>
                    It names <code>{visible(d.explanation.state.matched)}</code>.
                  </div>
                )}
                {!open &&
                  d.explanation?.state?.calls?.map((c) => (
                    <div key={c.rule}>
                      Its condition on <code>{visible(c.pattern)}</code> {results[c.result]}.
                      <Comparisons label={`Condition ${visible(c.rule)}`} all={c.conditions ?? []} />
                    </div>
                  ))}
                {open ? (
                  <div>
                    Not enforced: <Text>{d.message}</Text>
                  </div>
                ) : (
                  d.explanation?.state?.message && (
                    <div>
                      <Text>{d.explanation.state.message}</Text>
                    </div>
                  )
                )}
              </Step>
            )}
            {d.explanation?.command && (
              <Step
                title="What the line would run"
                verdict={d.explanation.command.parts.every((p) => p.verdict === "ok") ? "ok" : "deny"}
              >
                <Command command={d.explanation.command} />
              </Step>
            )}
            {d.jail && (
              <Step title="In which jail" verdict="ok">
                Level {d.jail.level}: <Text>{held[d.jail.level] ?? "more than this console knows"}</Text>, profile{" "}
                <span className="mono small" title={d.jail.digest}>
                  <Text>{(d.jail.digest ?? "").replace(/^sha256:/, "").slice(0, 12)}</Text>
                </span>
              </Step>
            )}
            <Step title="Which capability">
              <code>
                <Text>{d.capability}</Text>
              </code>
            </Step>
            {d.explanation?.policies?.map((p) => (
              <Step key={`${p.policy}${p.scope}`} title="Which policy" verdict={colour(p.verdict)}>
                <Link to="/policies/$name" params={{ name: p.policy }}>
                  <Text>{p.policy}</Text>
                </Link>{" "}
                version {p.version}
                {p.scope && <span className="dim"> for {visible(p.scope)}</span>}
                <Rules rules={p.rules ?? []} />
              </Step>
            ))}
            {d.policy && !d.explanation?.policies?.length && (
              <Step title="Which rule" verdict={d.decision === "ALLOW" ? "ok" : d.decision === "ASK" ? "ask" : "deny"}>
                <Link to="/policies/$name" params={{ name: d.policy }}>
                  <Text>{d.policy}</Text>
                </Link>{" "}
                version {d.policy_version} <code>{visible(d.rule ?? "")}</code>
              </Step>
            )}
            {d.approval_id && (
              <Step title="Which approval" verdict="ask">
                <Link to="/approvals/$id" params={{ id: d.approval_id }}>
                  {d.approval_id}
                </Link>
              </Step>
            )}
            <Step
              title="So"
              verdict={open ? notEnforced : d.decision === "ALLOW" ? "ok" : d.decision === "ASK" ? "ask" : "deny"}
            >
              {outcome} <Time at={d.time} />
            </Step>
          </ol>
          {d.shadows?.length ? (
            <>
              <h3>What others on trial would have said</h3>
              <ul className="plain">
                {d.shadows.map((s) => (
                  <li key={`${s.policy}${s.workflow}${s.policy_version}`} className="row">
                    <Chip>{s.decision}</Chip>
                    <Text>{s.policy || s.workflow}</Text> <Text>{s.message}</Text>
                  </li>
                ))}
              </ul>
            </>
          ) : null}
        </section>
        <div className="stack">
          {d.explanation?.would_allow?.length ? (
            <section className="panel stack tight">
              <h2>What would have allowed it</h2>
              <ul>
                {d.explanation.would_allow.map((w) => (
                  <li key={w}>
                    <Text>{w}</Text>
                  </li>
                ))}
              </ul>
            </section>
          ) : null}
          {d.explanation?.limits?.length ? <Limits limits={d.explanation.limits} /> : null}
          {d.input !== undefined && d.input !== null && (
            <section className="panel stack tight">
              <h2>Input</h2>
              <Json value={d.input} label="Input" />
            </section>
          )}
          <section className="panel">
            <Facts
              facts={[
                ["Place in the log", `${visible(d.partition)} ${d.sequence}`],
                ["Digest of the input", d.input_digest && <code key="d">{d.input_digest}</code>],
                ["Hash in the chain", d.hash && <code key="h">{d.hash}</code>],
                ["Estimated cost", d.estimated_cost_usd && `${d.estimated_cost_usd} USD`],
              ]}
            />
          </section>
          {run.data && !["COMPLETED", "FAILED", "CANCELLED"].includes(run.data.status) && (
            <Try record={d} run={run.data} />
          )}
        </div>
      </div>
    </>
  );
}

const colour = (verdict: string | undefined) =>
  verdict?.toLowerCase() === "deny" ? "deny" : verdict?.toLowerCase() === "ask" ? "ask" : "ok";

type Explanation = NonNullable<Decision["explanation"]>;

/** The rules of a policy that were looked at, and the values of their conditions. */
function Rules({ rules }: { rules: NonNullable<NonNullable<Explanation["policies"]>[number]["rules"]> }) {
  if (rules.length === 0) return <div className="dim">No rule of it names this call.</div>;
  return (
    <ul className="plain tight">
      {rules.map((r) => (
        <li key={r.rule} className={r.matches || r.unclear ? "" : "dim"}>
          <span className="row">
            <Chip kind={r.matches || r.unclear ? colour(r.unclear ? "deny" : r.effect) : ""}>
              {r.unclear ? "in doubt" : r.matches ? r.effect : "does not match"}
            </Chip>
            {r.decides && <strong>decides</strong>}
            <code>
              <Text>{r.rule}</Text>
            </code>
            <code>
              <Text>{r.capability}</Text>
            </code>
            {r.id && <Text>{r.id}</Text>}
          </span>
          <Comparisons label={`Conditions of ${visible(r.id || r.rule)}`} all={r.conditions ?? []} />
        </li>
      ))}
    </ul>
  );
}

const results: Record<string, string> = { holds: "holds", fails: "does not hold", doubt: "is in doubt" };

type Comparison = Schemas["Condition"];

/** The result of a comparison for its rule: under not and unless, one that holds speaks against it. */
const outcomeOf = (c: Comparison) => (c.doubt ? "doubt" : c.holds === Boolean(c.negated) ? "does not hold" : "holds");

/** The comparisons of conditions: the value that each has looked at, and its result. */
function Comparisons({ label, all }: { label: string; all: Comparison[] }) {
  if (all.length === 0) return null;
  return (
    <Scroll label={label}>
      <table className="plain small">
        <thead>
          <tr>
            <th>looked at</th>
            <th>expected</th>
            <th>actual</th>
            <th>result</th>
          </tr>
        </thead>
        <tbody>
          {all.map((c, i) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: a rule may compare one value twice, and the list never changes
            <tr key={i}>
              <td>
                <code>
                  <Text>{c.field}</Text>
                </code>
              </td>
              <td>
                {c.negated && "not "}
                <code>
                  <Text>{c.expected}</Text>
                </code>
              </td>
              <td>{c.actual ? <code>{visible(c.actual)}</code> : <span className="dim">none</span>}</td>
              <td>
                <Chip kind={outcomeOf(c) === "holds" ? "ok" : outcomeOf(c) === "doubt" ? "ask" : "deny"}>
                  {outcomeOf(c)}
                </Chip>
                {c.doubt && (
                  <div className="small">
                    <Text>{`The rule ${c.doubt}`}</Text>
                  </div>
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </Scroll>
  );
}

/** The usage of the limits that the call counts towards. */
function Limits({ limits }: { limits: NonNullable<Explanation["limits"]> }) {
  return (
    <section className="panel stack tight">
      <h2>Limits, as they are now</h2>
      <Scroll label="Limits">
        <table className="plain">
          <thead>
            <tr>
              <th>limit</th>
              <th className="number">used</th>
              <th className="number">with this call</th>
              <th className="number">at most</th>
            </tr>
          </thead>
          <tbody>
            {limits.map((l) => (
              <tr key={`${l.policy}${l.rule}${l.measure}${l.scope}${l.subject}`}>
                <td>
                  <Text>{[l.measure, l.scope, l.subject].filter(Boolean).join(" ")}</Text>
                  {l.policy && (
                    <div className="small dim">
                      <Text>{`${l.policy} ${l.rule ?? ""}`}</Text>
                    </div>
                  )}
                </td>
                <td className="number">{l.used}</td>
                <td className="number">{l.after}</td>
                <td className="number">
                  {l.max} {l.unit}
                  {l.resets_at && (
                    <div className="small dim">
                      again <Time at={l.resets_at} />
                    </div>
                  )}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
    </section>
  );
}

const said: Record<string, string> = { ok: "passes", ask: "asks", [notEnforced]: "not enforced" };

function Step({ title, verdict, children }: { title: string; verdict?: string; children: ReactNode }) {
  return (
    <li>
      <div className="row">
        <span className="dim small">{title}</span>
        {verdict && <Chip kind={verdict === notEnforced ? "ask" : verdict}>{said[verdict] ?? "refuses"}</Chip>}
      </div>
      <div>{children}</div>
    </li>
  );
}

/** Asks for a decision on other arguments now, as a dry run. */
function Try({ record, run }: { record: Decision; run: Run }) {
  const [tool, setTool] = useState(record.tool);
  const [input, setInput] = useState(escaped(pretty(record.input ?? {})));
  const attempt = useMutation({
    mutationFn: () =>
      ask<Schemas["Decision"]>(`/v1/runs/${segment(run.run_id)}/check`, {
        tool,
        input: parse(input),
        dry_run: true,
        explain: true,
        branch: record.branch,
      }),
  });
  return (
    <section className="panel stack">
      <h2>Try it with other arguments</h2>
      <p className="small dim">
        It is only decided: nothing is counted, logged or asked. The run is in state {visible(run.state)} now.
      </p>
      <label className="field">
        Tool
        <input value={tool} onChange={(e) => setTool(e.target.value)} />
      </label>
      <label className="field">
        Input
        <textarea rows={5} spellCheck={false} value={input} onChange={(e) => setInput(e.target.value)} />
      </label>
      <div className="row">
        <button type="button" onClick={() => attempt.mutate()} disabled={attempt.isPending}>
          Decide
        </button>
        {attempt.data && <Chip>{attempt.data.decision}</Chip>}
        {attempt.data?.code && <code>{attempt.data.code}</code>}
      </div>
      {attempt.data?.message && (
        <pre>
          <Text lines>{attempt.data.message}</Text>
        </pre>
      )}
      {attempt.data?.explanation?.command && <Command command={attempt.data.explanation.command} />}
      {attempt.error ? <Failure error={attempt.error} /> : null}
    </section>
  );
}
