import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { lazy, Suspense, useState } from "react";
import { get, type Schemas, segment } from "../api/client";
import { pretty } from "../api/json";
import { Chip, CopyId, Empty, Facts, Loaded, Names, Scroll, Tabs, Text, Time, useTitle } from "../ui/basics";
import { Change } from "../ui/change";
import { GraphView } from "../ui/graph";
import { visible } from "../ui/visible";
import { useOrigin } from "./origin";
import { Migration, Proof } from "./proof";
import { Replay } from "./replay";

const Editor = lazy(() => import("../ui/editor"));

/** A workflow: its text beside its graph, its versions, and its use by runs. */
export function WorkflowPage() {
  const { name } = useParams({ strict: false }) as { name: string };
  const search = useSearch({ strict: false }) as { version?: string; tab?: string };
  useTitle(name);
  const newest = useQuery({
    queryKey: ["workflow", name],
    queryFn: ({ signal }) => get<Schemas["Workflow"]>(`/v1/workflows/${segment(name)}`, {}, signal),
  });
  return (
    <Loaded query={newest}>
      {(w) => (
        <Version
          name={name}
          newest={w.version}
          version={Number(search.version) || w.version}
          tab={search.tab ?? "Graph and text"}
        />
      )}
    </Loaded>
  );
}

const useVersion = (name: string, version: number) =>
  useQuery({
    queryKey: ["workflow", name, version],
    queryFn: ({ signal }) => get<Schemas["Workflow"]>(`/v1/workflows/${segment(name)}/versions/${version}`, {}, signal),
    staleTime: Number.POSITIVE_INFINITY,
    enabled: version > 0,
  });

const useGraph = (name: string, version: number) =>
  useQuery({
    queryKey: ["graph", "workflows", name, version],
    queryFn: ({ signal }) =>
      get<Schemas["Graph"]>(`/v1/workflows/${segment(name)}/versions/${version}/graph`, {}, signal),
    staleTime: Number.POSITIVE_INFINITY,
  });

interface Props {
  name: string;
  newest: number;
  version: number;
  tab: string;
}

function Version({ name, newest, version, tab }: Props) {
  const navigate = useNavigate();
  const definition = useVersion(name, version);
  const graph = useGraph(name, version);
  const set = (search: { version?: string; tab?: string }) =>
    navigate({ to: "/workflows/$name", params: { name }, search: { version: String(version), tab, ...search } });
  return (
    <>
      <div className="head">
        <h1>
          <Text>{name}</Text>
        </h1>
        <select aria-label="Version" value={version} onChange={(e) => set({ version: e.target.value })}>
          {Array.from({ length: newest }, (_, i) => newest - i).map((n) => (
            <option key={n} value={n}>
              version {n}
            </option>
          ))}
        </select>
        <span className="grow" />
        <Link className="button" to="/runs" search={{ workflow: name }}>
          Its runs
        </Link>
        <Link className="button" to="/new/workflow" search={{ from: name, version: String(version) }}>
          Edit
        </Link>
      </div>
      <Tabs
        names={["Graph and text", "Coverage", "Changes", "Proof", "Migration", "Replay"]}
        at={tab}
        onChange={(next) => set({ tab: next })}
      />
      {tab === "Graph and text" && <Loaded query={definition}>{(w) => <Both workflow={w} />}</Loaded>}
      {tab === "Coverage" && <Coverage name={name} version={version} />}
      {tab === "Changes" && <Changes name={name} version={version} />}
      {(tab === "Proof" || tab === "Migration" || tab === "Replay") && (
        <Loaded query={definition}>
          {(w) => (
            <Loaded query={graph}>
              {(g) =>
                tab === "Proof" ? (
                  <Proof key={w.version} workflow={w} graph={g} />
                ) : tab === "Migration" ? (
                  <Migration workflow={w} graph={g} />
                ) : (
                  <Replay key={w.version} workflow={w} graph={g} newest={newest} />
                )
              }
            </Loaded>
          )}
        </Loaded>
      )}
    </>
  );
}

/** Graph and text; a choice in one is shown in the other. */
function Both({ workflow: w }: { workflow: Schemas["Workflow"] }) {
  const graph = useGraph(w.name, w.version);
  const origin = useOrigin("workflow", w.name, w.version);
  const [selected, setSelected] = useState<string>();
  return (
    <div className="split">
      <div className="stack">
        <Loaded query={graph}>
          {(g) => (
            <GraphView graph={g} selected={selected} onSelect={(s) => setSelected(s === selected ? undefined : s)} />
          )}
        </Loaded>
        <div className="panel">
          <Facts
            facts={[
              ["Registered", <Time key="t" at={w.created_at} />],
              ["By", <Text key="b">{w.created_by}</Text>],
              ["Digest", <CopyId key="d" id={w.digest} />],
              ["Set", origin && <Text key="o">{origin}</Text>],
            ]}
          />
        </div>
      </div>
      <Suspense fallback={<div className="skeleton" />}>
        <Editor text={pretty(w.definition)} find={selected} readOnly label="Definition" onState={setSelected} />
      </Suspense>
    </div>
  );
}

