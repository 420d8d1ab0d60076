import { Link } from "@tanstack/react-router";
import type { Run, Schemas } from "../../api/client";
import { Text, Time, useNow } from "../../ui/basics";
import { bannerOf } from "../standing";
import { clocksOf } from "./clocks";

/** Counts down the clocks of the run. */
export function Clocks({ run }: { run: Run }) {
  const lines = clocksOf(run, useNow());
  if (lines.length === 0) return null;
  return (
    <ul className="plain clocks" aria-label="Clocks">
      {lines.map((line) => (
        <li key={line} className="small">
          {line}
        </li>
      ))}
    </ul>
  );
}

/** Says first whether rules still judge the calls of a run that is paused, held, halted or at its end. */
export function Standstill({ run, entries }: { run: Run; entries: Schemas["HistoryEntry"][] }) {
  const banner = bannerOf(run, entries);
  if (!banner) return null;
  return (
    <div className={banner.bad ? "notice bad standstill" : "notice warn"} role="status">
      <strong>
        {banner.text}
        {banner.since && (
          <>
            {" since "}
            <Time at={banner.since} />
          </>
        )}
        {banner.by && (
          <>
            {" by "}
            <Text>{banner.by}</Text>
          </>
        )}
      </strong>
      {banner.why && (
        <>
          : <Text>{banner.why}</Text>
        </>
      )}
      {run.superseded_by && (
        <>
          {" "}
          <Link to="/runs/$id" params={{ id: run.superseded_by }}>
            That run
          </Link>
        </>
      )}
    </div>
  );
}

/** The approval that the run waits for. */
export function Parked({ run }: { run: Run }) {
  if (!run.pending_approval) return null;
  return (
    <div className="notice warn row">
      <span>
        Waits for a human: <Text>{run.pending_approval.event}</Text> to <Text>{run.pending_approval.to}</Text>
      </span>
      <Link className="button" to="/approvals/$id" params={{ id: run.pending_approval.approval_id }}>
        Decide
      </Link>
    </div>
  );
}
