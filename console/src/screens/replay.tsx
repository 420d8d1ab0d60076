import { useMutation } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { lazy, Suspense, useState } from "react";
import { ask, get, type Schemas, segment } from "../api/client";
import { parse, pretty } from "../api/json";
import { Chip, Empty, Facts, Failure, Text } from "../ui/basics";
import { GraphView, type Marks } from "../ui/graph";
import { visible } from "../ui/visible";

const Editor = lazy(() => import("../ui/editor"));

type Group = Schemas["Group"];
type Difference = Schemas["Difference"];

const kinds: Record<string, string> = { loosened: "deny", tightened: "ask", other: "" };
const counted = (n: number, one: string, many = `${one}s`) => `${n} ${n === 1 ? one : many}`;

/** How many runs of one cause are listed. */
const most = 20;

interface Props {
  workflow: Schemas["Workflow"];
  graph: Schemas["Graph"];
  newest: number;
}

/** The decisions in recorded runs that a candidate would change. The result is not stored. */
export function Replay({ workflow: w, graph, newest }: Props) {
  const [text, setText] = useState(() => pretty(w.definition));
  const [from, setFrom] = useState(String(w.version));
  const [limit, setLimit] = useState(100);
  const [shown, setShown] = useState<string>();
  const load = useMutation({
    mutationFn: (version: string) => get<Schemas["Workflow"]>(`/v1/workflows/${segment(w.name)}/versions/${version}`),
    onSuccess: (other, version) => {
      setText(pretty(other.definition));
      setFrom(version);
    },
  });
  const replay = useMutation({
    mutationFn: () => {
      parse(text); // or reports its error
      // As it was written: numbers stay unchanged.
      return ask<Schemas["Replay"]>(
        `/v1/workflows/${segment(w.name)}/replay`,
        `{"candidate": ${text}, "limit": ${limit}}`,
      );
    },
    onMutate: () => setShown(undefined),
  });
  const groups = replay.data?.differences ?? [];
  const marked = groups.filter((g) => shown === undefined || keyOf(g) === shown).flatMap((g) => g.runs);
  return (
    <div className="split">
      <div className="stack">
        <GraphView graph={graph} marks={marksOf(graph, marked)} />
        {replay.data ? <Summary replay={replay.data} /> : null}
        {groups.map((g) => (
          <Cause
            key={keyOf(g)}
            group={g}
            shown={shown === keyOf(g)}
            onShow={() => setShown(shown === keyOf(g) ? undefined : keyOf(g))}
          />
        ))}
      </div>
      <div className="stack">
        <form
          className="row"
          onSubmit={(e) => {
            e.preventDefault();
            replay.mutate();
          }}
        >
          <label className="row small">
            Candidate
            <select value={from} onChange={(e) => e.target.value && load.mutate(e.target.value)}>
              <option value="">edited below</option>
              {Array.from({ length: newest }, (_, i) => newest - i).map((n) => (
                <option key={n} value={n}>
                  version {n}
                </option>
              ))}
            </select>
          </label>
          <label className="row small">
            Newest runs
            <input
              type="number"
              min={1}
              max={500}
              value={limit}
              onChange={(e) => setLimit(Math.min(500, Math.max(1, Math.trunc(Number(e.target.value)) || 1)))}
            />
          </label>
          <span className="grow" />
          <button type="submit" className="primary" disabled={replay.isPending || load.isPending}>
            Replay
          </button>
        </form>
        {load.error ? <Failure error={load.error} /> : null}
        {replay.error ? <Failure error={replay.error} /> : null}
        <Suspense fallback={<div className="skeleton" />}>
          <Editor
            text={text}
            label="Candidate"
            onChange={(next) => {
              setText(next);
              setFrom("");
            }}
          />
        </Suspense>
      </div>
    </div>
  );
}

const keyOf = (g: Group) => `${g.effect} ${g.cause}`;

/** Differences at the states and transitions where they occur, by their number. */
function marksOf(graph: Schemas["Graph"], all: Difference[]): Marks {
  const names = new Map(graph.nodes.map((n) => [n.id, n.name]));
  const takes = (d: Difference, from: string, to: string, text: string) =>
    d.event !== undefined &&
    d.state === from &&
    (text === d.event || text.startsWith(`${d.event} `)) &&
    (to === "" || d.to === to || d.to === d.state); // one that waited for an approval stayed
  const drawn = (d: Difference) =>
    graph.labels.some((l) =>
      l.lines.some((line) => takes(d, names.get(l.from) ?? "", names.get(l.to) ?? "", line.text)),
    );
  const times = (n: number) => (n > 0 ? `${n}×` : "");
  const at = (state: string) => all.filter((d) => d.state === state && !drawn(d)).length;
  return {
    bad: true,
    state: (s) => (at(s) > 0 ? "changed" : ""),
    tick: (s) => times(at(s)),
    after: (from, to, text) => times(all.filter((d) => takes(d, from, to, text)).length),
  };
}

function Summary({ replay: r }: { replay: Schemas["Replay"] }) {
  const open = Object.entries(r.open).map(([why, n]): [string, string] => [`Not decided, because ${why}`, String(n)]);
  if (r.runs === 0 && !r.stopped && !r.gone) return <Empty>There are no runs of it to replay.</Empty>;
  return (
    <section className="panel stack tight" aria-label="What came of it">
      <div className="row">
        <strong>{counted(r.runs, "run")} replayed</strong>
        {r.loosened > 0 && <Chip kind="deny">{`${r.loosened} loosened`}</Chip>}
        {r.tightened > 0 && <Chip kind="ask">{`${r.tightened} tightened`}</Chip>}
        {r.other > 0 && <Chip>{`${r.other} other`}</Chip>}
        {r.differences.length === 0 && (
          <Chip kind={r.undecided > 0 ? "ask" : "ok"}>
            {r.undecided > 0 ? "nothing is known to differ" : "nothing differs"}
          </Chip>
        )}
      </div>
      <Facts
        facts={[
          ["Entries the same", String(r.same)],
          ["Not known, after a difference", r.beyond > 0 ? String(r.beyond) : ""],
          ...open,
          ["Runs no longer stored", r.gone ? String(r.gone) : ""],
        ]}
      />
      {r.stopped && (
        <p className="small">
          {r.stopped === "TIME" ? "The time was up before all runs were replayed." : "There are older runs, too."}
        </p>
      )}
    </section>
  );
}

function Cause({ group: g, shown, onShow }: { group: Group; shown: boolean; onShow: () => void }) {
  return (
    <section className="panel stack tight" aria-label={`${g.effect}: ${visible(g.cause)}`}>
      <div className="row">
        <Chip kind={kinds[g.effect]}>{g.effect}</Chip>
        <Text>{g.cause}</Text>
        <span className="grow" />
        <span className="dim small">{counted(g.runs.length, "run")}</span>
        <button type="button" aria-pressed={shown} onClick={onShow}>
          Mark only these
        </button>
      </div>
      <ul className="plain">
        {g.runs.slice(0, most).map((d) => (
          <li key={d.run_id} className="item">
            <Link to="/runs/$id" params={{ id: d.run_id }} className="mono small">
              <Text>{d.run_id}</Text>
            </Link>
            <span>
              <Text>{d.what}</Text>
            </span>
            <span className="dim small">
              {d.entry} {d.number}; {counted(d.beyond, "entry", "entries")} beyond it not known
            </span>
          </li>
        ))}
      </ul>
      {g.runs.length > most && <p className="small dim">and {g.runs.length - most} more</p>}
    </section>
  );
}
