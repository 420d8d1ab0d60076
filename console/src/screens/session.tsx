import { useQuery } from "@tanstack/react-query";
import { Link, useParams } from "@tanstack/react-router";
import { get, type Schemas, segment } from "../api/client";
import { Chip, CopyId, Empty, Facts, Loaded, Text, Time, useTitle } from "../ui/basics";
import { visible } from "../ui/visible";

type Session = Schemas["Session"];

/** One session: its tree, the state that it works on, and its callbacks. */
export function SessionPage() {
  const { id } = useParams({ strict: false }) as { id: string };
  const query = useQuery({
    queryKey: ["session", id],
    queryFn: ({ signal }) => get<Session>(`/v1/sessions/${segment(id)}`, {}, signal),
  });
  useTitle(query.data?.session_name || "Session");
  return <Loaded query={query}>{(s) => <Shown session={s} />}</Loaded>;
}

function Shown({ session: s }: { session: Session }) {
  const tree = useQuery({
    queryKey: ["session", s.root_session_id, "tree"],
    queryFn: ({ signal }) =>
      get<Schemas["SessionList"]>("/v1/sessions", { root_session: s.root_session_id, page_size: 500 }, signal),
  });
  const tasks = useQuery({
    queryKey: ["tasks", s.session_id],
    queryFn: ({ signal }) => get<Schemas["TaskList"]>("/v1/tasks", { session: s.session_id, page_size: 50 }, signal),
    retry: false,
  });
  return (
    <>
      <div className="head">
        <h1>
          <Text>{s.session_name || s.session_id}</Text>
        </h1>
        <Chip>{s.status}</Chip>
        {s.state_update_status && <Chip>{`state update ${s.state_update_status}`}</Chip>}
        <CopyId id={s.session_id} />
        <span className="grow" />
        {s.workflow_state_id && (
          <Link className="button" to="/states/$id" params={{ id: s.workflow_state_id }}>
            Its shared state
          </Link>
        )}
        <Link className="button" to="/decisions" search={{ session_id: s.session_name || s.session_id }}>
          Its decisions
        </Link>
      </div>
      {s.error && (
        <div className="notice bad">
          <Text lines>{s.error}</Text>
        </div>
      )}
      <div className="split">
        <section className="panel stack">
          <h2>Its tree</h2>
          <Loaded query={tree}>
            {(t) => (
              <>
                <Branch all={t.sessions} parent={null} chosen={s.session_id} root={s.root_session_id} />
                {t.next_page_token && <p className="small dim">Only the newest 500 sessions of the tree are shown.</p>}
              </>
            )}
          </Loaded>
        </section>
        <div className="stack">
          <section className="panel">
            <Facts
              facts={[
                ["Stands for", s.subject && <Text key="s">{s.subject}</Text>],
                ["Depth", String(s.depth)],
                ["Attempts", String(s.attempts)],
                ["State update", s.state_update],
                ["May use other states", s.grants?.map((g) => visible(g)).join(", ")],
                [
                  "Labels",
                  s.labels &&
                    Object.entries(s.labels)
                      .map(([k, v]) => visible(`${k}=${v}`))
                      .join(", "),
                ],
                ["Made", <Time key="c" at={s.created_at} />],
                ["Ended", s.ended_at && <Time key="e" at={s.ended_at} />],
              ]}
            />
          </section>
          <section className="panel stack">
            <h2>Callbacks</h2>
            {s.callbacks?.length ? (
              <ul className="plain">
                {s.callbacks.map((c) => (
                  <li key={c.callback_id} className="item">
                    <span className="row">
                      <strong>
                        <Text>{c.session_name || c.session_id}</Text>
                      </strong>
                      <Chip>{c.state_update_status ?? undefined}</Chip>
                      <span className="grow" />
                      <span className="dim small">
                        <Time at={c.time} />
                      </span>
                    </span>
                    {c.error && <Text lines>{c.error}</Text>}
                  </li>
                ))}
              </ul>
            ) : (
              <Empty>No child has reported back.</Empty>
            )}
          </section>
          <section className="panel stack">
            <h2>Tasks for runners</h2>
            <Loaded query={tasks}>
              {(t) =>
                t.tasks.length === 0 ? (
                  <Empty>None wait.</Empty>
                ) : (
                  <ul className="plain">
                    {t.tasks.map((x) => (
                      <li key={x.task_id} className="item">
                        <span className="row">
                          <strong>{x.kind.replace("_", " ")}</strong>
                          <Chip>{x.status}</Chip>
                          {x.attempt ? <span className="dim">attempt {x.attempt}</span> : null}
                          <span className="grow" />
                          <span className="dim small">
                            due <Time at={x.due_at} />
                          </span>
                        </span>
                        {x.error && <Text lines>{x.error}</Text>}
                      </li>
                    ))}
                  </ul>
                )
              }
            </Loaded>
          </section>
        </div>
      </div>
    </>
  );
}

function Branch({
  all,
  parent,
  chosen,
  root,
}: {
  all: Session[];
  parent: string | null;
  chosen: string;
  root: string;
}) {
  const own = all.filter((s) =>
    parent === null ? s.session_id === root || !s.parent_session_id : s.parent_session_id === parent,
  );
  if (own.length === 0) return null;
  return (
    <ul className="tree">
      {own.map((s) => (
        <li key={s.session_id}>
          <span className="row">
            <Link
              to="/sessions/$id"
              params={{ id: s.session_id }}
              aria-current={s.session_id === chosen ? "true" : undefined}
            >
              <Text>{s.session_name || s.session_id}</Text>
            </Link>
            <Chip>{s.status}</Chip>
            {s.state_update === "required" && <Chip>{s.state_update_status ?? undefined}</Chip>}
            {s.attempts > 1 && <span className="dim small">attempt {s.attempts}</span>}
          </span>
          <Branch all={all} parent={s.session_id} chosen={chosen} root={root} />
        </li>
      ))}
    </ul>
  );
}
