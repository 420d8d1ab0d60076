import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link, useParams, useSearch } from "@tanstack/react-router";
import { lazy, Suspense, useState } from "react";
import { ask, change, get, type Schemas, segment } from "../api/client";
import { pretty } from "../api/json";
import { useSession } from "../shell";
import { Chip, Empty, Facts, Failure, Json, Loaded, Text, Time, useTitle } from "../ui/basics";
import { Confirm } from "../ui/dialog";
import { visible } from "../ui/visible";
import { Exceptions } from "./exceptions";
import { Origin } from "./origin";

const Editor = lazy(() => import("../ui/editor"));

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
  const { at } = useSearch({ strict: false }) as { at?: string };
  const [asked, setAsked] = useState(false);
  const [edits, setEdits] = useState(at !== undefined);
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
        <Origin kind="policy" name={p.name} version={p.live_version ?? 0} />
        {p.shadow_version ? <Chip kind="ask">{`version ${p.shadow_version} on trial`}</Chip> : null}
        <span className="grow" />
        <button type="button" aria-pressed={edits} onClick={() => setEdits(!edits)}>
          Edit
        </button>
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
        {edits ? (
          <Edit key={p.live_version} policy={p} at={at} mayChange={mayChange} />
        ) : (
          <Json value={p.definition} label="Rules" />
        )}
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
          <Exceptions policy={p.name} />
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
                    known: the log does not have the values that the rules look at. It keeps all inputs with
                    meta.capture_output of the workflow, or --log-inputs all.
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

/** The rules as a text, shown at a place, and made live as another version. */
function Edit({ policy: p, at, mayChange }: { policy: Schemas["Policy"]; at?: string; mayChange: boolean }) {
  const client = useQueryClient();
  const [text, setText] = useState(() => pretty(p.definition));
  const [asked, setAsked] = useState(false);
  const register = useMutation({
    mutationFn: () => change("POST", `/v1/policies?name=${segment(p.name)}&expected_version=${p.live_version}`, text),
    onSettled: () => client.invalidateQueries({ queryKey: ["policy", p.name] }),
  });
  const places = p.attachments?.length ?? 0;
  return (
    <div className="stack">
      <Suspense fallback={<div className="skeleton" />}>
        <Editor text={text} at={at} label="Rules" onChange={setText} />
      </Suspense>
      {register.error ? <Failure error={register.error} /> : null}
      <div className="row">
        <button
          type="button"
          className="primary"
          disabled={!mayChange || register.isPending || text === pretty(p.definition)}
          title={mayChange ? "" : "Only operators change policies"}
          onClick={() => setAsked(true)}
        >
          Make these rules live
        </button>
        <span className="small dim">
          They hold at once, for {places} {places === 1 ? "attachment" : "attachments"} and the workflows that name the
          policy.
        </span>
      </div>
      {asked && (
        <Confirm
          title={`Make these rules of ${visible(p.name)} live?`}
          onClose={() => setAsked(false)}
          onYes={() => register.mutate()}
        >
          <p>Every call that they are about is judged by them from the answer on.</p>
        </Confirm>
      )}
    </div>
  );
}
