import { useNavigate, useSearch } from "@tanstack/react-router";
import type { Schemas } from "../api/client";
import type { Filters } from "../router";
import { Chip, Text, Time, useTitle } from "../ui/basics";
import { FilterField } from "../ui/filter";
import { moment } from "../ui/sort";
import { type Column, Table, useItems, usePages } from "../ui/table";
import type { Grammar } from "../ui/tokens";

type Session = Schemas["Session"];

const grammar: Grammar = {
  keys: [
    { name: "status", param: "status", about: "its status", values: ["running", "finished", "ended"] },
    { name: "root", param: "root_session", about: "the tree of a root session, by id or name" },
    { name: "id", param: "id_prefix", about: "the beginning of its id" },
  ],
  word: () => undefined,
};

const columns: Column<Session>[] = [
  {
    id: "status",
    name: "Status",
    width: "7.2rem",
    phone: 1,
    by: (s) => s.status,
    cell: (s) => <Chip>{s.status}</Chip>,
  },
  {
    id: "session",
    name: "Session",
    opens: true,
    width: "minmax(7.2rem, 1.5fr)",
    phone: 1,
    by: (s) => s.session_name || s.session_id,
    cell: (s) => <Text>{s.session_name || s.session_id}</Text>,
  },
  {
    id: "parent",
    name: "Parent",
    width: "minmax(6.5rem, 1fr)",
    phone: 2,
    by: (s) => s.parent_session_name ?? undefined,
    cell: (s) => (s.parent_session_name ? <Text>{s.parent_session_name}</Text> : <span className="dim">root</span>),
  },
  {
    id: "children",
    name: "Open children",
    width: "7.9rem",
    by: (s) => s.open_children,
    cell: (s) => s.open_children || "",
  },
  {
    id: "agent",
    name: "Agent",
    optional: true,
    width: "minmax(5.8rem, 1fr)",
    by: (s) => s.agent,
    cell: (s) => <Text>{s.agent}</Text>,
  },
  {
    id: "age",
    name: "Started",
    width: "6.5rem",
    by: (s) => moment(s.created_at),
    cell: (s) => <Time at={s.created_at} />,
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

/** All sessions, newest first. */
export function Sessions() {
  useTitle("Sessions");
  const search = useSearch({ strict: false }) as Filters;
  const navigate = useNavigate();
  const query = { status: search.status, root_session: search.root_session, id_prefix: search.id_prefix };
  const pages = usePages<Schemas["SessionList"]>(["sessions", query], "/v1/sessions", query);
  const sessions = useItems(pages, (p) => p.sessions);
  return (
    <>
      <div className="head">
        <h1>Sessions</h1>
      </div>
      <Table
        name="sessions"
        label="Sessions"
        source={pages}
        items={sessions}
        columns={columns}
        id={(s) => s.session_id}
        place={(s) => ({ to: "/sessions/$id", params: { id: s.session_id } })}
        tools={
          <FilterField
            label="sessions"
            grammar={grammar}
            search={query}
            onChange={(part) => navigate({ to: "/sessions", search: { ...search, ...part } })}
          />
        }
        empty={
          Object.values(query).some(Boolean) ? (
            "No session fits these filters. Remove one of them above."
          ) : (
            <>
              No session was made yet. <code>interlock session create</code> makes one; runs may also name any session.
            </>
          )
        }
      />
    </>
  );
}
