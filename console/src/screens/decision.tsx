import { useMutation, useQuery } from "@tanstack/react-query";
import { Link, useParams } from "@tanstack/react-router";
import { type ReactNode, useState } from "react";
import { ask, type DecisionRecord, get, type Run, type Schemas, segment } from "../api/client";
import { parse, pretty } from "../api/json";
import { Chip, CopyId, Empty, Facts, Failure, Json, Loaded, Text, Time, useTitle } from "../ui/basics";
import { visible } from "../ui/visible";
import { Names } from "./run";

/** One call: what was decided, and by what. */
export function DecisionPage() {
  const { run, call } = useParams({ strict: false }) as { run: string; call: string };
  useTitle("Decision");
  const query = useQuery({
    queryKey: ["decisions", "of", run, call],
    queryFn: async ({ signal }) => {
      let token = "";
      // The list of a run is short; its pages are read until the call is found.
      do {
        const page = await get<Schemas["DecisionList"]>(
          "/v1/decisions",
          { run_id: run === "-" ? undefined : run, page_size: 500, page_token: token || undefined },
          signal,
        );
        const found = page.decisions.filter((d) => d.call_id === call);
        if (found.length > 0) return found;
        token = page.next_page_token ?? "";
      } while (token);
      return [];
    },
  });
  return (
    <Loaded query={query}>
      {(found) =>
        found[0] ? (
          <Shown record={found[0]} />
        ) : (
          <Empty>The log has no such call; it may be older than what is kept.</Empty>
        )
      }
    </Loaded>
  );
}

const words: Record<string, string> = { ALLOW: "Allowed", ASK: "Put to a human", DENY: "Denied" };

function Shown({ record: d }: { record: DecisionRecord }) {
  const run = useQuery({
    queryKey: ["run", d.run_id],
    queryFn: ({ signal }) => get<Run>(`/v1/runs/${segment(d.run_id ?? "")}`, {}, signal),
    enabled: Boolean(d.run_id),
  });
  return (
    <>
      <div className="head">
        <h1>
          {words[d.decision]}: <Text>{d.tool}</Text>
        </h1>
        <Chip>{d.decision}</Chip>
        {d.code && <code>{d.code}</code>}
        <span className="grow" />
        <CopyId id={d.call_id} />
      </div>
      {d.message && (
        <section className="panel stack tight">
          <h2>What the agent was told</h2>
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
              <Step title="In which state" verdict={d.policy ? "ok" : d.decision === "DENY" ? "deny" : "ok"}>
                <Link to="/runs/$id" params={{ id: d.run_id }}>
                  <Text>{d.workflow}</Text>
                </Link>{" "}
                version {d.workflow_version}, state <strong>{visible(d.state ?? "")}</strong>
                {d.branch && (
                  <>
                    , branch <Text>{d.branch}</Text>
                  </>
                )}
                {run.data && run.data.state === d.state && run.data.allowed_tools && (
                  <div>
                    Its tools: <Names names={run.data.allowed_tools} none="none" />
                  </div>
                )}
              </Step>
            )}
            <Step title="Which capability">
              <code>
                <Text>{d.capability}</Text>
              </code>
            </Step>
            {d.policy && (
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
            <Step title="So" verdict={d.decision === "ALLOW" ? "ok" : d.decision === "ASK" ? "ask" : "deny"}>
              {words[d.decision]} <Time at={d.time} />
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

function Step({ title, verdict, children }: { title: string; verdict?: string; children: ReactNode }) {
  return (
    <li>
      <div className="row">
        <span className="dim small">{title}</span>
        {verdict && <Chip kind={verdict}>{verdict === "ok" ? "passes" : verdict === "ask" ? "asks" : "refuses"}</Chip>}
      </div>
      <div>{children}</div>
    </li>
  );
}

/** Asks what would be decided now on other arguments; nothing is counted, logged or asked. */
function Try({ record, run }: { record: DecisionRecord; run: Run }) {
  const [tool, setTool] = useState(record.tool);
  const [input, setInput] = useState(pretty(record.input ?? {}));
  const attempt = useMutation({
    mutationFn: () =>
      ask<Schemas["Decision"]>(`/v1/runs/${segment(run.run_id)}/check`, {
        tool,
        input: parse(input),
        dry_run: true,
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
      {attempt.error ? <Failure error={attempt.error} /> : null}
    </section>
  );
}
