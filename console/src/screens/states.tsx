import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import type { Schemas } from "../api/client";
import { Text, Time, useTitle } from "../ui/basics";
import { List, usePages } from "../ui/list";
import { Words } from "./runs";

interface Search {
  root_session?: string;
  schema?: string;
  id_prefix?: string;
}

/** The documents that agents of a tree share. */
export function States() {
  useTitle("Shared state");
  const search = useSearch({ strict: false }) as Search;
  const navigate = useNavigate();
  const query = { root_session: search.root_session, schema: search.schema, id_prefix: search.id_prefix };
  const pages = usePages<Schemas["StateList"]>(["states", query], "/v1/states", query);
  const filter = (part: Search) => navigate({ to: "/states", search: { ...search, ...part } });
  return (
    <>
      <div className="head">
        <h1>Shared state</h1>
        <Words name="Schema" value={search.schema} onChange={(schema) => filter({ schema })} />
        <Words name="Root session" value={search.root_session} onChange={(root_session) => filter({ root_session })} />
        <Words name="Beginning of the id" value={search.id_prefix} onChange={(id_prefix) => filter({ id_prefix })} />
      </div>
      <List
        pages={pages}
        label="States"
        items={(p) => p.states}
        empty={
          Object.values(query).some(Boolean)
            ? "No state fits these filters."
            : "No tree of sessions shares a state yet."
        }
        row={(s, style) => (
          <Link
            key={s.state_id}
            className="list-row cols-states"
            style={style}
            to="/states/$id"
            params={{ id: s.state_id }}
          >
            <strong>
              <Text>{s.root_session_name || s.root_session_id || s.state_id}</Text>
            </strong>
            <span className="wide">
              <Text>{s.schema_name}</Text> <span className="dim">v{s.schema_version}</span>
            </span>
            <span className="wide dim">version {s.version}</span>
            <span className="wide dim">
              <Text>{s.updated_by}</Text>
            </span>
            <span className="wide dim">
              <Time at={s.updated_at} />
            </span>
          </Link>
        )}
      />
    </>
  );
}