function Coverage({ name, version }: { name: string; version: number }) {
  const graph = useGraph(name, version);
  const query = useQuery({
    queryKey: ["coverage", name, version],
    queryFn: ({ signal }) =>
      get<Schemas["WorkflowCoverage"]>(`/v1/workflows/${segment(name)}/coverage`, { version }, signal),
    refetchInterval: (q) => (q.state.data?.complete === false ? 1000 : 30_000),
  });
  return (
    <Loaded query={query}>
      {(c) => {
        const entries = new Map(c.states.map((s) => [s.state, s.entries]));
        const taken = new Set(c.transitions.map((t) => `${t.from}\0${t.to}`));
        return (
          <div className="split">
            <Loaded query={graph}>
              {(g) => (
                <GraphView
                  graph={g}
                  marks={{
                    state: (s) => (entries.get(s) ? "visited" : "unreached"),
                    taken: (from, to) => taken.has(`${from}\0${to}`),
                    tick: (s) => (entries.get(s) ? `${entries.get(s)}×` : "never"),
                  }}
                />
              )}
            </Loaded>
            <section className="panel stack">
              <h2>Used by {c.runs === 1 ? "1 run" : `${c.runs} runs`}</h2>
              <p className="small dim">
                {c.under_way === 0 ? "All of them have ended." : `${c.under_way} of them under way.`}
              </p>
              {c.transitions.length === 0 ? (
                <Empty>{c.runs ? "None of them has made a transition." : "No run of this version was seen."}</Empty>
              ) : (
                <Scroll label="Transitions taken">
                  <table className="plain">
                    <thead>
                      <tr>
                        <th>from</th>
                        <th>event</th>
                        <th>to</th>
                        <th className="number">taken</th>
                      </tr>
                    </thead>
                    <tbody>
                      {c.transitions.map((t) => (
                        <tr key={`${t.from}\0${t.event}\0${t.to}`}>
                          <td>
                            <Text>{t.from}</Text>
                          </td>
                          <td>
                            <code>
                              <Text>{t.event}</Text>
                            </code>
                          </td>
                          <td>
                            <Text>{t.to}</Text>
                          </td>
                          <td className="number">{t.count}</td>
                        </tr>
                      ))}
                    </tbody>
                  </table>
                </Scroll>
              )}
              {c.since && (
                <p className="small dim">
                  Of runs that started since <Time at={c.since} />.
                </p>
              )}
            </section>
          </div>
        );
      }}
    </Loaded>
  );
}

/** The changes from the previous version, on the graph and state by state. */
function Changes({ name, version }: { name: string; version: number }) {
  const [from, setFrom] = useState(Math.max(1, version - 1));
  const query = useQuery({
    queryKey: ["workflow", name, "diff", from, version],
    queryFn: ({ signal }) => get<Diff>(`/v1/workflows/${segment(name)}/diff`, { from, to: version }, signal),
    staleTime: Number.POSITIVE_INFINITY,
    enabled: version > 1,
  });
  if (version === 1) return <Empty>This is the first version.</Empty>;
  return (
    <>
      <label className="row small">
        Changes since version
        <input
          type="number"
          min={1}
          max={version}
          value={from}
          onChange={(e) => setFrom(Math.min(version, Math.max(1, Number(e.target.value) || 1)))}
        />
      </label>
      <Loaded query={query}>
        {(d) => {
          const kinds = new Map(d.states.map((s) => [s.state, s.change]));
          return (
            <div className="split">
              <GraphView
                graph={d.graph}
                marks={{ state: (s) => kinds.get(s) ?? "", tick: (s) => kinds.get(s) ?? "" }}
              />
              <div className="stack">
                {d.states.length === 0 && !d.definition_fields?.length && <Empty>Nothing differs.</Empty>}
                {d.definition_fields?.length ? (
                  <section className="panel stack tight">
                    <h2>The whole workflow</h2>
                    <Fields fields={d.definition_fields} />
                  </section>
                ) : null}
                {d.states.map((s) => (
                  <StateChange key={s.state} change={s} />
                ))}
              </div>
            </div>
          );
        }}
      </Loaded>
    </>
  );
}

type Diff = Schemas["WorkflowDiff"];

/** The changes of a state. */
function StateChange({ change: s }: { change: Diff["states"][number] }) {
  const gains: [string, string[] | undefined][] = [
    ["Tools gained", s.tools_gained],
    ["Tools lost", s.tools_lost],
    ["Commands gained", s.commands_gained],
    ["Commands lost", s.commands_lost],
  ];
  return (
    <section className="panel stack tight" aria-label={`State ${visible(s.state)}`}>
      <div className="row">
        <h2>
          <Text>{s.state}</Text>
        </h2>
        <Chip kind={s.change === "added" ? "ok" : s.change === "removed" ? "deny" : "ask"}>{s.change}</Chip>
      </div>
      <Facts
        facts={[
          ...gains.map(([title, names]): [string, React.ReactNode] => [
            title,
            names?.length ? <Names key={title} names={names} none="" /> : "",
          ]),
          [
            "Events added",
            s.events_added?.length
              ? visible(s.events_added.map((e) => `${e.event} to ${e.targets.join(", ")}`).join("; "))
              : "",
          ],
          ["Events removed", s.events_removed?.length ? visible(s.events_removed.map((e) => e.event).join(", ")) : ""],
          ["Events changed", s.events_changed?.length ? visible(s.events_changed.map((e) => e.event).join(", ")) : ""],
        ]}
      />
      <Fields fields={s.fields ?? []} />
    </section>
  );
}

function Fields({ fields }: { fields: NonNullable<Diff["definition_fields"]> }) {
  return fields.map((d) => (
    <div key={d.pointer}>
      <code>
        <Text>{d.pointer}</Text>
      </code>
      <Change before={d.before} after={d.after} />
    </div>
  ));
}
