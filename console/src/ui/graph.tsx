import { type FormEvent, useEffect, useId, useLayoutEffect, useMemo, useRef, useState } from "react";
import type { Schemas } from "../api/client";
import {
  boxOfPath,
  firstView,
  found,
  holds,
  meets,
  middleOf,
  overview,
  type Room,
  readable,
  seenBy,
  type View,
  whole,
  zoomed,
} from "./view";
import { visible } from "./visible";
import "./graph.css";

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

interface Props {
  graph: Graph;
  marks?: Marks;
  selected?: string;
  /** The state in which a run is: the view follows it until it is moved. */
  here?: string;
  onSelect?: (state: string) => void;
}

/** How many states a graph must have for a field that finds one. */
const manyStates = 12;
/** How many names the field proposes. */
const mostProposed = 40;

/** The size of an element, as it changes. */
function useRoom(): [React.RefObject<SVGSVGElement | null>, Room] {
  const element = useRef<SVGSVGElement>(null);
  const [room, setRoom] = useState<Room>({ width: 0, height: 0 });
  useLayoutEffect(() => {
    if (!element.current) return;
    const observer = new ResizeObserver(([entry]) => {
      if (entry) setRoom({ width: entry.contentRect.width, height: entry.contentRect.height });
    });
    observer.observe(element.current);
    const box = element.current.getBoundingClientRect();
    setRoom({ width: box.width, height: box.height });
    return () => observer.disconnect();
  }, []);
  return [element, room];
}

/** A diagram as the server laid it out: drag to move, Ctrl and the wheel or buttons to zoom, click a state to select it. Only the part that is seen is drawn. */
export function GraphView({ graph, marks = {}, selected, here, onSelect }: Props) {
  const [svg, room] = useRoom();
  const states = useMemo(() => graph.nodes.filter(isState), [graph]);
  const [moved, setMoved] = useState<View>();
  const [follows, setFollows] = useState(true);
  const [aim, setAim] = useState<string>();
  const drag = useRef<{ x: number; y: number; view: View } | undefined>(undefined);
  const place = states.find((n) => n.name === here);
  const start = place ?? graph.nodes.find((n) => n.kind === "start") ?? graph.nodes[0];
  const known = room.width > 0 && room.height > 0;
  const view = moved ?? (known ? firstView(graph, room, start) : { x: 0, y: 0, scale: 1 });
  const seen = seenBy(view, room);
  const limits: [number, number] = [Math.min(whole(graph, room).scale, readable) / 2, 4];
  const live = useRef({ view, limits });
  live.current = { view, limits };
  const size = `${graph.width} ${graph.height}`;
  const drawnSize = useRef(size);
  useEffect(() => {
    if (drawnSize.current === size) return;
    drawnSize.current = size; // another diagram
    setMoved(undefined);
    setAim(undefined);
  }, [size]);
  // The view goes with the run, until a person moves it.
  // biome-ignore lint/correctness/useExhaustiveDependencies: it is the place that counts
  useEffect(() => {
    if (follows && place) setMoved((v) => (v ? { ...v, ...middleOf(place) } : v));
  }, [here, follows]);
  const look = (next: View) => {
    setMoved(next);
    setFollows(false);
  };
  const goTo = (name: string) => {
    const node = states.find((n) => n.name === name);
    if (!node) return;
    setAim(name);
    look({ ...middleOf(node), scale: Math.max(view.scale, 0.8) });
  };
  const point = (clientX: number, clientY: number) => {
    const box = svg.current?.getBoundingClientRect();
    const now = live.current.view;
    if (!box) return { x: now.x, y: now.y };
    return {
      x: now.x + (clientX - box.left - box.width / 2) / now.scale,
      y: now.y + (clientY - box.top - box.height / 2) / now.scale,
    };
  };
  // biome-ignore lint/correctness/useExhaustiveDependencies: it reads the present view
  useEffect(() => {
    const element = svg.current;
    if (!element) return;
    // React listens passively; the page must not scroll along.
    const wheel = (e: WheelEvent) => {
      if (!e.ctrlKey && !e.metaKey) return;
      e.preventDefault();
      look(zoomed(live.current.view, e.deltaY > 0 ? 1 / 1.2 : 1.2, live.current.limits, point(e.clientX, e.clientY)));
    };
    element.addEventListener("wheel", wheel, { passive: false });
    return () => element.removeEventListener("wheel", wheel);
  }, []);
  const all = holds(seen, { x: 0, y: 0, width: graph.width, height: graph.height });
  return (
    <div className="graph">
      <div className="graph-tools">
        {states.length > manyStates && <GoTo names={states.map((n) => n.name)} onGo={goTo} />}
        <span className="grow" />
        {place && (
          <button
            type="button"
            onClick={() => {
              setAim(undefined);
              setMoved({ ...middleOf(place), scale: Math.max(view.scale, 0.8) });
              setFollows(true);
            }}
          >
            Where it is
          </button>
        )}
        <button type="button" aria-label="Zoom in" onClick={() => look(zoomed(view, 1.4, limits))}>
          +
        </button>
        <button type="button" aria-label="Zoom out" onClick={() => look(zoomed(view, 1 / 1.4, limits))}>
          −
        </button>
        <button type="button" onClick={() => look(whole(graph, room))}>
          Fit
        </button>
      </div>
      {/* biome-ignore lint/a11y/useSemanticElements: a drawing is no fieldset */}
      <svg
        ref={svg}
        viewBox={known ? `${seen.x} ${seen.y} ${seen.width} ${seen.height}` : undefined}
        role="group"
        aria-label="Diagram; its states in view follow as buttons"
        onPointerDown={(e) => {
          drag.current = { x: e.clientX, y: e.clientY, view };
        }}
        onPointerMove={(e) => {
          const from = drag.current;
          if (!from || e.buttons === 0) return;
          const dx = e.clientX - from.x;
          const dy = e.clientY - from.y;
          if (Math.abs(dx) + Math.abs(dy) < 4) return;
          svg.current?.setPointerCapture(e.pointerId);
          look({ ...from.view, x: from.view.x - dx / from.view.scale, y: from.view.y - dy / from.view.scale });
        }}
        onPointerUp={() => {
          drag.current = undefined;
        }}
      >
        {known && view.scale < readable && <Coarse graph={graph} marks={marks} />}
        {known && view.scale >= readable && (
          <Fine graph={graph} marks={marks} seen={seen} selected={selected} aim={aim} onSelect={onSelect} />
        )}
      </svg>
      {known && !all && (
        <Minimap graph={graph} place={place} seen={seen} onLook={(to) => look({ ...to, scale: view.scale })} />
      )}
    </div>
  );
}

