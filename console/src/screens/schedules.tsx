import type { Schemas } from "../api/client";
import { Chip, Text, Time, useTitle, ZonedTime } from "../ui/basics";
import { moment } from "../ui/sort";
import { type Column, Table, useItems, usePages } from "../ui/table";

type Schedule = Schemas["Schedule"];

const columns: Column<Schedule>[] = [
  {
    id: "status",
    name: "Status",
    width: "5.8rem",
    phone: 1,
    by: (s) => s.status,
    cell: (s) => <Chip>{s.status}</Chip>,
  },
  {
    id: "schedule",
    name: "Schedule",
    opens: true,
    width: "minmax(5.8rem, 1.1fr)",
    phone: 1,
    by: (s) => s.name,
    cell: (s) => <Text>{s.name}</Text>,
  },
  {
    id: "starts",
    name: "Starts",
    width: "minmax(5.8rem, 1fr)",
    phone: 1,
    end: true,
    by: (s) => s.workflow,
    cell: (s) => <Text>{s.workflow}</Text>,
  },
  {
    id: "times",
    name: "Times",
    width: "minmax(5.8rem, 1fr)",
    cell: (s) => (
      <span className="mono small">
        <Text>{s.cron}</Text>
      </span>
    ),
  },
  {
    id: "next",
    name: "Next",
    width: "17.9rem",
    phone: 2,
    by: (s) => moment(s.next_at),
    cell: (s) => <ZonedTime at={s.next_at} zone={s.zone} />,
  },
  {
    id: "last",
    name: "Last",
    width: "11.5rem",
    phone: 2,
    end: true,
    by: (s) => moment(s.last?.at),
    cell: (s) =>
      s.last && (
        <>
          <Chip>{s.last.result}</Chip>{" "}
          <span className="dim">
            <Time at={s.last.at} />
          </span>
        </>
      ),
  },
];

/** All schedules, by name. */
export function Schedules() {
  useTitle("Schedules");
  const pages = usePages<Schemas["ScheduleList"]>(["schedules"], "/v1/schedules", {});
  const schedules = useItems(pages, (p) => p.schedules);
  return (
    <>
      <div className="head">
        <h1>Schedules</h1>
      </div>
      <Table
        name="schedules"
        label="Schedules"
        source={pages}
        items={schedules}
        columns={columns}
        id={(s) => s.name}
        place={(s) => ({ to: "/schedules/$name", params: { name: s.name } })}
        empty={
          <>
            There is none yet. <code>interlock schedule add NAME --workflow WORKFLOW --cron '0 7 * * mon-fri'</code>{" "}
            adds one.
          </>
        }
      />
    </>
  );
}
