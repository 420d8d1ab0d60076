import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import type { Schemas } from "../api/client";
import { Chip, Text, Time, useTitle } from "../ui/basics";
import { List, usePages } from "../ui/list";
import { Words } from "./runs";

interface Search {
  status?: string;
  root_session?: string;
  id_prefix?: string;
}

/** All sessions, newest first. */
export function Sessions() {
  useTitle("Sessions");
  const search = useSearch({ strict: false }) as Search;
  const navigate = useNavigate();
  const query = { status: search.status, root_session: search.root_session, id_prefix: search.id_prefix };
  const pages = usePages<Schemas["SessionList"]>(["sessions", query], "/v1/sessions", query);
  const filter = (part: Search) => navigate({ to: "/sessions", search: { ...search, ...part } });
  return (
    <>
      <div className="head">
        <h1>Sessions</h1>
        <select aria-label="Status" value={search.status ?? ""} onChange={(e) => filter({ status: e.target.value })}>
          <option value="">any status</option>
          <option value="running">running</option>
          <option value="finished">finished</option>
        </select>
        <Words name="Root session" value={search.root_session} onChange={(root_session) => filter({ root_session })} />
        <Words name="Beginning of the id" value={search.id_prefix} onChange={(id_prefix) => filter({ id_prefix })} />
      </div>
      <List
        pages={pages}
        label="Sessions"
        items={(p) => p.sessions}
        empty={
          Object.values(query).some(Boolean) ? (
            "No session fits these filters."
          ) : (
            <>
              No session was made yet. <code>interlock session create</code> makes one; runs may also name any session.
            </>
          )
        }
        row={(s, style) => (
          <Link
            key={s.session_id}
            className="list-row cols-sessions"
            style={style}
            to="/sessions/$id"
            params={{ id: s.session_id }}
          >
            <Chip>{s.status}</Chip>
            <strong>
              <Text>{s.session_name || s.session_id}</Text>
            </strong>
            <span className="wide dim">
              {s.parent_session_name ? <Text>{`of ${s.parent_session_name}`}</Text> : "root"}
            </span>
            <span className="wide">{openChildren(s.open_children)}</span>
            <span className="wide dim">
              <Time at={s.updated_at} />
            </span>
          </Link>
        )}
      />
    </>
  );
}

const openChildren = (n: number) => (n === 0 ? "" : n === 1 ? "1 child not ended" : `${n} children not ended`);
