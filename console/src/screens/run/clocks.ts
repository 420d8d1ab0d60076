import type { Run } from "../../api/client";
import { visible } from "../../ui/visible";

type Due = NonNullable<Run["dues"]>[number];

const stopped: { [cause: string]: string } = {
  hold: "the run is held",
  pause: "its agent has paused the run",
  approval: "people are asked",
  branches: "the run is in branches",
};

/** A time that is left, in its two largest units. */
export function leftOf(ms: number): string {
  const seconds = Math.max(0, Math.ceil(ms / 1000));
  const parts: [number, string][] = [
    [Math.floor(seconds / 86_400), "d"],
    [Math.floor(seconds / 3600) % 24, "h"],
    [Math.floor(seconds / 60) % 60, "min"],
    [seconds % 60, "s"],
  ];
  const first = parts.findIndex(([n]) => n > 0);
  if (first < 0) return "0 s";
  return parts
    .slice(first, first + 2)
    .filter(([n]) => n > 0)
    .map(([n, unit]) => `${n} ${unit}`)
    .join(" ");
}

/** The moment at which a run ends: the time of today, and the day too of another one. */
function moment(at: string, now: number): string {
  const date = new Date(at);
  const today = date.toDateString() === new Date(now).toDateString();
  const time = { hour: "2-digit", minute: "2-digit", hour12: false } as const;
  return today
    ? date.toLocaleTimeString(undefined, time)
    : date.toLocaleString(undefined, { day: "numeric", month: "short", ...time });
}

function clockOf(d: Due, now: number): string {
  const next = d.targets?.length ? `, then ${visible(d.targets.join(" or "))}` : d.holds ? ", then held" : "";
  const where = d.branch
    ? ` in branch ${visible(d.branch)}`
    : d.kind === "fork"
      ? " in its branches"
      : " in this state";
  if (d.blocked) return `The time${where} is up${next} as soon as a guard lets it`;
  const left = leftOf(d.stopped_by ? (d.left_seconds ?? 0) * 1000 : Date.parse(d.at ?? "") - now);
  const still = d.stopped_by ? `; the clock stands still: ${stopped[d.stopped_by] ?? d.stopped_by}` : "";
  if (d.kind === "remind") return `${left} until a reminder${d.branch ? where : ""}${still}`;
  if (d.kind === "stale")
    return `${left} of silence left${d.branch ? where : ""}${next || ", then people are told"}${still}`;
  return `${left} left${where}${next}${still}`;
}

/** The clocks of a run, a line each; the end of the run is last. */
export function clocksOf(run: Run, now: number): string[] {
  const lines = (run.dues ?? []).filter((d) => d.kind !== "deadline").map((d) => clockOf(d, now));
  const over = ["COMPLETED", "FAILED", "BLOCKED", "CANCELLED"].includes(run.status);
  if (!run.deadline || over) return lines;
  if (Date.parse(run.deadline) > now) return [...lines, `The run ends at ${moment(run.deadline, now)}`];
  return [...lines, run.status === "HELD" ? "The run ends when the hold is lifted" : "The run ends now"];
}
