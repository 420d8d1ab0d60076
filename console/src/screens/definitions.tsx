import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import type { Schemas } from "../api/client";
import { Text, Time, useTitle } from "../ui/basics";
import { moment } from "../ui/sort";
import { type Column, type Source, Table, useItems, usePages } from "../ui/table";

interface Definition {
  name: string;
  version: number;
  created_at: string;
  created_by?: string;
}

const columns: Column<Definition>[] = [
  {
    id: "name",
    name: "Name",
    opens: true,
    width: "minmax(0, 1.4fr)",
    phone: 1,
    by: (d) => d.name,
    cell: (d) => <Text>{d.name}</Text>,
  },
  {
    id: "version",
    name: "Version",
    width: "4.6rem",
    phone: 1,
    end: true,
    by: (d) => d.version,
    number: true,
    cell: (d) => <span className="dim">v{d.version}</span>,
  },
  {
    id: "time",
    name: "Since",
    width: "6.5rem",
    phone: 2,
    end: true,
    by: (d) => moment(d.created_at),
    cell: (d) => <Time at={d.created_at} />,
  },
  {
    id: "by",
    name: "By",
    width: "minmax(0, 1fr)",
    phone: 2,
    by: (d) => d.created_by,
    cell: (d) => <Text>{d.created_by}</Text>,
  },
];

/** The definitions of one kind. */
function Kind({
  label,
  to,
  source,
  items,
  empty,
}: {
  label: string;
  to: string;
  source: Source;
  items: Definition[];
  empty: ReactNode;
}) {
  return (
    <section className="stack">
      <h2>{label}</h2>
      <Table
        name="definitions"
        label={label}
        source={source}
        items={items}
        columns={columns}
        id={(d) => d.name}
        place={(d) => ({ to, params: { name: d.name } })}
        empty={empty}
        small
      />
    </section>
  );
}

/** Workflows, processes and policies by name. */
export function Definitions() {
  useTitle("Workflows and policies");
  const workflows = usePages<Schemas["WorkflowList"]>(["workflows"], "/v1/workflows", {});
  const processes = usePages<Schemas["ProcessList"]>(["processes"], "/v1/processes", {});
  const policies = usePages<Schemas["PolicyList"]>(["policies"], "/v1/policies", {});
  const all = {
    workflows: useItems(workflows, (p) => p.workflows),
    processes: useItems(processes, (p) => p.processes),
    policies: useItems(policies, (p) => p.policies),
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
      <div className="grid wide">
        <Kind
          label="Workflows"
          to="/workflows/$name"
          source={workflows}
          items={all.workflows}
          empty={
            <>
              There is none yet. <code>interlock workflow register FILE.json</code>, or{" "}
              <Link to="/new/workflow">write one here</Link>.
            </>
          }
        />
        <Kind
          label="Policies"
          to="/policies/$name"
          source={policies}
          items={all.policies}
          empty={
            <>
              There is none yet. <code>interlock policy put FILE.json --name NAME</code> makes one.
            </>
          }
        />
        <Kind
          label="Processes"
          to="/processes/$name"
          source={processes}
          items={all.processes}
          empty={
            <>
              There is none yet. <code>interlock process register FILE.yaml</code> makes one.
            </>
          }
        />
      </div>
    </>
  );
}
