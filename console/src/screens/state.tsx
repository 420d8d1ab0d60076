import { useQuery } from "@tanstack/react-query";
import { Link, useParams } from "@tanstack/react-router";
import { useMemo, useState } from "react";
import { get, type Schemas, segment } from "../api/client";
import { differences, pretty } from "../api/json";
import { Chip, CopyId, Empty, Facts, Json, Loaded, Scroll, Text, Time, useTitle } from "../ui/basics";
import { Change } from "../ui/change";
import { absolute } from "../ui/time";
import { visible } from "../ui/visible";

type State = Schemas["State"];
type Writer = Schemas["StateWriters"]["writers"][number];

/** One shared document: the last writers of its values, and its history. */
export function StatePage() {
  const { id } = useParams({ strict: false }) as { id: string };
  const query = useQuery({
    queryKey: ["state", id],
    queryFn: ({ signal }) => get<State>(`/v1/states/${segment(id)}`, {}, signal),
  });
  useTitle(query.data?.root_session_name || "Shared state");
  return <Loaded query={query}>{(s) => <Shown state={s} />}</Loaded>;
}

function Shown({ state: s }: { state: State }) {
  const [at, setAt] = useState<number>();
  const shown = at ?? s.version;
  const version = (n: number) => ({
    queryKey: ["state", s.state_id, "version", n],
    queryFn: ({ signal }: { signal: AbortSignal }) =>
      get<State>(`/v1/states/${segment(s.state_id)}/versions/${n}`, {}, signal),
    staleTime: Number.POSITIVE_INFINITY,
    enabled: n > 0,
  });
  const then = useQuery({ ...version(shown), enabled: at !== undefined });
  const before = useQuery(version(shown - 1));
  const data = at === undefined ? s.current_data : then.data?.current_data;
  const changes = before.data && data !== undefined ? differences(before.data.current_data, data) : [];
  const entry = useQuery({
    queryKey: ["state", s.state_id, "entry", shown],
    queryFn: async ({ signal }) => {
      const page = await get<Schemas["StateHistory"]>(
        `/v1/states/${segment(s.state_id)}/history`,
        { page_size: 1, after_version: shown - 1 || undefined },
        signal,
      );
      return page.versions[0];
    },
    staleTime: Number.POSITIVE_INFINITY,
  }).data;
  const written = useQuery({
    queryKey: ["state", s.state_id, "writers", shown],
    queryFn: ({ signal }) =>
      get<Schemas["StateWriters"]>(`/v1/states/${segment(s.state_id)}/writers`, { version: shown }, signal),
    staleTime: Number.POSITIVE_INFINITY,
  });
  const schema = useQuery({
    queryKey: ["schema", s.schema_name, s.schema_version],
    queryFn: ({ signal }) =>
      get<Schemas["Schema"]>(`/v1/schemas/${segment(s.schema_name)}`, { version: s.schema_version }, signal),
    staleTime: Number.POSITIVE_INFINITY,
  });
  const writers = new Map(written.data?.writers.map((w) => [w.pointer, w]));
  return (
    <>
      <div className="head">
        <h1>
          <Text>{s.root_session_name || "Shared state"}</Text>
        </h1>
        <span className="dim">
          <Text>{s.schema_name}</Text> version {s.schema_version}
        </span>
        <CopyId id={s.state_id} />
        <span className="grow" />
        {s.lock && <Chip kind="ask">{`locked by ${visible(s.lock.holder)} until ${absolute(s.lock.expires_at)}`}</Chip>}
        {s.root_session_id && (
          <Link className="button" to="/sessions/$id" params={{ id: s.root_session_id }}>
            Its sessions
          </Link>
        )}
      </div>
      {s.version > 1 && (
        <label className="field">
          {at === undefined
            ? `Version ${s.version}, the newest; move to see it as it was`
            : `As it was at version ${at}`}
          <input
            type="range"
            min={1}
            max={s.version}
            value={shown}
            onChange={(e) => setAt(Number(e.target.value) === s.version ? undefined : Number(e.target.value))}
          />
        </label>
      )}
      <div className="split">
        <section className="stack">
          {entry && (
            <p className="dim small">
              {entry.type} by <Text>{entry.actor}</Text>
              {entry.session_name && (
                <>
                  {" in "}
                  <Text>{entry.session_name}</Text>
                </>
              )}
              , <Time at={entry.time} />
            </p>
          )}
          <Doc value={data} writers={writers} />
        </section>
        <div className="stack">
          <section className="panel stack">
            <h2>What changed in version {shown}</h2>
            {shown === 1 ? (
              <Empty>This is the first version.</Empty>
            ) : changes.length === 0 ? (
              <Empty>Nothing differs from the version before.</Empty>
            ) : (
              changes.map((d) => (
                <div key={d.pointer}>
                  <code>
                    <Text>{d.pointer || "the whole"}</Text>
                  </code>
                  <Change before={d.before} after={d.after} />
                </div>
              ))
            )}
          </section>
          {schema.data?.may_write && (
            <section className="panel stack">
              <h2>Who may write what</h2>
              <table className="plain">
                <thead>
                  <tr>
                    <th>place</th>
                    <th>may write</th>
                  </tr>
                </thead>
                <tbody>
                  {schema.data.may_write.map((list) => (
                    <tr key={`${list.pointer} ${list.writers.join()}`}>
                      <td>
                        <code>
                          <Text>{list.pointer || "the whole"}</Text>
                        </code>
                      </td>
                      <td>
                        <Text>{list.writers.join(", ") || "no caller after the state was made"}</Text>
                      </td>
                    </tr>
                  ))}
                </tbody>
              </table>
            </section>
          )}
          <section className="panel">
            <Facts
              facts={[
                ["Schema", <Text key="n">{`${s.schema_name} (version ${s.schema_version})`}</Text>],
                ["Changed", <Time key="u" at={s.updated_at} />],
                ["By", <Text key="b">{s.updated_by}</Text>],
                ["Made", <Time key="c" at={s.created_at} />],
              ]}
            />
          </section>
        </div>
      </div>
    </>
  );
}

