import { useQuery } from "@tanstack/react-query";
import { Link, useParams } from "@tanstack/react-router";
import { get, type Schemas, segment } from "../api/client";
import { Json, Loaded, Text, useTitle } from "../ui/basics";
import { GraphView } from "../ui/graph";
import { Origin } from "./origin";

/** A process: its graph beside its text. */
export function ProcessPage() {
  const { name } = useParams({ strict: false }) as { name: string };
  useTitle(name);
  const query = useQuery({
    queryKey: ["process", name],
    queryFn: ({ signal }) => get<Schemas["Process"]>(`/v1/processes/${segment(name)}`, {}, signal),
  });
  const graph = useQuery({
    queryKey: ["graph", "processes", name, query.data?.version],
    queryFn: ({ signal }) =>
      get<Schemas["Graph"]>(`/v1/processes/${segment(name)}/versions/${query.data?.version}/graph`, {}, signal),
    enabled: query.data !== undefined,
  });
  return (
    <Loaded query={query}>
      {(p) => (
        <>
          <div className="head">
            <h1>
              <Text>{p.name}</Text>
            </h1>
            <span className="dim">version {p.version}</span>
            <Origin kind="process" name={p.name} version={p.version} />
            <span className="grow" />
            <Link className="button" to="/runs" search={{ workflow: p.name }}>
              Its runs
            </Link>
          </div>
          <div className="split">
            <Loaded query={graph}>{(g) => <GraphView graph={g} />}</Loaded>
            <Json value={p.definition} label="Definition" />
          </div>
        </>
      )}
    </Loaded>
  );
}
