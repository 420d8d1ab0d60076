import { useMutation, useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { get, type Schemas } from "../api/client";
import { Chip, download, Empty, Facts, Failure, Loaded, Scroll, Text, Time, useTitle } from "../ui/basics";

/** Whether the log is complete, the acts of people, and the health of the services. */
export function Health() {
  useTitle("Audit and health");
  const system = useQuery({
    queryKey: ["system"],
    queryFn: ({ signal }) => get<Schemas["System"]>("/v1/system", {}, signal),
    refetchInterval: 10_000,
  });
  const people = useQuery({
    queryKey: ["principals"],
    queryFn: ({ signal }) => get<Schemas["PrincipalList"]>("/v1/principals", {}, signal),
    refetchInterval: (q) => (q.state.data?.complete === false ? 1000 : 30_000),
  });
  return (
    <>
      <div className="head">
        <h1>Audit and health</h1>
        <span className="grow" />
        <Bundle />
      </div>
      <div className="split">
        <div className="stack">
          <Chains />
          <section className="panel stack">
            <h2>Who did what</h2>
            <Loaded query={people}>
              {(p) => (
                <>
                  {p.principals.length === 0 ? (
                    <Empty>No actions yet.</Empty>
                  ) : (
                    <Scroll label="Who did what">
                      <table className="plain">
                        <thead>
                          <tr>
                            <th>who</th>
                            <th className="number">allowed</th>
                            <th className="number">asked</th>
                            <th className="number">denied</th>
                            <th className="number">transitions</th>
                            <th className="number">approvals</th>
                            <th className="number">other changes</th>
                            <th>seen</th>
                          </tr>
                        </thead>
                        <tbody>
                          {p.principals.map((x) => (
                            <tr key={x.name}>
                              <td>
                                <Text>{x.name}</Text>
                              </td>
                              <td className="number">{x.allow}</td>
                              <td className="number">{x.ask}</td>
                              <td className="number">{x.deny}</td>
                              <td className="number">{x.transitions}</td>
                              <td className="number">{x.approvals}</td>
                              <td className="number">{x.changes}</td>
                              <td>
                                <Time at={x.last_at} />
                              </td>
                            </tr>
                          ))}
                        </tbody>
                      </table>
                    </Scroll>
                  )}
                  {p.since && (
                    <p className="small dim">
                      Derived from events since <Time at={p.since} />
                      {p.complete ? "." : "; earlier ones are still being read."}
                    </p>
                  )}
                </>
              )}
            </Loaded>
          </section>
        </div>
        <section className="panel stack">
          <h2>Services</h2>
          <Loaded query={system}>
            {(s) => (
              <>
                <Facts
                  facts={[
                    ["Version", s.version],
                    [
                      "Calls",
                      <Chip key="r" kind={s.ready ? "ok" : "deny"}>
                        {s.ready ? "are answered" : "would fail"}
                      </Chip>,
                    ],
                  ]}
                />
                <ul className="plain">
                  {s.checks.map((c) => (
                    <li key={c.name} className="row">
                      <Chip>{c.status}</Chip> <Text>{c.name}</Text>
                      {!c.required && <span className="dim small">calls work without it</span>}
                    </li>
                  ))}
                </ul>
                <Processes all={s.processes} />
              </>
            )}
          </Loaded>
          <p className="small">
            <Link to="/decisions">Search the decisions</Link>, and export them there.
          </p>
        </section>
      </div>
    </>
  );
}

/** The processes of all services, as they announce themselves. */
function Processes({ all }: { all: Schemas["Heard"][] }) {
  if (all.length === 0) {
    return <p className="small dim">No process has announced itself on NATS yet.</p>;
  }
  return (
    <Scroll label="Processes">
      <table className="plain">
        <thead>
          <tr>
            <th>service</th>
            <th>process</th>
            <th>version</th>
            <th>started</th>
            <th className="number">events that wait</th>
            <th className="number">timers late</th>
            <th>heard</th>
          </tr>
        </thead>
        <tbody>
          {all.map((p) => (
            <tr key={`${p.service} ${p.instance}`}>
              <td>
                <Chip kind={p.silent || !p.ready ? "deny" : "ok"}>
                  {p.silent ? "silent" : p.ready ? "ready" : "not ready"}
                </Chip>{" "}
                <Text>{p.service}</Text>
                {p.down.length > 0 && <span className="dim small"> cannot reach {p.down.join(", ")}</span>}
              </td>
              <td>
                <Text>{p.instance}</Text>
              </td>
              <td>
                <Text>{p.version}</Text>
              </td>
              <td>
                <Time at={p.started_at} />
              </td>
              <td
                className="number"
                title={p.outbox && `${p.outbox.shards} shards; the oldest event waits ${p.outbox.oldest_seconds} s`}
              >
                {p.outbox ? p.outbox.waiting + p.outbox.unattended : "–"}
              </td>
              <td className="number" title={lateness(p.timers)}>
                {p.timers.length > 0 ? p.timers.reduce((n, t) => n + t.overdue, 0) : "–"}
              </td>
              <td>
                <Time at={p.heard_at} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </Scroll>
  );
}

/** How late the timers of each sweeper are. */
const lateness = (timers: Schemas["Timers"][]) =>
  timers.map((t) => `${t.kind}: ${t.overdue} late, ${t.fired} fired, ${t.failed} failed`).join("\n");

/** Verifies the seals of the log, chain after chain. */
function Chains() {
  const verify = useMutation({
    mutationFn: async () => {
      const chains: Schemas["ChainReport"][] = [];
      let token = "";
      let ok = true;
      do {
        const page = await get<Schemas["Verification"]>("/v1/audit/verify", { page_token: token || undefined });
        chains.push(...page.chains);
        ok &&= page.ok;
        token = page.next_page_token ?? "";
      } while (token);
      return { ok, chains };
    },
  });
  const result = verify.data;
  return (
    <section className="panel stack">
      <div className="head">
        <h2>The log</h2>
        {result && <Chip kind={result.ok ? "ok" : "deny"}>{result.ok ? "whole" : "changed"}</Chip>}
        <span className="grow" />
        <button type="button" onClick={() => verify.mutate()} disabled={verify.isPending}>
          {verify.isPending ? "Verifying…" : "Verify"}
        </button>
      </div>
      <p className="small dim">Every decision is chained to the one before it. Verifying computes each seal again.</p>
      {verify.error ? <Failure error={verify.error} /> : null}
      {result && (
        <>
          <p>
            {result.chains.length} chains, {result.chains.reduce((n, c) => n + (c.sealed ?? 0), 0)} decisions sealed,{" "}
            {result.chains.reduce((n, c) => n + (c.unsealed ?? 0), 0)} not yet.
          </p>
          <ul className="plain">
            {[...result.chains]
              .sort((a, b) => Number(a.ok) - Number(b.ok))
              .slice(0, 100)
              .map((c) => (
                <li key={c.partition} className="item">
                  <span className="row">
                    <Chip kind={c.ok ? "ok" : "deny"}>{c.ok ? "whole" : "changed"}</Chip>
                    <Text>{c.partition}</Text>
                    <span className="dim">{c.sequence} decisions</span>
                  </span>
                  {c.problem && <Text>{c.problem}</Text>}
                  {c.head && (
                    <code className="small">
                      <Text>{c.head}</Text>
                    </code>
                  )}
                </li>
              ))}
          </ul>
        </>
      )}
    </section>
  );
}

/** The data for a helper: no payloads, no tokens. */
function Bundle() {
  const collect = useMutation({
    mutationFn: async () => {
      const [system, stats, principals] = await Promise.all([
        get("/v1/system"),
        get<Schemas["Stats"]>("/v1/stats"),
        get("/v1/principals"),
      ]);
      const waiting = stats.waiting.map((a) => ({
        approval_id: a.approval_id,
        kind: a.kind,
        run_id: a.run_id,
        created_at: a.created_at,
      }));
      const bundle = { made_at: new Date().toISOString(), system, stats: { ...stats, waiting }, principals };
      download("interlock-incident.json", `${JSON.stringify(bundle, null, 2)}\n`, "application/json");
    },
  });
  return (
    <>
      <button type="button" onClick={() => collect.mutate()} disabled={collect.isPending}>
        Save an incident bundle
      </button>
      {collect.error ? <Failure error={collect.error} /> : null}
    </>
  );
}
