import { Link } from "@tanstack/react-router";
import { useState } from "react";
import type { Filters } from "../router";
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

function read(key: string): View[] {
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(key) ?? "[]");
    return Array.isArray(kept) ? (kept as View[]).filter((v) => typeof v?.name === "string").slice(0, mostViews) : [];
  } catch {
    return [];
  }
}

/** Filters that were given a name in this browser. */
export function Views({ of, to, search }: Props) {
  const key = `interlock-views-${of}`;
  const [views, setViews] = useState(() => read(key));
  const [naming, setNaming] = useState(false);
  const [name, setName] = useState("");
  const keep = (next: View[]) => {
    localStorage.setItem(key, JSON.stringify(next.slice(0, mostViews)));
    setViews(next.slice(0, mostViews));
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
            onClick={() => keep(views.filter((other) => other !== v))}
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
              if (named) keep([{ name: named, search }, ...views.filter((v) => v.name !== named)]);
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
