import { Link } from "@tanstack/react-router";
import type { Schemas } from "../api/client";
import { Text, Time, useTitle } from "../ui/basics";
import { List, usePages } from "../ui/list";

/** Workflows, processes and policies by name. */
export function Definitions() {
  useTitle("Workflows and policies");
  const workflows = usePages<Schemas["WorkflowList"]>(["workflows"], "/v1/workflows", {});
  const processes = usePages<Schemas["ProcessList"]>(["processes"], "/v1/processes", {});
  const policies = usePages<Schemas["PolicyList"]>(["policies"], "/v1/policies", {});
  const row = (to: "/workflows/$name" | "/processes/$name" | "/policies/$name") =>
    function row(
      d: { name: string; version: number; created_at: string; created_by?: string },
      style: React.CSSProperties,
    ) {
      return (
        <Link key={d.name} className="list-row cols-definitions" style={style} to={to} params={{ name: d.name }}>
          <strong>
            <Text>{d.name}</Text>
          </strong>
          <span className="dim">version {d.version}</span>
          <span className="wide dim">
            <Time at={d.created_at} /> by <Text>{d.created_by}</Text>
          </span>
        </Link>
      );
    };
  return (
    <>
      <div className="head">
        <h1>Workflows and policies</h1>
        <span className="grow" />
        <Link className="button" to="/new/workflow">
          New workflow
        </Link>
      </div>
      <div className="grid">
        <section className="stack">
          <h2>Workflows</h2>
          <List
            pages={workflows}
            label="Workflows"
            items={(p) => p.workflows}
            empty={
              <>
                There is none yet. <code>interlock workflow register FILE.json</code>, or{" "}
                <Link to="/new/workflow">write one here</Link>.
              </>
            }
            row={row("/workflows/$name")}
          />
        </section>
        <section className="stack">
          <h2>Policies</h2>
          <List
            pages={policies}
            label="Policies"
            items={(p) => p.policies}
            empty={
              <>
                There is none yet. <code>interlock policy put FILE.json --name NAME</code> makes one.
              </>
            }
            row={row("/policies/$name")}
          />
        </section>
        <section className="stack">
          <h2>Processes</h2>
          <List
            pages={processes}
            label="Processes"
            items={(p) => p.processes}
            empty={
              <>
                There is none yet. <code>interlock process register FILE.yaml</code> makes one.
              </>
            }
            row={row("/processes/$name")}
          />
        </section>
      </div>
    </>
  );
}
