// The axis of a timeline: times without events are drawn short.

/** How long an idle time may be before it is drawn short, in milliseconds. */
export const longGap = 30_000;

/** An idle time that is drawn short: where its middle is, and how long it really was. */
export interface Gap {
  place: number;
  ms: number;
}

/** The places of moments on an axis from 0 to length. Both are milliseconds, but for the gaps. */
export interface Axis {
  length: number;
  gaps: Gap[];
  place: (at: number) => number;
}

/** Makes the axis of the events. Every moment that is asked for must be among them. */
export function axisOf(moments: number[]): Axis {
  const places = new Map<number, number>();
  const gaps: Gap[] = [];
  let x = 0;
  const sorted = [...new Set(moments)].sort((a, b) => a - b);
  sorted.forEach((at, i) => {
    const before = sorted[i - 1];
    if (before !== undefined) {
      const ms = at - before;
      if (ms > longGap) gaps.push({ place: x + longGap / 2, ms });
      x += Math.min(ms, longGap);
    }
    places.set(at, x);
  });
  return { length: Math.max(x, 1), gaps, place: (at) => places.get(at) ?? 0 };
}