/** A field that finds a state by a part of its name. Enter goes to the next one that has it. */
function GoTo({ names, onGo }: { names: string[]; onGo: (name: string) => void }) {
  const [word, setWord] = useState("");
  const [at, setAt] = useState(-1);
  const list = useId();
  const all = found(names, word);
  const submit = (e: FormEvent) => {
    e.preventDefault();
    if (all.length === 0) return;
    const next = (at + 1) % all.length;
    setAt(next);
    onGo(all[next] ?? "");
  };
  return (
    <form className="row" onSubmit={submit}>
      <input
        type="search"
        aria-label="Go to state"
        placeholder="Find state"
        list={list}
        value={word}
        onChange={(e) => {
          setWord(e.target.value);
          setAt(-1);
        }}
      />
      <datalist id={list}>
        {(word ? all : names).slice(0, mostProposed).map((name) => (
          <option key={name} value={visible(name)} />
        ))}
      </datalist>
      {word && (
        <span className="small dim" role="status">
          {all.length === 0 ? "no such state" : at < 0 ? `${all.length} found` : `${at + 1} of ${all.length}`}
        </span>
      )}
    </form>
  );
}

const shapeOf = (n: Node) => `M${n.x} ${n.y}h${n.width}v${n.height}h${-n.width}z`;

/** The diagram without texts, for scales at which none could be read. */
function Coarse({ graph, marks }: { graph: Graph; marks: Marks }) {
  const groups = new Map<string, string>();
  for (const n of graph.nodes) {
    const mark = n.kind === "branch" ? "branch" : isState(n) ? (marks.state?.(n.name) ?? "") : "";
    groups.set(mark, (groups.get(mark) ?? "") + shapeOf(n));
  }
  return (
    <>
      {[...groups]
        .sort(([a], [b]) => Number(b === "branch") - Number(a === "branch"))
        .map(([mark, path]) => (
          <path key={mark} className={`g-coarse ${mark}`} d={path} />
        ))}
      <path className="g-edge" d={graph.edges.map((e) => e.path).join("")} />
    </>
  );
}

interface FineProps {
  graph: Graph;
  marks: Marks;
  seen: ReturnType<typeof seenBy>;
  selected?: string;
  aim?: string;
  onSelect?: (state: string) => void;
}

/** How far a label may reach from its point. */
const reach = 180;

