import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link, useParams, useSearch } from "@tanstack/react-router";
import { type ReactNode, useState } from "react";
import { ask, change, get, type Run, type Schemas, segment } from "../api/client";
import { parse, pretty } from "../api/json";
import { useSession } from "../shell";
import { Chip, CopyId, Facts, Failure, Json, Loaded, Names, Scroll, Text, Time, useTitle } from "../ui/basics";
import { Command } from "../ui/command";
import { absolute } from "../ui/time";
import { escaped, visible } from "../ui/visible";
import { causeOf, type Fix, fixOf, notKept } from "./cause";
import { GrantException } from "./exceptions";
import { mayHalt } from "./halts";
import { Act, Halts, PauseButton } from "./run/actions";
import { notEnforced } from "./standing";
import "./run/run.css";
import "./decision.css";

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

/** A record of a decision, with whether its input was cut. */
type Decision = Schemas["DecisionDetail"] & { input_truncated?: boolean };

const words: Record<string, string> = { ALLOW: "Allowed", ASK: "Put to a human", DENY: "Denied" };

/** The protection at a level of the jail (S20.2). */
const held: Record<number, string> = {
  1: "files",
  2: "files, signals and ports",
  3: "files, signals, processes and the network",
};

const over = ["COMPLETED", "FAILED", "CANCELLED"];

function Shown({ record: d }: { record: Decision }) {
  const open = d.code === notEnforced;
  const outcome = open ? "Allowed, not enforced" : words[d.decision];
  const run = useQuery({
    queryKey: ["run", d.run_id],
    queryFn: ({ signal }) => get<Run>(`/v1/runs/${segment(d.run_id ?? "")}`, {}, signal),
    enabled: Boolean(d.run_id),
  });
  const session = useSession();
  const fix = fixOf(d);
  const goes = run.data && !over.includes(run.data.status) ? run.data : undefined;
  return (
    <>
      <div className="head">
        <h1>
          {outcome}: <Text>{d.tool}</Text>
        </h1>
        <Chip>{open ? d.code : d.decision}</Chip>
        {d.code && !open && <code>{d.code}</code>}
        <span className="grow" />
        <CopyId id={d.call_id} />
      </div>
      <section className={open ? "notice bad cause" : "panel cause"} aria-label="Cause and fix">
        <p className="why">
          <Text>{causeOf(d)}</Text>
        </p>
        {fix && <Mend record={d} fix={fix} />}
      </section>
      <div className="split">
        <section className="panel stack" aria-label="What it rests on">
          <h2>What it rests on</h2>
          <Leaves record={d} open={open} />
        </section>
        <div className="stack">
          <section className="panel stack tight">
            <h2>Input</h2>
            {d.input !== undefined && d.input !== null ? (
              <>
                <Json value={d.input} label="Input" />
                {d.input_truncated && (
                  <p className="small dim">It is cut: the log keeps the beginning of a large input.</p>
                )}
              </>
            ) : (
              <p className="dim">The input was not kept: {notKept(d)}.</p>
            )}
          </section>
          <section className="panel stack tight" aria-label="Who, when and where">
            <h2>Who, when and where</h2>
            <Where record={d} />
          </section>
          {mayHalt(session) && (
            <section className="panel stack tight" aria-label="Act">
              <h2>Act</h2>
              <ul className="plain">
                {goes && (
                  <Act button={<PauseButton run={goes} />}>
                    {["PAUSED", "HELD"].includes(goes.status)
                      ? "Lets this run go on by its rules: 1 run."
                      : "Denies every call of this run until someone resumes it: 1 run."}
                  </Act>
                )}
                <Halts session={d.session_id} principal={d.principal} />
                {d.lease_id && <ReleaseLease id={d.lease_id} run={run.data} />}
              </ul>
            </section>
          )}
          {goes && <Try record={d} run={goes} />}
        </div>
      </div>
      <Proof record={d} />
    </>
  );
}

/** A change that would have allowed the call, with links to make it. */
function Mend({ record: d, fix }: { record: Decision; fix: Fix }) {
  return (
    <div className="stack tight">
      <h2>What would have allowed it</h2>
      <p>
        <Text>{fix.text}</Text>
      </p>
      <div className="row">
        {fix.workflow && d.workflow && (
          <Link
            className="button"
            to="/new/workflow"
            search={{ from: d.workflow, version: String(d.workflow_version), at: fix.workflow }}
          >
            Edit the workflow there
          </Link>
        )}
        {fix.policy && (
          <>
            <Link
              className="button"
              to="/policies/$name"
              params={{ name: fix.policy.name }}
              search={{ at: fix.policy.pointer || "/" }}
            >
              Edit the policy there
            </Link>
            <GrantException
              policy={fix.policy.name}
              rule={fix.policy.pointer}
              session={d.session_id}
              principal={d.principal}
            />
          </>
        )}
        {d.decision === "ASK" && d.approval_id && (
          <Link className="button" to="/approvals/$id" params={{ id: d.approval_id }}>
            The approval
          </Link>
        )}
      </div>
    </div>
  );
}

