import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { type Approval, get, type Schemas, segment } from "../../api/client";
import { differences } from "../../api/json";
import { Chip, CopyId, Facts, Loaded, Names, Text, Time, useNow } from "../../ui/basics";
import { Change } from "../../ui/change";
import { visible } from "../../ui/visible";
import { Decide } from "./decide";
import { circle, escalation, facts, What, Why, who } from "./request";
import { of, titleOf } from "./subject";

/** One approval, and the decision. */
export function Card({ id }: { id: string }) {
  const query = useQuery({
    queryKey: ["approval", id],
    queryFn: ({ signal }) => get<Approval>(`/v1/approvals/${segment(id)}`, {}, signal),
  });
  return <Loaded query={query}>{(a) => <Shown approval={a} />}</Loaded>;
}

function Shown({ approval: a }: { approval: Approval }) {
  const now = useNow();
  const run = useQuery({
    queryKey: ["run", a.run_id],
    queryFn: ({ signal }) => get<Schemas["Run"]>(`/v1/runs/${segment(a.run_id ?? "")}`, {}, signal),
    enabled: Boolean(a.run_id),
  });
  const changed = a.edited_data === undefined ? [] : differences(a.data, a.edited_data);
  const left = a.expires_at ? new Date(a.expires_at).getTime() - now : 1;
  return (
    <article className="panel stack" aria-label={`Approval ${a.approval_id}`}>
      <div className="head">
        <h2>{titleOf(a)}</h2>
        <Chip>{a.status}</Chip>
        <span className="grow" />
        <CopyId id={a.approval_id} />
      </div>
      {a.message && (
        <p>
          <Text lines>{a.message}</Text>
        </p>
      )}
      {a.status === "PENDING" && a.nobody_can_answer && (
        <p className="notice warn" role="status">
          No one can approve this now: <Text>{a.nobody_can_answer}</Text>
        </p>
      )}
      <What approval={a} />
      {changed.length > 0 && (
        <section className="stack tight">
          <h3>
            Changed by <Text>{a.edited_by}</Text>
          </h3>
          {changed.map((d) => (
            <div key={d.pointer}>
              <code>
                <Text>{d.pointer || "the whole"}</Text>
              </code>
              <Change before={d.before} after={d.after} />
            </div>
          ))}
        </section>
      )}
      <Facts
        facts={[
          [
            "Asked by",
            <>
              <Text>{a.asker.principal}</Text>
              {a.asker.session_id && (
                <span className="dim">
                  {" "}
                  in session <Text>{a.asker.session_id}</Text>
                </span>
              )}
            </>,
          ],
          ["Asked", <Time key="t" at={a.created_at} />],
          [
            "Run",
            a.run_id && (
              <Link to="/runs/$id" params={{ id: a.run_id }}>
                {visible(run.data ? `${run.data.workflow} in ${run.data.state}` : a.run_id)}
              </Link>
            ),
          ],
          ["Why it is asked", <Why key="w" approval={a} />],
          [
            "Approving lets the run",
            a.kind === "transition" ? (
              <>
                go on to <Text>{of(a, "to")}</Text>
                {a.unlocks?.allowed_tools ? (
                  <>
                    , where it may use <Names names={a.unlocks.allowed_tools} none="no tool" />
                  </>
                ) : a.unlocks ? (
                  ", where it may use any tool that no rule forbids"
                ) : (
                  ""
                )}
              </>
            ) : a.kind === "tool_call" ? (
              "make exactly this call, once"
            ) : (
              "take this step"
            ),
          ],
          ["What it does", facts(a)],
          ["Who may decide", who(a)],
          ["Votes needed", a.terms.required > 1 ? `${a.terms.required}; ${a.votes.length} so far` : ""],
          ["By a term", (a.terms.also ?? []).map(circle).join("; ")],
          [
            "Without a decision",
            a.status === "PENDING" && a.expires_at ? (
              <>
                {a.escalates_at && (
                  <>
                    it is put to {visible(escalation(a))} <Time at={a.escalates_at} />, and{" "}
                  </>
                )}
                it is refused <Time at={a.expires_at} />
              </>
            ) : (
              ""
            ),
          ],
          ["Escalated", a.escalated ? "yes" : ""],
          ["Decided", a.decided_at && <Time at={a.decided_at} />],
          ["Used", a.used_at && <Time at={a.used_at} />],
          ["Outcome", a.status !== "PENDING" && a.outcome ? <Text key="o">{a.outcome}</Text> : ""],
        ]}
      />
      <Previous approval={a} />
      {a.run_id && <Steps run={a.run_id} />}
      {a.votes.length > 0 && (
        <ul className="plain" aria-label="Votes">
          {a.votes.map((v) => (
            <li key={`${v.by}${v.time}`} className="item">
              <span className="row">
                <Chip kind={v.approve ? "ok" : "deny"}>{v.approve ? "approved" : "rejected"}</Chip>
                <strong>
                  <Text>{v.by}</Text>
                </strong>
                {through(v) && (
                  <span className="dim">
                    <Text>{`(${through(v)})`}</Text>
                  </span>
                )}
                <span className="dim small">
                  <Time at={v.time} />
                </span>
                {v.signature && (
                  <Chip kind="ok">{v.signature.passkey ? "signed by passkey" : "signed by SSH key"}</Chip>
                )}
              </span>
              {v.note && (
                <pre>
                  <Text lines>{v.note}</Text>
                </pre>
              )}
            </li>
          ))}
        </ul>
      )}
      {a.status === "PENDING" && left > 0 ? <Decide approval={a} /> : null}
      {a.status === "PENDING" && left <= 0 ? <p className="notice warn">Its time is over.</p> : null}
    </article>
  );
}

