import { Link } from "@tanstack/react-router";
import { useState } from "react";
import type { Filters } from "../router";
import { keep, readKept } from "./kept";
import { visible } from "./visible";

interface Props {
  /** The list whose views these are. */
  of: "runs" | "decisions";
  to: "/runs" | "/decisions";
  search: Filters;
}

interface View {
  name: string;
  search: Filters;
}

const mostViews = 30;

const viewsOf = (kept: unknown) =>
  Array.isArray(kept) ? (kept as View[]).filter((v) => typeof v?.name === "string").slice(0, mostViews) : [];

/** Filters that were given a name in this browser. */
export function Views({ of, to, search }: Props) {
  const key = `interlock-views-${of}`;
  const [views, setViews] = useState(() => readKept(key, viewsOf) ?? []);
  const [naming, setNaming] = useState(false);
  const [name, setName] = useState("");
  const set = (next: View[]) => {
    const few = next.slice(0, mostViews);
    keep(key, few);
    setViews(few);
  };
  const filtered = Object.values(search).some(Boolean);
  if (views.length === 0 && !filtered) return null;
  return (
    <div className="row small">
      {views.map((v) => (
        <span key={v.name} className="view">
          <Link to={to} search={v.search}>
            {visible(v.name)}
          </Link>
          <button
            type="button"
            className="quiet"
            aria-label={`Forget the view ${visible(v.name)}`}
            onClick={() => set(views.filter((other) => other !== v))}
          >
            ×
          </button>
        </span>
      ))}
      {filtered &&
        (naming ? (
          <form
            className="row"
            onSubmit={(e) => {
              e.preventDefault();
              const named = name.trim();
              if (named) set([{ name: named, search }, ...views.filter((v) => v.name !== named)]);
              setNaming(false);
              setName("");
            }}
          >
            <input
              aria-label="Name of the view"
              placeholder="Name of the view"
              maxLength={60}
              value={name}
              // biome-ignore lint/a11y/noAutofocus: the button that opened this is gone
              autoFocus
              onChange={(e) => setName(e.target.value)}
            />
            <button type="submit">Keep</button>
          </form>
        ) : (
          <button type="button" className="quiet" onClick={() => setNaming(true)}>
            Keep this view
          </button>
        ))}
    </div>
  );
}
