import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link, useNavigate, useParams } from "@tanstack/react-router";
import { useState } from "react";
import { change, get, type Schemas, segment } from "../api/client";
import { useSession } from "../shell";
import { Chip, Empty, Facts, Failure, Json, Loaded, Text, Time, useTitle, ZonedTime } from "../ui/basics";
import { Confirm } from "../ui/dialog";

type Schedule = Schemas["Schedule"];

/** One schedule: its rules, its next times, and the outcomes so far. */
export function SchedulePage() {
  const { name } = useParams({ strict: false }) as { name: string };
  const schedule = useQuery({
    queryKey: ["schedule", name],
    queryFn: ({ signal }) => get<Schedule>(`/v1/schedules/${segment(name)}`, {}, signal),
  });
  useTitle(name);
  return <Loaded query={schedule}>{(s) => <Shown schedule={s} />}</Loaded>;
}

const missed = { skip: "start no run", once: "start one run for all", all: "start a run each, of the last 100" };
const overlap = { skip: "starts no run", queue: "waits for its end; one time does", allow: "starts another run" };

function Shown({ schedule: s }: { schedule: Schedule }) {
  return (
    <>
      <div className="head">
        <h1>
          <Text>{s.name}</Text>
        </h1>
        <span className="dim">version {s.version}</span>
        <Chip>{s.status}</Chip>
        <span className="grow" />
        <Link className="button" to="/runs" search={{ schedule: s.name }}>
          Its runs
        </Link>
        <Actions schedule={s} />
      </div>
      <div className="split">
        <div className="stack">
          <Next schedule={s} />
          <SoFar schedule={s} />
        </div>
        <section className="panel stack" aria-label="Rules">
          <h2>Rules</h2>
          <Facts
            facts={[
              ["Starts", <Text key="w">{s.workflow}</Text>],
              ["Version", s.workflow_version ? String(s.workflow_version) : "the latest at each start"],
              [
                "Times",
                <code key="c">
                  <Text>{s.cron}</Text>
                </code>,
              ],
              ["Zone", <Text key="z">{s.zone || "UTC"}</Text>],
              ["Until", s.until && <ZonedTime key="u" at={s.until} zone={s.zone} />],
              ["Missed times", missed[s.missed ?? "skip"]],
              ["A time during the last run", overlap[s.overlap ?? "skip"]],
              [
                "Session",
                s.session_id ? (
                  <Text key="s">{s.session_id}</Text>
                ) : (
                  <Text key="s">{`a new one for each run, ${s.session_prefix || s.name}-…`}</Text>
                ),
              ],
              ["Workspace", s.workspace && <Text key="d">{s.workspace}</Text>],
              ["Runs start as", <Text key="b">{s.created_by}</Text>],
              ["Made", <Time key="m" at={s.created_at} />],
              ["Changed", <Time key="h" at={s.updated_at} />],
            ]}
          />
          {s.only !== undefined && s.only !== null && (
            <Json value={s.only} label="Calls that the sessions of its runs may make" />
          )}
          {s.context !== undefined && s.context !== null && <Json value={s.context} label="Context" />}
        </section>
      </div>
    </>
  );
}

/** The next times in the zone of the schedule. */
function Next({ schedule: s }: { schedule: Schedule }) {
  const query = useQuery({
    queryKey: ["schedule", s.name, "next", s.version, s.next_at],
    queryFn: ({ signal }) => get<Schemas["ScheduleTimes"]>(`/v1/schedules/${segment(s.name)}/next`, {}, signal),
    placeholderData: (before) => before,
  });
  return (
    <section className="panel stack" aria-label="Next times">
      <h2>Next times</h2>
      {s.status === "paused" && <p className="dim">It is paused: no run starts at these times.</p>}
      {s.queued_at && (
        <p>
          The time <ZonedTime at={s.queued_at} zone={s.zone} /> waits for the end of the last run.
        </p>
      )}
      <Loaded query={query}>
        {({ times, zone }) =>
          times.length === 0 ? (
            <Empty>There are no more.</Empty>
          ) : (
            <ul className="plain tight">
              {times.map((at) => (
                <li key={at} className="row">
                  <ZonedTime at={at} zone={zone} />
                  <span className="grow" />
                  <span className="dim small">
                    <Time at={at} />
                  </span>
                </li>
              ))}
            </ul>
          )
        }
      </Loaded>
    </section>
  );
}

