import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { lazy, Suspense, useState } from "react";
import { get, type Schemas, segment } from "../api/client";
import { differences, pretty } from "../api/json";
import { CopyId, Empty, Facts, Loaded, Scroll, Tabs, Text, Time, useTitle } from "../ui/basics";
import { GraphView } from "../ui/graph";
import { visible } from "../ui/visible";

const Editor = lazy(() => import("../ui/editor"));

type Definition = { states?: Record<string, Record<string, unknown>> } & Record<string, unknown>;

/** A workflow: its text beside its graph, its versions, and what runs have used of it. */
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
      <Tabs names={["Graph and text", "Coverage", "Changes"]} at={tab} onChange={(next) => set({ tab: next })} />
      {tab === "Graph and text" && <Loaded query={definition}>{(w) => <Both workflow={w} />}</Loaded>}
      {tab === "Coverage" && <Coverage name={name} version={version} />}
      {tab === "Changes" && <Changes name={name} version={version} />}
    </>
  );
}

/** Graph and text; what is chosen in one is shown in the other. */
function Both({ workflow: w }: { workflow: Schemas["Workflow"] }) {
  const graph = useGraph(w.name, w.version);
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
      get<Schemas["WorkflowCoverage"]>(`/v1/workflows/${segment(name)}/versions/${version}/coverage`, {}, signal),
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
              <h2>Used by {c.runs} runs</h2>
              {c.transitions.length === 0 ? (
                <Empty>No run of this version was seen.</Empty>
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

/** What changed from the version before, on the graph and in words. */
function Changes({ name, version }: { name: string; version: number }) {
  const [from, setFrom] = useState(Math.max(1, version - 1));
  const before = useVersion(name, from);
  const after = useVersion(name, version);
  const graph = useGraph(name, version);
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
      <Loaded query={before}>
        {(b) => (
          <Loaded query={after}>
            {(a) => {
              const old = (b.definition as Definition).states ?? {};
              const now = (a.definition as Definition).states ?? {};
              const changed = differences(b.definition, a.definition);
              const removed = Object.keys(old).filter((s) => !(s in now));
              const kind = (s: string) =>
                !(s in old) ? "added" : JSON.stringify(old[s]) !== JSON.stringify(now[s]) ? "changed" : "";
              return (
                <div className="split">
                  <Loaded query={graph}>
                    {(g) => <GraphView graph={g} marks={{ state: kind, tick: (s) => kind(s) }} />}
                  </Loaded>
                  <section className="panel stack">
                    {removed.length > 0 && <p>Removed: {removed.map((s) => visible(s)).join(", ")}</p>}
                    {changed.length === 0 && <Empty>Nothing differs.</Empty>}
                    {changed.map((d) => (
                      <div key={d.pointer}>
                        <code>
                          <Text>{d.pointer}</Text>
                        </code>
                        <pre className="doc diff">
                          {d.before !== undefined && (
                            <span className="removed">
                              <Text lines>{pretty(d.before)}</Text>
                            </span>
                          )}
                          {d.after !== undefined && (
                            <span className="added">
                              <Text lines>{pretty(d.after)}</Text>
                            </span>
                          )}
                        </pre>
                      </div>
                    ))}
                  </section>
                </div>
              );
            }}
          </Loaded>
        )}
      </Loaded>
    </>
  );
}
