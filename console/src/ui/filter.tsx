// biome-ignore-all lint/a11y/useSemanticElements: a list of options that are typed, too, is no select
import { useId, useRef, useState } from "react";
import {
  completed,
  type Grammar,
  merged,
  parse,
  type Search,
  type Suggestion,
  searchOf,
  suggestions,
  type Token,
  tokensOf,
  written,
} from "./tokens";
import { visible } from "./visible";

interface Props {
  /** The name of the rows. */
  label: string;
  grammar: Grammar;
  search: Search;
  /** Takes the parameters of the address: empty ones are removed. */
  onChange: (search: Search) => void;
}

/** Shows one field for all filters of a list: a click removes a token, and the next one is typed after them. */
export function FilterField({ label, grammar, search, onChange }: Props) {
  const [typed, setTyped] = useState("");
  const [problems, setProblems] = useState<string[]>([]);
  const [open, setOpen] = useState(false);
  const [at, setAt] = useState(-1);
  const list = useId();
  const input = useRef<HTMLInputElement>(null);
  const tokens = tokensOf(search, grammar);
  const offered = open ? suggestions(typed, grammar) : [];
  const set = (next: Token[]) => onChange(searchOf(next, grammar));
  const type = (text: string) => {
    setTyped(text);
    setProblems([]);
    setOpen(true);
    setAt(-1);
  };
  const apply = (text: string) => {
    const parsed = parse(text, grammar);
    setProblems(parsed.problems);
    if (parsed.problems.length > 0) return;
    setTyped("");
    setAt(-1);
    setOpen(false);
    if (parsed.tokens.length > 0) set(merged(tokens, parsed.tokens));
  };
  const take = (s: Suggestion) => {
    const text = completed(typed, s);
    if (s.whole) apply(text);
    else type(text);
    input.current?.focus();
  };
  const key = (e: React.KeyboardEvent<HTMLInputElement>) => {
    const chosen = offered[at];
    const last = tokens.at(-1);
    if (e.key === "ArrowDown" || e.key === "ArrowUp") {
      const count = offered.length + 1;
      setAt(((at + 1 + (e.key === "ArrowDown" ? 1 : -1) + count) % count) - 1);
      setOpen(true);
    } else if (e.key === "Enter") {
      if (chosen) take(chosen);
      else apply(typed);
    } else if (e.key === "Tab" && chosen) take(chosen);
    else if (e.key === "Escape") {
      if (open) setOpen(false);
      else input.current?.blur();
    } else if (e.key === "Backspace" && typed === "" && last) {
      type(written(last, grammar));
      set(tokens.slice(0, -1));
    } else return;
    e.preventDefault();
  };
  return (
    <div className="filter">
      <div className="filter-field">
        {tokens.map((t) => {
          const text = visible(written(t, grammar));
          return (
            <button
              key={text}
              type="button"
              className={`token${t.not ? " not" : ""}`}
              aria-label={`Remove the filter ${text}`}
              title={`Remove ${text}`}
              onClick={() => set(tokens.filter((other) => other !== t))}
            >
              {text} <span aria-hidden="true">×</span>
            </button>
          );
        })}
        <input
          ref={input}
          role="combobox"
          aria-label={`Filter ${label}`}
          aria-expanded={offered.length > 0}
          aria-controls={list}
          aria-autocomplete="list"
          aria-activedescendant={at >= 0 ? `${list}-${at}` : undefined}
          autoComplete="off"
          autoCapitalize="off"
          spellCheck={false}
          enterKeyHint="search"
          placeholder={tokens.length > 0 ? "" : `Filter ${label}`}
          value={typed}
          onChange={(e) => type(e.target.value)}
          onFocus={() => setOpen(true)}
          onClick={() => setOpen(true)}
          onBlur={() => {
            setOpen(false);
            if (typed.trim() && parse(typed, grammar).tokens.length > 0) apply(typed);
          }}
          onKeyDown={key}
        />
      </div>
      <div
        className="menu-box"
        id={list}
        role="listbox"
        aria-label={`Filters of ${label}`}
        hidden={offered.length === 0}
      >
        {offered.map((s, i) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the field has the keys
          <div
            key={s.text}
            id={`${list}-${i}`}
            role="option"
            tabIndex={-1}
            aria-selected={i === at}
            onPointerDown={(e) => e.preventDefault()} // the field keeps the focus
            onClick={() => take(s)}
          >
            <code>{visible(s.text)}</code> <span className="dim small">{s.about}</span>
          </div>
        ))}
      </div>
      {problems.length > 0 && (
        <p className="menu-box problem" role="alert">
          {visible(problems.join(" "))}
        </p>
      )}
    </div>
  );
}
