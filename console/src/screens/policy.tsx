import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link, useParams } from "@tanstack/react-router";
import { useState } from "react";
import { ask, change, get, type Schemas, segment } from "../api/client";
import { useSession } from "../shell";
import { Chip, Empty, Facts, Failure, Json, Loaded, Text, Time, useTitle } from "../ui/basics";
import { Confirm } from "../ui/dialog";
import { visible } from "../ui/visible";

/** A policy: its rules, where it holds, its usage, and the effects of a new version. */
export function PolicyPage() {
  const { name } = useParams({ strict: false }) as { name: string };
  useTitle(name);
  const query = useQuery({
    queryKey: ["policy", name],
    queryFn: ({ signal }) => get<Schemas["Policy"]>(`/v1/policies/${segment(name)}`, {}, signal),
  });
  return <Loaded query={query}>{(p) => <Shown policy={p} />}</Loaded>;
}

function Shown({ policy: p }: { policy: Schemas["Policy"] }) {
  const client = useQueryClient();
  const session = useSession();
  const [asked, setAsked] = useState(false);
  const usage = useQuery({
    queryKey: ["policy", p.name, "usage"],
    queryFn: ({ signal }) => get<Schemas["PolicyUsage"]>(`/v1/policies/${segment(p.name)}/usage`, {}, signal),
  });
  const simulation = useMutation({
    mutationFn: () => ask<Schemas["Simulation"]>("/v1/policies/simulate", { definition: p.definition }),
  });
  const promote = useMutation({
    mutationFn: () => change("POST", `/v1/policies/${segment(p.name)}/promote`, { version: p.shadow_version }),
    onSettled: () => client.invalidateQueries({ queryKey: ["policy", p.name] }),
  });
  const mayChange = !session.read_only && (session.roles?.includes("operator") ?? true);
  return (
    <>
      <div className="head">
        <h1>
          <Text>{p.name}</Text>
        </h1>
        <span className="dim">live version {p.live_version}</span>
        {p.shadow_version ? <Chip kind="ask">{`version ${p.shadow_version} on trial`}</Chip> : null}
        <span className="grow" />
        {p.shadow_version && mayChange ? (
          <button type="button" className="primary" onClick={() => setAsked(true)}>
            Make version {p.shadow_version} live
          </button>
        ) : null}
        {asked && (
          <Confirm
            title={`Make version ${p.shadow_version} of ${visible(p.name)} live?`}
            onClose={() => setAsked(false)}
            onYes={() => promote.mutate()}
          />
        )}
      </div>
      {promote.error ? <Failure error={promote.error} /> : null}
      <div className="split">
        <Json value={p.definition} label="Rules" />
        <div className="stack">
          <section className="panel stack">
            <h2>Where it holds</h2>
            {p.attachments?.length ? (
              <ul className="plain">
                {p.attachments.map((a) => (
                  <li key={`${a.kind}${a.id}`}>
                    {a.kind}{" "}
                    {a.kind === "workflow" ? (
                      <Link to="/workflows/$name" params={{ name: a.id }}>
                        <Text>{a.id}</Text>
                      </Link>
                    ) : (
                      <Text>{a.id}</Text>
                    )}
                  </li>
                ))}
              </ul>
            ) : (
              <Empty>It is attached to nothing, so it judges nothing.</Empty>
            )}
            <Facts
              facts={[
                ["Registered", <Time key="t" at={p.created_at} />],
                ["By", <Text key="b">{p.created_by}</Text>],
              ]}
            />
          </section>
          <section className="panel stack">
            <h2>Used up</h2>
            <Loaded query={usage}>
              {(u) =>
                u.usages.length === 0 ? (
                  <Empty>No limit of it counts anything now.</Empty>
                ) : (
                  <ul className="plain">
                    {u.usages.map((x, i) => {
                      const part =
                        x.measure === "money"
                          ? Number(x.used_usd) / Number(x.max_usd)
                          : (x.used ?? 0) / Math.max(1, x.max ?? 1);
                      return (
                        // biome-ignore lint/suspicious/noArrayIndexKey: usages have no other identity
                        <li key={i} className="stack tight">
                          <span className="row">
                            <code>
                              <Text>{x.capability}</Text>
                            </code>
                            <span className="dim">
                              {x.scope} <Text>{x.subject}</Text>
                            </span>
                            <span className="grow" />
                            <span>
                              {x.measure === "money"
                                ? `${x.used_usd} of ${x.max_usd} USD`
                                : `${x.used ?? 0} of ${x.max ?? 0}`}
                            </span>
                          </span>
                          <meter
                            min={0}
                            max={1}
                            high={0.8}
                            optimum={0}
                            value={Math.min(1, part)}
                            aria-label={`${x.capability} used`}
                          />
                        </li>
                      );
                    })}
                  </ul>
                )
              }
            </Loaded>
          </section>
          <section className="panel stack">
            <h2>Against what was decided</h2>
            <p className="small dim">Judges recent calls again by these rules. Nothing changes.</p>
            <button type="button" onClick={() => simulation.mutate()} disabled={simulation.isPending}>
              Judge recent calls again
            </button>
            {simulation.error ? <Failure error={simulation.error} /> : null}
            {simulation.data && (
              <>
                <p>
                  {simulation.data.replayed} calls, {simulation.data.changes.length} decided otherwise.
                </p>
                {simulation.data.undecided > 0 && (
                  <p className="small dim">
                    {simulation.data.undecided === 1 ? "1 call is" : `${simulation.data.undecided} calls are`} not
                    known: the log does not have the values that the rules look at. With meta.capture_output of its
                    workflow, it keeps inputs.
                  </p>
                )}
                <ul className="plain">
                  {simulation.data.changes.slice(0, 50).map((c) => (
                    <li key={`${c.recorded.partition}${c.recorded.sequence}`} className="item">
                      <span className="row">
                        <Chip>{c.recorded.decision}</Chip> now <Chip>{c.decision}</Chip> <Text>{c.recorded.tool}</Text>
                      </span>
                      <span className="small">
                        <Text>{c.message}</Text>
                      </span>
                    </li>
                  ))}
                </ul>
              </>
            )}
          </section>
        </div>
      </div>
    </>
  );
}
