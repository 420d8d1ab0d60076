import { useEffect, useRef, useState } from "react";
import type { Schemas } from "../api/client";
import { visible } from "./visible";

type Graph = Schemas["Graph"];
type Node = Schemas["GraphNode"];

export interface Marks {
  /** Classes of a state. */
  state?: (name: string) => string;
  /** Whether a run has gone from one state to another. */
  taken?: (from: string, to: string) => boolean;
  /** A short text at a state, such as how often it was entered. */
  tick?: (name: string) => string;
  /** A short text after that of a transition. A name is empty for a node that is no state. */
  after?: (from: string, to: string, text: string) => string;
  /** Whether that text is a warning. */
  bad?: boolean;
}

interface View {
  x: number;
  y: number;
  w: number;
  h: number;
}

interface Props {
  graph: Graph;
  marks?: Marks;
  selected?: string;
  /** The state that a graph that is too large is first shown around. */
  focus?: string;
  onSelect?: (state: string) => void;
}

/** A diagram as the server laid it out: drag to move, Ctrl and the wheel or buttons to zoom, click a state to select it. */
export function GraphView({ graph, marks = {}, selected, focus, onSelect }: Props) {
  const whole: View = { x: -10, y: -10, w: graph.width + 20, h: graph.height + 20 };
  const [view, setView] = useState(whole);
  const svg = useRef<SVGSVGElement>(null);
  const drag = useRef<{ x: number; y: number; view: View } | undefined>(undefined);
  // A graph of another size is shown whole, or, if that would be too small to read, from its beginning.
  // biome-ignore lint/correctness/useExhaustiveDependencies: it is the size that counts
  useEffect(() => {
    const box = svg.current?.getBoundingClientRect();
    if (!box || Math.min(box.width / whole.w, box.height / whole.h) > 0.5) {
      setView(whole);
      return;
    }
    const focused = graph.nodes.find((n) => n.name !== "" && n.name === focus);
    const first = focused ?? graph.nodes.find((n) => n.kind === "start") ?? graph.nodes[0];
    const [w, h] = [box.width / 0.8, box.height / 0.8];
    const x = (first ? first.x + first.width / 2 : 0) - w / 2;
    setView({ x, y: (first?.y ?? 0) - (focused ? h / 2 : 20), w, h });
  }, [graph.width, graph.height]);
  const zoom = (by: number, at?: { x: number; y: number }) =>
    setView((v) => {
      const w = Math.min(Math.max(v.w * by, 80), whole.w * 4);
      const factor = w / v.w;
      const cx = at?.x ?? v.x + v.w / 2;
      const cy = at?.y ?? v.y + v.h / 2;
      return { x: cx - (cx - v.x) * factor, y: cy - (cy - v.y) * factor, w, h: v.h * factor };
    });
  const point = (clientX: number, clientY: number) => {
    const matrix = svg.current?.getScreenCTM()?.inverse();
    return matrix ? new DOMPoint(clientX, clientY).matrixTransform(matrix) : new DOMPoint();
  };
  useEffect(() => {
    const element = svg.current;
    if (!element) return;
    // React listens passively; the page must not scroll along.
    const wheel = (e: WheelEvent) => {
      if (!e.ctrlKey && !e.metaKey) return;
      e.preventDefault();
      const p = point(e.clientX, e.clientY);
      zoom(e.deltaY > 0 ? 1.2 : 1 / 1.2, p);
    };
    element.addEventListener("wheel", wheel, { passive: false });
    return () => element.removeEventListener("wheel", wheel);
  });
  const names = new Map(graph.nodes.map((n) => [n.id, n.name]));
  const taken = (from: string, to: string) => marks.taken?.(names.get(from) ?? "", names.get(to) ?? "") ?? false;
  return (
    <div className="graph">
      {/* biome-ignore lint/a11y/useSemanticElements: a drawing is no fieldset */}
      <svg
        ref={svg}
        viewBox={`${view.x} ${view.y} ${view.w} ${view.h}`}
        role="group"
        aria-label="Diagram; its states follow as buttons"
        onPointerDown={(e) => {
          drag.current = { x: e.clientX, y: e.clientY, view };
        }}
        onPointerMove={(e) => {
          const from = drag.current;
          const scale = svg.current?.getScreenCTM()?.a;
          if (!from || !scale || e.buttons === 0) return;
          const dx = e.clientX - from.x;
          const dy = e.clientY - from.y;
          if (Math.abs(dx) + Math.abs(dy) < 4) return;
          svg.current?.setPointerCapture(e.pointerId);
          setView({ ...from.view, x: from.view.x - dx / scale, y: from.view.y - dy / scale });
        }}
        onPointerUp={() => {
          drag.current = undefined;
        }}
      >
        {graph.edges.map((e, i) => {
          const mark = taken(e.from, e.to) ? " taken" : "";
          return (
            // biome-ignore lint/suspicious/noArrayIndexKey: parts of a drawing that never move
            <g key={i}>
              <path className={`g-edge${e.dashed ? " dashed" : ""}${mark}`} d={e.path}>
                {e.tip?.length ? <title>{e.tip.map((t) => visible(t)).join("\n")}</title> : null}
              </path>
              {e.head ? <path className={`g-head${mark}`} d={e.head} /> : null}
            </g>
          );
        })}
        {graph.nodes.map((n) => (
          <NodeView
            key={n.id}
            node={n}
            marks={marks}
            selected={n.name !== "" && n.name === selected}
            onSelect={onSelect}
          />
        ))}
        {graph.labels.map((l, i) =>
          l.lines.map((line, k) => (
            <text
              // biome-ignore lint/suspicious/noArrayIndexKey: parts of a drawing that never move
              key={`${i}.${k}`}
              className={`label${line.approval ? " approval" : ""}`}
              x={l.x}
              y={l.y - Math.trunc((l.lines.length * 14) / 2) + 11 + 14 * k}
              textAnchor={l.aside ? "start" : "middle"}
            >
              {visible(line.text)}
              <After text={marks.after?.(names.get(l.from) ?? "", names.get(l.to) ?? "", line.text)} />
            </text>
          )),
        )}
      </svg>
      <div className="tools">
        <button type="button" aria-label="Zoom in" onClick={() => zoom(1 / 1.4)}>
          +
        </button>
        <button type="button" aria-label="Zoom out" onClick={() => zoom(1.4)}>
          −
        </button>
        <button type="button" onClick={() => setView(whole)}>
          Fit
        </button>
      </div>
    </div>
  );
}