/** The part of the diagram that is seen: the boxes of branches, the edges above these, then all other nodes. */
function Fine({ graph, marks, seen, selected, aim, onSelect }: FineProps) {
  const boxes = useMemo(() => graph.edges.map((e) => boxOfPath(e.path)), [graph]);
  const names = useMemo(() => new Map(graph.nodes.map((n) => [n.id, n.name])), [graph]);
  const taken = (from: string, to: string) => marks.taken?.(names.get(from) ?? "", names.get(to) ?? "") ?? false;
  const wide = { x: seen.x - 20, y: seen.y - 20, width: seen.width + 40, height: seen.height + 40 };
  const nodes = graph.nodes.filter((n) => meets(wide, n));
  const node = (n: Node) => (
    <NodeView
      key={n.id}
      node={n}
      marks={marks}
      selected={n.name !== "" && n.name === selected}
      aimed={isState(n) && n.name === aim}
      onSelect={onSelect}
    />
  );
  return (
    <>
      {nodes.filter((n) => n.kind === "branch").map(node)}
      {graph.edges.map((e, i) => {
        const box = boxes[i];
        if (!box || !meets(wide, box)) return null;
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
      {nodes.filter((n) => n.kind !== "branch").map(node)}
      {graph.labels.map((l, i) =>
        meets(wide, { x: l.x - reach, y: l.y - reach, width: 2 * reach, height: 2 * reach })
          ? l.lines.map((line, k) => (
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
            ))
          : null,
      )}
    </>
  );
}

interface MinimapProps {
  graph: Graph;
  place: Node | undefined;
  seen: ReturnType<typeof seenBy>;
  onLook: (to: { x: number; y: number }) => void;
}

/** The whole diagram in a corner, with the part that is seen; a click looks there. */
function Minimap({ graph, place, seen, onLook }: MinimapProps) {
  const room = overview(graph, { width: 96, height: 120 }, 28);
  const shapes = useMemo(
    () =>
      graph.nodes
        .filter((n) => n.kind !== "branch")
        .map(shapeOf)
        .join(""),
    [graph],
  );
  const look = (e: React.PointerEvent<SVGSVGElement>) => {
    const box = e.currentTarget.getBoundingClientRect();
    onLook({
      x: ((e.clientX - box.left) / box.width) * graph.width,
      y: ((e.clientY - box.top) / box.height) * graph.height,
    });
  };
  // A part that would be too small to be seen is drawn larger than it is.
  const least = { width: (graph.width / room.width) * 5, height: (graph.height / room.height) * 5 };
  const [width, height] = [Math.max(seen.width, least.width), Math.max(seen.height, least.height)];
  const middle = middleOf(seen);
  return (
    <svg
      className="minimap"
      role="img"
      aria-label="Overview of the diagram"
      style={room}
      viewBox={`0 0 ${graph.width} ${graph.height}`}
      preserveAspectRatio="none"
      onPointerDown={look}
      onPointerMove={(e) => e.buttons !== 0 && look(e)}
    >
      <path className="m-nodes" d={shapes} />
      {place && (
        <ellipse
          className="m-here"
          cx={middleOf(place).x}
          cy={middleOf(place).y}
          rx={(graph.width / room.width) * 4}
          ry={(graph.height / room.height) * 4}
        />
      )}
      <rect className="m-seen" x={middle.x - width / 2} y={middle.y - height / 2} width={width} height={height} />
    </svg>
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

/** The texts of a node. The server leaves a line of room in a state: it is for the tick. */
function Words({ node: n, tick, bad }: { node: Node; tick: string; bad?: boolean }) {
  if (n.kind === "start" || n.kind === "fork" || n.kind === "join" || n.kind === "choice") return null;
  if (n.kind === "branch")
    return (
      <text className="branch-name" x={n.x + padding} y={n.y + 16}>
        branch {visible(shorten(n.name))}
      </text>
    );
  const middle = n.x + n.width / 2;
  const { above, name, below } = textsOf(n);
  const top = n.y + padding / 2 + (above ? detailLine : 0) + (isState(n) && !tick ? detailLine / 2 : 0);
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
      {tick && (
        <text className={bad ? "tick bad" : "tick"} x={middle} y={n.y + n.height - padding / 2 - 4} textAnchor="middle">
          {tick}
        </text>
      )}
    </>
  );
}

const stateKinds = new Set(["state", "success", "failure"]);
const isState = (n: Node) => n.name !== "" && stateKinds.has(n.kind);

interface NodeProps {
  node: Node;
  marks: Marks;
  selected: boolean;
  /** Whether a search has found it. */
  aimed: boolean;
  onSelect?: (state: string) => void;
}

function NodeView({ node: n, marks, selected, aimed, onSelect }: NodeProps) {
  const named = isState(n);
  const classes = [
    "g-node",
    n.kind,
    named ? (marks.state?.(n.name) ?? "") : "",
    selected ? "selected" : "",
    aimed ? "aimed" : "",
  ];
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
      <Words node={n} tick={tick} bad={marks.bad} />
    </g>
  );
}
