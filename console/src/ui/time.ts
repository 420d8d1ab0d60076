const units: [number, string][] = [
  [86_400_000, "d"],
  [3_600_000, "h"],
  [60_000, "min"],
  [1000, "s"],
];

/** A span of milliseconds in its largest unit. */
export function span(ms: number): string {
  const size = Math.abs(ms);
  for (const [length, name] of units) if (size >= length) return `${Math.floor(size / length)} ${name}`;
  return "0 s";
}

/** How long ago, or until when. */
export function relative(at: string | Date, now: number): string {
  const ms = now - new Date(at).getTime();
  if (Number.isNaN(ms)) return "";
  if (Math.abs(ms) < 1000) return "now";
  return ms > 0 ? `${span(ms)} ago` : `in ${span(ms)}`;
}

/** The moment as the clocks of a zone show it; of UTC where this browser does not know the zone. */
export function inZone(at: string, zone = "UTC"): string {
  const date = new Date(at);
  if (Number.isNaN(date.getTime())) return "";
  const shown = {
    weekday: "short",
    day: "numeric",
    month: "short",
    year: "numeric",
    hour: "2-digit",
    minute: "2-digit",
  } as const;
  const format = (timeZone: string) =>
    date.toLocaleString(undefined, { ...shown, hourCycle: "h23", timeZone, timeZoneName: "short" });
  try {
    return format(zone || "UTC");
  } catch {
    return format("UTC");
  }
}

/** The moment itself, with the offset of this browser. */
export function absolute(at: string | Date): string {
  const date = new Date(at);
  if (Number.isNaN(date.getTime())) return "";
  return date.toLocaleString(undefined, { dateStyle: "medium", timeStyle: "long" });
}
