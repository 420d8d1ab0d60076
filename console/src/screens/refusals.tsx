import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { get, type Schemas } from "../api/client";
import { Text, Time, useTitle } from "../ui/basics";
import { moment } from "../ui/sort";
import { type Column, Table } from "../ui/table";

type Refusal = Schemas["Refusal"];

/** The session, the run and the namespace that a refused call had asked for. */
const askedFor = (r: Refusal) =>
  [
    r.asked_session_id && `session ${r.asked_session_id}`,
    r.asked_run_id && `run ${r.asked_run_id}`,
    r.asked_namespace && `namespace ${r.asked_namespace}`,
  ]
    .filter(Boolean)
    .join(", ");

/** The caller: its name, its role and its session. */
const caller = (r: Refusal) =>
  [r.principal || "not known", r.role && `as ${r.role}`, r.session_id && `in session ${r.session_id}`]
    .filter(Boolean)
    .join(" ");

const columns: Column<Refusal>[] = [
  {
    id: "time",
    name: "Time",
    width: "6.5rem",
    phone: 1,
    end: true,
    by: (r) => moment(r.time),
    cell: (r) => <Time at={r.time} />,
  },
  {
    id: "who",
    name: "Who",
    width: "minmax(7.2rem, 1.2fr)",
    phone: 2,
    by: caller,
    cell: (r) => (
      <span title={caller(r)}>
        <Text>{caller(r)}</Text>
      </span>
    ),
  },
  {
    id: "reason",
    name: "Reason",
    width: "minmax(8.6rem, 1fr)",
    phone: 1,
    by: (r) => r.reason,
    cell: (r) => (
      <code>
        <Text>{r.reason}</Text>
      </code>
    ),
  },
  {
    id: "call",
    name: "Call",
    width: "minmax(7.2rem, 1.4fr)",
    phone: 2,
    by: (r) => r.method,
    cell: (r) => (
      <>
        <Text>{r.method}</Text> <span className="dim">{r.face}</span>
      </>
    ),
  },
  {
    id: "asked",
    name: "Asked for",
    width: "minmax(6.5rem, 1.2fr)",
    by: askedFor,
    cell: (r) => <Text>{askedFor(r)}</Text>,
  },
  { id: "from", name: "From", width: "8.6rem", by: (r) => r.from, cell: (r) => <Text>{r.from}</Text> },
  {
    id: "more",
    name: "More",
    width: "4.3rem",
    by: (r) => r.more,
    number: true,
    cell: (r) => r.more ?? "",
  },
];

/** The last callers that were refused before a decision: by their token, role, session or namespace. */
export function Refusals() {
  useTitle("Refused callers");
  const query = useQuery({
    queryKey: ["refusals"],
    queryFn: ({ signal }) => get<Schemas["RefusalList"]>("/v1/refusals", {}, signal),
    refetchInterval: 10_000,
  });
  return (
    <>
      <div className="head">
        <h1>Refused callers</h1>
        <span className="grow" />
        <Link to="/decisions">Decisions</Link>
      </div>
      <p className="dim">
        Calls that were refused before a decision: by their token, role, session or namespace. The newest 100; of each
        caller and reason, one in ten seconds.
      </p>
      <Table
        name="refusals"
        label="Refused callers"
        source={query}
        items={query.data?.refusals ?? []}
        columns={columns}
        id={(r) => `${r.time}${r.principal}${r.method}${r.reason}`}
        empty={
          <>
            No caller was refused. <Link to="/decisions">Decisions</Link> has the calls that were judged.
          </>
        }
      />
    </>
  );
}
