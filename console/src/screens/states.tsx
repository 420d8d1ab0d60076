import { useNavigate, useSearch } from "@tanstack/react-router";
import type { Schemas } from "../api/client";
import type { Filters } from "../router";
import { Text, Time, useTitle } from "../ui/basics";
import { FilterField } from "../ui/filter";
import { moment } from "../ui/sort";
import { type Column, Table, useItems, usePages } from "../ui/table";
import type { Grammar } from "../ui/tokens";

type State = Schemas["State"];

const grammar: Grammar = {
  keys: [
    { name: "schema", param: "schema", about: "its schema" },
    { name: "root", param: "root_session", about: "its root session, by id or name" },
    { name: "id", param: "id_prefix", about: "the beginning of its id" },
  ],
  word: () => undefined,
};

const columns: Column<State>[] = [
  {
    id: "root",
    name: "Root session",
    opens: true,
    width: "minmax(10.8rem, 1fr)",
    phone: 1,
    by: (s) => s.root_session_name || s.root_session_id,
    cell: (s) => <Text>{s.root_session_name || s.root_session_id || s.state_id}</Text>,
  },
  {
    id: "schema",
    name: "Schema",
    width: "minmax(6.5rem, 1fr)",
    phone: 2,
    by: (s) => s.schema_name,
    cell: (s) => (
      <>
        <Text>{s.schema_name}</Text> <span className="dim">v{s.schema_version}</span>
      </>
    ),
  },
  {
    id: "version",
    name: "Version",
    width: "5rem",
    phone: 1,
    end: true,
    by: (s) => s.version,
    number: true,
    cell: (s) => <span className="dim">v{s.version}</span>,
  },
  {
    id: "by",
    name: "Changed by",
    width: "minmax(6.5rem, 1fr)",
    by: (s) => s.updated_by,
    cell: (s) => <Text>{s.updated_by}</Text>,
  },
  {
    id: "changed",
    name: "Changed",
    width: "6.5rem",
    phone: 2,
    end: true,
    by: (s) => moment(s.updated_at),
    cell: (s) => <Time at={s.updated_at} />,
  },
];

/** The documents that agents of a tree share. */
export function States() {
  useTitle("Shared state");
  const search = useSearch({ strict: false }) as Filters;
  const navigate = useNavigate();
  const query = { root_session: search.root_session, schema: search.schema, id_prefix: search.id_prefix };
  const pages = usePages<Schemas["StateList"]>(["states", query], "/v1/states", query);
  const states = useItems(pages, (p) => p.states);
  return (
    <>
      <div className="head">
        <h1>Shared state</h1>
      </div>
      <Table
        name="states"
        label="States"
        source={pages}
        items={states}
        columns={columns}
        id={(s) => s.state_id}
        place={(s) => ({ to: "/states/$id", params: { id: s.state_id } })}
        tools={
          <FilterField
            label="states"
            grammar={grammar}
            search={query}
            onChange={(part) => navigate({ to: "/states", search: { ...search, ...part } })}
          />
        }
        empty={
          Object.values(query).some(Boolean) ? (
            "No state fits these filters. Remove one of them above."
          ) : (
            <>
              No tree of sessions shares a state yet. <code>interlock state create</code> makes one.
            </>
          )
        }
      />
    </>
  );
}