function After({ text }: { text?: string }) {
  return text ? <tspan className="after">{` ${text}`}</tspan> : null;
}

// As pkg/diagram draws it, so that the picture is the same as that of `interlock viz`.
const padding = 12;
const nameLine = 18;
const detailLine = 14;

function textsOf(n: Node): { above: string; name: string; below: string[] } {
  const below = [...(n.details ?? [])];
  if (n.kind === "success" || n.kind === "failure") below.push(n.kind);
  return { above: n.kind === "invoke" ? "invoke" : "", name: n.name, below };
}

const shorten = (text: string) => (text.length > 40 ? `${text.slice(0, 39)}…` : text);

function Shape({ node: n }: { node: Node }) {
  const middle = n.x + n.width / 2;
  if (n.kind === "start") return <circle cx={middle} cy={n.y + n.height / 2} r={n.width / 2} />;
  if (n.kind === "choice") {
    const [w, h] = [n.width / 2, n.height / 2];
    return <path d={`M${middle} ${n.y}l${w} ${h}l${-w} ${h}l${-w} ${-h}z`} />;
  }
  const radius =
    n.kind === "fork" || n.kind === "join" ? 2 : n.kind === "invoke" ? 0 : n.kind === "return" ? n.height / 2 : 7;
  return <rect x={n.x} y={n.y} width={n.width} height={n.height} rx={radius} />;
}

function Words({ node: n }: { node: Node }) {
  if (n.kind === "start" || n.kind === "fork" || n.kind === "join" || n.kind === "choice") return null;
  if (n.kind === "branch")
    return (
      <text className="branch-name" x={n.x + padding} y={n.y + 16}>
        branch {visible(shorten(n.name))}
      </text>
    );
  const middle = n.x + n.width / 2;
  const { above, name, below } = textsOf(n);
  const top = n.y + padding / 2 + (above ? detailLine : 0);
  return (
    <>
      {above && (
        <text className="detail" x={middle} y={n.y + padding / 2 + 10} textAnchor="middle">
          {above}
        </text>
      )}
      <text className="name" x={middle} y={top + 13} textAnchor="middle">
        {visible(shorten(name))}
      </text>
      {below.map((line, i) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: lines of one text
        <text key={i} className="detail" x={middle} y={top + nameLine + 10 + i * detailLine} textAnchor="middle">
          {visible(line)}
        </text>
      ))}
    </>
  );
}

const states = new Set(["state", "success", "failure"]);

interface NodeProps {
  node: Node;
  marks: Marks;
  selected: boolean;
  onSelect?: (state: string) => void;
}

function NodeView({ node: n, marks, selected, onSelect }: NodeProps) {
  const named = n.name !== "" && states.has(n.kind);
  const classes = ["g-node", n.kind, named ? (marks.state?.(n.name) ?? "") : "", selected ? "selected" : ""];
  const choose = named && onSelect ? () => onSelect(n.name) : undefined;
  const tick = named ? (marks.tick?.(n.name) ?? "") : "";
  const tips = [n.name, ...(n.tip ?? [])].filter(Boolean).map((t) => visible(t));
  return (
    <g
      className={classes.filter(Boolean).join(" ")}
      {...(choose
        ? {
            role: "button",
            tabIndex: 0,
            "aria-pressed": selected,
            onClick: choose,
            onKeyDown: (e: React.KeyboardEvent) => {
              if (e.key !== "Enter" && e.key !== " ") return;
              e.preventDefault();
              choose();
            },
          }
        : {})}
    >
      {tips.length > 0 && <title>{tips.join("\n")}</title>}
      <Shape node={n} />
      <Words node={n} />
      {tick && (
        // Right of the arrow that comes in: beside the state there may be another one, or the picture's edge.
        <text className={marks.bad ? "tick bad" : "tick"} x={n.x + n.width / 2 + 8} y={n.y - 4}>
          {tick}
        </text>
      )}
    </g>
  );
}