/** The document, one place a line; who wrote it last is beside it. */
function Doc({ value, writers }: { value: unknown; writers: Map<string, Writer> }) {
  const places = useMemo(() => leaves(value).slice(0, 2000), [value]);
  if (value === undefined) return <div className="skeleton" />;
  return (
    <>
      <Scroll label="The document" panel>
        <table className="plain">
          <thead>
            <tr>
              <th>place</th>
              <th>value</th>
              <th>written last by</th>
            </tr>
          </thead>
          <tbody>
            {places.map(([pointer, leaf]) => {
              const w = writers.get(pointer);
              return (
                <tr key={pointer}>
                  <td>
                    <code>
                      <Text>{pointer || "/"}</Text>
                    </code>
                  </td>
                  <td>
                    <pre>
                      <Text lines>{pretty(leaf)}</Text>
                    </pre>
                  </td>
                  <td className="small dim" title={w ? `version ${w.version}, ${absolute(w.time)}` : ""}>
                    {w && (
                      <>
                        <Text>{w.session_name || w.actor}</Text> <Time at={w.time} />
                      </>
                    )}
                  </td>
                </tr>
              );
            })}
          </tbody>
        </table>
      </Scroll>
      <details>
        <summary className="small dim">As JSON</summary>
        <Json value={value} label="Document" />
      </details>
    </>
  );
}

/** Every place that holds no other. */
function leaves(value: unknown, pointer = ""): [string, unknown][] {
  if (typeof value !== "object" || value === null || Object.keys(value).length === 0 || "toJSON" in value)
    return [[pointer, value]];
  return Object.entries(value).flatMap(([k, v]) =>
    leaves(v, `${pointer}/${k.replaceAll("~", "~0").replaceAll("/", "~1")}`),
  );
}