/** The rules that were looked at, down to the values of their conditions. */
function Leaves({ record: d, open }: { record: Decision; open: boolean }) {
  const e = d.explanation;
  const policies = e?.policies ?? [];
  const nothing = !d.run_id && policies.length === 0 && !e?.limits?.length;
  return (
    <ol className="proof">
      {d.run_id && (
        <Step
          title="State"
          verdict={
            open ? notEnforced : e?.state ? colour(e.state.verdict) : !d.policy && d.decision === "DENY" ? "deny" : "ok"
          }
        >
          <strong>{visible(d.state ?? "")}</strong>
          {!open && e?.state?.allowed_tools && (
            <div>
              Its tools: <Names names={e.state.allowed_tools} none="none" />
            </div>
          )}
          {!open && e?.state?.matched && (
            <div>
              It names <code>{visible(e.state.matched)}</code>.
            </div>
          )}
          {!open &&
            e?.state?.calls?.map((c) => (
              <div key={c.rule}>
                Its condition on <code>{visible(c.pattern)}</code> {results[c.result]}.
                <Comparisons label={`Condition ${visible(c.rule)}`} all={c.conditions ?? []} />
              </div>
            ))}
        </Step>
      )}
      {e?.command && (
        <Step title="Command line" verdict={e.command.parts.every((p) => p.verdict === "ok") ? "ok" : "deny"}>
          <Command command={e.command} brief />
        </Step>
      )}
      {d.jail && (
        <Step title="Jail" verdict="ok">
          Level {d.jail.level}: <Text>{held[d.jail.level] ?? "more than this console knows"}</Text>
        </Step>
      )}
      {policies.map((p) => (
        <Step key={`${p.policy}${p.scope}`} title="Policy" verdict={colour(p.verdict)}>
          <Link to="/policies/$name" params={{ name: p.policy }}>
            <Text>{p.policy}</Text>
          </Link>{" "}
          version {p.version}
          {p.scope && <span className="dim"> for {visible(p.scope)}</span>}
          <Rules rules={p.rules ?? []} />
        </Step>
      ))}
      {d.policy && policies.length === 0 && (
        <Step title="Rule" verdict={d.decision === "ALLOW" ? "ok" : d.decision === "ASK" ? "ask" : "deny"}>
          <Link to="/policies/$name" params={{ name: d.policy }}>
            <Text>{d.policy}</Text>
          </Link>{" "}
          version {d.policy_version} <code>{visible(d.rule ?? "")}</code>
        </Step>
      )}
      {d.exceptions?.length ? (
        <Step title="Exceptions" verdict="ok">
          <Names names={d.exceptions} none="none" />
        </Step>
      ) : null}
      {d.lease_id && (
        <Step title="Lease" verdict="ok">
          <code>{visible(d.lease_id)}</code>
        </Step>
      )}
      {d.approval_id && (
        <Step title="Approval" verdict="ask">
          <Link to="/approvals/$id" params={{ id: d.approval_id }}>
            {d.approval_id}
          </Link>
        </Step>
      )}
      {e?.limits?.length ? (
        <li>
          <Limits limits={e.limits} />
        </li>
      ) : null}
      {d.shadows?.map((s) => (
        <Step key={`${s.policy}${s.workflow}${s.policy_version}`} title="On trial, it would have said">
          <span className="row">
            <Chip>{s.decision}</Chip>
            <Text>{s.policy || s.workflow}</Text> <Text>{s.message}</Text>
          </span>
        </Step>
      ))}
      {nothing && <li className="dim">No rule looked at it.</li>}
    </ol>
  );
}

