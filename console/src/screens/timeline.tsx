import { type PointerEvent, useState } from "react";
import type { Schemas } from "../api/client";
import { axisOf } from "../ui/axis";
import { absolute, span } from "../ui/time";
import { visible } from "../ui/visible";

type Entry = Schemas["HistoryEntry"];
type Decision = Schemas["DecisionRecord"];

interface Props {
  entries: Entry[];
  denied: Decision[];
  /** The version up to which the run is shown. */
  until: number | undefined;
}

const left = 20;
const width = 730;
const lane = 34;
const moment = (text: string) => new Date(text).getTime();

/** Where the run was, lane by lane. Idle times are drawn short; a part that is marked with the pointer is drawn large. */
export function Timeline({ entries, denied, until }: Props) {
  const [part, setPart] = useState<[number, number]>();
  const [brush, setBrush] = useState<[number, number]>();
  const moves = entries.filter((e) => e.to && !e.tool_result && (until === undefined || e.run_version <= until));
  if (moves.length === 0) return null;
  const axis = axisOf([...moves, ...denied].map((e) => moment(e.time)));
  const [from, to] = part ?? [0, axis.length];
  const x = (place: number) => left + ((place - from) / Math.max(to - from, 1)) * width;
  const lanes = [...new Set(moves.map((e) => e.branch ?? ""))];
  const bottom = lanes.length * lane;
  const placeOf = (e: PointerEvent<SVGSVGElement>) => {
    const box = e.currentTarget.getBoundingClientRect();
    const at = ((e.clientX - box.left) / box.width) * (left + width + 10);
    return Math.min(to, Math.max(from, from + ((at - left) / width) * (to - from)));
  };
  const zoom = (by: number) => {
    const middle = (from + to) / 2;
    const half = ((to - from) / 2) * by;
    if (half * 2 >= axis.length) return setPart(undefined);
    setPart([Math.max(0, middle - half), Math.min(axis.length, middle + half)]);
  };
  const shift = (by: number) => {
    const step = Math.min(axis.length - to, Math.max(-from, (to - from) * by));
    setPart([from + step, to + step]);
  };
  return (
    <section className="panel stack tight" aria-label="Timeline">
      <div className="row">
        <h2>Timeline</h2>
        <span className="dim small">Mark a part to see it larger.</span>
        <span className="grow" />
        {part && (
          <>
            <button type="button" aria-label="Earlier" disabled={from <= 0} onClick={() => shift(-0.5)}>
              ←
            </button>
            <button type="button" aria-label="Later" disabled={to >= axis.length} onClick={() => shift(0.5)}>
              →
            </button>
          </>
        )}
        <button type="button" aria-label="Show a shorter time" onClick={() => zoom(0.5)}>
          +
        </button>
        <button type="button" aria-label="Show a longer time" disabled={!part} onClick={() => zoom(2)}>
          −
        </button>
        <button type="button" disabled={!part} onClick={() => setPart(undefined)}>
          All of it
        </button>
      </div>
      <svg
        className="timeline"
        viewBox={`0 0 ${left + width + 10} ${bottom + 24}`}
        role="img"
        aria-label={`The states of the run in ${lanes.length === 1 ? "one lane" : `${lanes.length} lanes`}`}
        onPointerDown={(e) => {
          e.currentTarget.setPointerCapture(e.pointerId);
          setBrush([placeOf(e), placeOf(e)]);
        }}
        onPointerMove={(e) => brush && setBrush([brush[0], placeOf(e)])}
        onPointerUp={() => {
          if (brush && Math.abs(brush[1] - brush[0]) > (to - from) / 100)
            setPart([Math.min(...brush), Math.max(...brush)]);
          setBrush(undefined);
        }}
        onPointerCancel={() => setBrush(undefined)}
      >
        {lanes.map((name, row) => {
          const own = moves.filter((e) => (e.branch ?? "") === name);
          return own.map((e, i) => {
            const next = own[i + 1];
            const begin = Math.max(x(axis.place(moment(e.time))), left);
            const end = Math.min(next ? x(axis.place(moment(next.time))) : left + width + 6, left + width + 6);
            if (end < left || begin > left + width + 6) return null;
            const length = Math.max(end - begin - 1, 2);
            const shown = Math.floor(length / 7);
            return (
              <g key={`${name}.${e.run_version}.${e.type}`}>
                <rect x={begin} y={row * lane + 6} width={length} height={22} rx={4}>
                  <title>{`${visible(e.to ?? "")} from ${absolute(e.time)}`}</title>
                </rect>
                {shown > 6 && (
                  <text x={begin + 5} y={row * lane + 21}>
                    {visible((name && i === 0 ? `${name}: ${e.to}` : (e.to ?? "")).slice(0, shown))}
                  </text>
                )}
              </g>
            );
          });
        })}
        {denied.map((d) => {
          const at = x(axis.place(moment(d.time)));
          const row = Math.max(0, lanes.indexOf(d.branch ?? ""));
          return at < left || at > left + width + 6 ? null : (
            <line
              key={`${d.partition}${d.sequence}`}
              className="tick"
              x1={at}
              x2={at}
              y1={row * lane + 3}
              y2={row * lane + 31}
            >
              <title>{`${visible(d.tool)} denied, ${absolute(d.time)}`}</title>
            </line>
          );
        })}
        {axis.gaps.map((g) => {
          const at = x(g.place);
          return at < left || at > left + width ? null : (
            <text key={g.place} className="gap" x={at} y={bottom + 18} textAnchor="middle">
              {span(g.ms)} idle
            </text>
          );
        })}
        {brush && (
          <rect
            className="brush"
            x={x(Math.min(...brush))}
            width={x(Math.max(...brush)) - x(Math.min(...brush))}
            y={0}
            height={bottom + 2}
          />
        )}
      </svg>
    </section>
  );
}