/** The way of a vote to its person: the identity and the program that has passed it on, or another token's name. */
const through = (v: Approval["votes"][number]) =>
  v.relay ? `${v.identity}, by relay ${v.relay}` : v.principal ? `by the token ${v.principal}` : "";

/** The earlier steps of the run: the newest of its history. */
function Steps({ run }: { run: string }) {
  const history = useQuery({
    queryKey: ["history", run, "latest"],
    queryFn: async ({ signal }) => {
      let entries: Schemas["HistoryEntry"][] = [];
      let after: { after_version?: number; after_result?: number } | undefined = {};
      while (after) {
        const page: Schemas["History"] = await get(
          `/v1/runs/${segment(run)}/history`,
          { page_size: 500, ...after },
          signal,
        );
        entries = [...entries, ...page.entries].slice(-10);
        after = page.next_after_version
          ? { after_version: page.next_after_version, after_result: page.next_after_result }
          : undefined;
      }
      return entries.reverse();
    },
  });
  if (!history.data?.length) return null;
  return (
    <details>
      <summary>What the run did before</summary>
      <ul className="plain">
        {history.data.map((e) => (
          <li key={`${e.run_version}.${e.tool_result?.number ?? ""}.${e.type}`} className="item">
            <span className="row">
              <strong>{e.type}</strong>
              {e.event && <Text>{e.event}</Text>}
              {e.to && (
                <span>
                  to <Text>{e.to}</Text>
                </span>
              )}
              {e.tool_result && <Text>{e.tool_result.tool}</Text>}
              <span className="grow" />
              <span className="dim small">
                <Text>{e.actor}</Text> <Time at={e.time} />
              </span>
            </span>
            {(e.rationale || e.reason) && (
              <span className="small">
                <Text lines>{e.rationale || e.reason}</Text>
              </span>
            )}
          </li>
        ))}
      </ul>
    </details>
  );
}

/** The differences from the last approval. */
function Previous({ approval: a }: { approval: Approval }) {
  const before = a.previous;
  if (!before) return null;
  const changed = differences(before.data, a.edited_data ?? a.data);
  return (
    <details open={changed.length > 0 && changed.length < 8}>
      <summary>
        {changed.length === 0 ? "The same was approved" : "What differs from the last that was approved"}
        {before.decided_by && (
          <>
            {" by "}
            <Text>{before.decided_by}</Text>
          </>
        )}{" "}
        <Time at={before.decided_at} />
      </summary>
      <Link className="small" to="/approvals/$id" params={{ id: before.approval_id }}>
        {before.approval_id}
      </Link>
      {changed.map((d) => (
        <div key={d.pointer}>
          <code>
            <Text>{d.pointer || "the whole"}</Text>
          </code>
          <Change before={d.before} after={d.after} />
        </div>
      ))}
    </details>
  );
}