function Where({ record: d }: { record: Decision }) {
  return (
    <>
      <Facts
        facts={[
          ["When", <Moment key="t" at={d.time} />],
          [
            "Run",
            d.run_id && (
              <Link key="r" to="/runs/$id" params={{ id: d.run_id }}>
                <Text>{d.workflow}</Text>
              </Link>
            ),
          ],
          ["Version", d.run_id && String(d.workflow_version)],
          ["State", d.state && <Text key="s">{d.state}</Text>],
          ["Branch", d.branch && <Text key="b">{d.branch}</Text>],
          [
            "Session",
            d.session_id && (
              <Link key="s" to="/decisions" search={{ session_id: d.session_id }}>
                <Text>{d.session_id}</Text>
              </Link>
            ),
          ],
          [
            "Capability",
            <code key="c">
              <Text>{d.capability}</Text>
            </code>,
          ],
          ["Estimated cost", d.estimated_cost_usd && `${d.estimated_cost_usd} USD`],
          ...(d.identity ? callerOf(d.identity) : [["Principal", <Text key="p">{d.principal}</Text>] as Fact]),
        ]}
      />
      {d.message && !(d.code === notEnforced) && (
        <details>
          <summary className="small">What the agent was told</summary>
          <pre>
            <Text lines>{d.message}</Text>
          </pre>
        </details>
      )}
    </>
  );
}

/** A moment: how long ago, and when by the clock. */
function Moment({ at }: { at: string }) {
  return (
    <>
      <Time at={at} /> <span className="dim">{absolute(at)}</span>
    </>
  );
}

/** The hashes by which the record can be checked. No line breaks one. */
function Proof({ record: d }: { record: Decision }) {
  const hashes: [string, string | undefined][] = [
    ["Digest of the input", d.input_digest],
    ["Hash in the chain", d.hash],
    ["Profile of the jail", d.jail?.digest],
  ];
  return (
    <details className="panel hashes">
      <summary>Proof</summary>
      <Facts
        facts={[
          ["Place in the log", `${visible(d.partition)}, record ${d.sequence}`],
          ...hashes.map(([name, hash]): [string, ReactNode] => [
            name,
            hash ? (
              // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard
              <section key={name} className="hash" tabIndex={0} aria-label={name}>
                <code>{hash}</code>
              </section>
            ) : name === "Hash in the chain" ? (
              "not sealed yet"
            ) : (
              ""
            ),
          ]),
        ]}
      />
    </details>
  );
}

/** Ends a lease before its time. */
function ReleaseLease({ id, run }: { id: string; run: Run | undefined }) {
  const client = useQueryClient();
  const session = useSession();
  const lease = run?.leases?.find((l) => l.lease_id === id);
  const revoke = useMutation({
    mutationFn: () => change("DELETE", `/v1/leases/${segment(id)}`),
    onSettled: () => client.invalidateQueries({ queryKey: ["run"] }),
  });
  if (session.read_only || !lease) return null;
  return (
    <Act
      button={
        <button type="button" disabled={revoke.isPending} onClick={() => revoke.mutate()}>
          Release the lease
        </button>
      }
    >
      Calls like this one are asked about again. It has {lease.calls_left} calls left, in this run only.
      {revoke.error ? <Failure error={revoke.error} /> : null}
    </Act>
  );
}

const colour = (verdict: string | undefined) =>
  verdict?.toLowerCase() === "deny" ? "deny" : verdict?.toLowerCase() === "ask" ? "ask" : "ok";

type Fact = [name: string, value: ReactNode];

/** The role, token and way of a caller, its tree of sessions, and on whose behalf it acted, as known at the time. */
function callerOf(who: NonNullable<Decision["identity"]>): Fact[] {
  const human = who.human && [who.human.source, who.human.issuer].filter(Boolean).join(", ");
  return [
    ["Principal", <Text key="p">{who.principal}</Text>],
    ["Role", <Text key="r">{[who.role, who.token && `${who.token} token`].filter(Boolean).join(", ")}</Text>],
    ["Person", who.person && <Text key="n">{who.person}</Text>],
    [
      "Human",
      who.human ? (
        <>
          <strong>{visible(who.human.name)}</strong> <Text>{`(${human})`}</Text>
        </>
      ) : (
        "not known on whose behalf"
      ),
    ],
    [
      "Attributes",
      who.attributes &&
        Object.keys(who.attributes).length > 0 &&
        Object.entries(who.attributes).map(([name, value]) => (
          <div key={name}>
            <Text>{`${name}: ${value}`}</Text>
          </div>
        )),
    ],
    ["Agent", who.agent && <Text key="a">{`${who.agent} version ${who.agent_version ?? 0}`}</Text>],
    ["Root", who.root_session && <Text key="s">{who.root_session}</Text>],
    ["Lineage", (who.lineage?.length ?? 0) > 1 && <Text key="l">{who.lineage?.join(" > ")}</Text>],
    ["Via", who.via && <Text key="v">{who.via}</Text>],
  ];
}

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
    <section className="stack tight" aria-label="Limits, as they are now">
      <span className="dim small">Limits, as they are now</span>
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
        {verdict && <Chip kind={verdict === notEnforced ? "deny" : verdict}>{said[verdict] ?? "refuses"}</Chip>}
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