/** The outcome of the last time, and how many times had which. */
function SoFar({ schedule: s }: { schedule: Schedule }) {
  return (
    <section className="panel stack" aria-label="So far">
      <h2>So far</h2>
      <Facts
        facts={[
          ["Started", String(s.counts.started)],
          ["Missed", String(s.counts.missed)],
          ["Skipped", String(s.counts.skipped)],
          ["Refused", String(s.counts.refused)],
          [
            "Last run",
            s.last_run_id && (
              <Link to="/runs/$id" params={{ id: s.last_run_id }}>
                {s.last_run_id}
              </Link>
            ),
          ],
        ]}
      />
      {s.last ? <Last outcome={s.last} zone={s.zone} /> : <Empty>No time has come so far.</Empty>}
    </section>
  );
}

function Last({ outcome: o, zone }: { outcome: Schemas["ScheduleOutcome"]; zone: string | undefined }) {
  return (
    <div className="item stack tight">
      <span className="row">
        <span className="dim">Last</span>
        <Chip>{o.result}</Chip>
        {o.code && <code>{o.code}</code>}
        <span>
          {o.count > 1 && `${o.count} times, to `}
          <ZonedTime at={o.nominal_at} zone={zone} />
        </span>
        <span className="grow" />
        <span className="dim small">
          <Time at={o.at} />
        </span>
      </span>
      {o.reason && (
        <span className="small">
          <Text lines>{o.reason}</Text>
        </span>
      )}
      {o.session_id && (
        <span className="small dim">
          session <Text>{o.session_id}</Text>
        </span>
      )}
    </div>
  );
}

type Action = "pause" | "resume" | "trigger" | "remove";

const asks: Record<Action, [title: string, text: string]> = {
  pause: ["Pause", "No run starts at its times until it is resumed. Runs that it has started go on."],
  resume: ["Resume", "Runs start at its times again. Times that have passed count as missed."],
  trigger: ["Start a run of", "A run starts now, as the schedule would start it."],
  remove: ["Remove", "No more runs start. Runs that it has started go on."],
};

/** The actions of an operator on a schedule. */
function Actions({ schedule: s }: { schedule: Schedule }) {
  const client = useQueryClient();
  const session = useSession();
  const navigate = useNavigate();
  const [asked, setAsked] = useState<Action>();
  const path = `/v1/schedules/${segment(s.name)}`;
  const work = useMutation({
    mutationFn: (action: Action) =>
      action === "remove"
        ? change("DELETE", path)
        : change("POST", `${path}/${action}`, {}, action === "trigger" ? crypto.randomUUID() : undefined),
    onSuccess: (_, action) => {
      if (action === "remove") return navigate({ to: "/schedules" });
      return client.invalidateQueries({ queryKey: ["schedule", s.name] });
    },
    onSettled: () => client.invalidateQueries({ queryKey: ["schedules"] }),
  });
  if (session.read_only || !(session.roles?.includes("operator") ?? true)) return null;
  const button = (action: Action, name: string, kind?: string) => (
    <button type="button" className={kind} disabled={work.isPending} onClick={() => setAsked(action)}>
      {name}
    </button>
  );
  return (
    <div className="row">
      {s.status === "paused" ? button("resume", "Resume", "primary") : button("pause", "Pause")}
      {button("trigger", "Start a run now")}
      {button("remove", "Remove", "danger")}
      {work.error ? <Failure error={work.error} /> : null}
      {asked && (
        <Confirm
          title={`${asks[asked][0]} the schedule ${s.name}?`}
          danger={asked === "remove"}
          onClose={() => setAsked(undefined)}
          onYes={() => work.mutate(asked)}
        >
          <p>{asks[asked][1]}</p>
        </Confirm>
      )}
    </div>
  );
}
