// biome-ignore-all lint/a11y/useSemanticElements: the visible rows are drawn at their places, and elements of tables cannot have places
// biome-ignore-all lint/a11y/useFocusableInteractive: the link or button inside has the focus
import {
  type InfiniteData,
  type UseInfiniteQueryResult,
  type UseQueryResult,
  useInfiniteQuery,
} from "@tanstack/react-query";
import { Link, type LinkProps } from "@tanstack/react-router";
import { useVirtualizer } from "@tanstack/react-virtual";
import { type MouseEvent, type ReactNode, useEffect, useMemo, useRef, useState } from "react";
import { get, type Query } from "../api/client";
import type { Filters } from "../router";
import { Empty, Failure } from "./basics";
import { keep, readKept, texts } from "./kept";
import { lengthOf, usePhone } from "./media";
import { Menu } from "./menu";
import { nextSort, type Sort, sorted, type Value } from "./sort";
import "./table.css";

/** Reads a list page by page, as far as it is scrolled. */
export function usePages<P extends { next_page_token?: string }>(key: unknown[], path: string, query: Query) {
  return useInfiniteQuery({
    queryKey: key,
    queryFn: ({ pageParam, signal }) =>
      get<P>(path, { ...query, page_size: 100, page_token: pageParam || undefined }, signal),
    initialPageParam: "",
    getNextPageParam: (last) => last.next_page_token || undefined,
    // A list that is read again starts with its first pages; more come when it is scrolled.
    maxPages: 0,
  });
}

/** Returns the rows of all loaded pages. */
export function useItems<P, T>(pages: UseInfiniteQueryResult<InfiniteData<P>>, items: (page: P) => T[]): T[] {
  const data = pages.data;
  // biome-ignore lint/correctness/useExhaustiveDependencies: items reads a field of a page, and is the same at each call
  return useMemo(() => data?.pages.flatMap(items) ?? [], [data]);
}

/** The query of a table: all rows at once, or page by page. */
export type Source = Pick<UseQueryResult, "isPending" | "error" | "refetch"> &
  Partial<Pick<UseInfiniteQueryResult, "hasNextPage" | "isFetchingNextPage" | "fetchNextPage">>;

export interface Column<T> {
  id: string;
  name: string;
  cell: (item: T) => ReactNode;
  /** The value for the order of the rows; a column without it has no order. */
  by?: (item: T) => Value;
  /** The width, as a track of a grid. */
  width: string;
  /** True for a column of numbers: they stand at the right. */
  number?: boolean;
  /** True for the column with the link to the page of its row; it is always shown. */
  opens?: boolean;
  /** True for a column that is hidden until a person chooses it. */
  optional?: boolean;
  /** The line on a phone, where a row has two; a column without one is not shown there. */
  phone?: 1 | 2;
  /** True for the column at the right end of its line on a phone. */
  end?: boolean;
}

export interface Place {
  to: string;
  params?: Record<string, string>;
  search?: Filters;
}

/** The choice of rows, for one action to all of them. */
export interface Choice {
  chosen: ReadonlySet<string>;
  onChange: (chosen: ReadonlySet<string>) => void;
  /** The actions: they take the place of the number of rows, so that no row moves. */
  bar: (ids: string[]) => ReactNode;
}

interface Props<T> {
  /** The name by which this browser keeps the columns. */
  name: string;
  label: string;
  source: Source;
  items: T[];
  columns: Column<T>[];
  id: (item: T) => string;
  /** The page of a row. */
  place?: (item: T) => Place;
  /** The field of filters, and other parts above the rows. */
  tools?: ReactNode;
  choice?: Choice;
  /** The row whose page is beside the table, and the effect of a move to another row. */
  current?: string;
  onMove?: (item: T) => void;
  /** Further keys of the page, for the help. */
  keys?: [string, string][];
  empty: ReactNode;
  /** The number of items, if a row stands for several. */
  count?: number;
  /** True for one of several tables of a page: keys work inside of it only, and the columns are fixed. */
  small?: boolean;
  /** True where a row has two lines on every page, as on a phone. */
  twoLines?: boolean;
}

const ownKeys: [string, string][] = [
  ["j", "next row"],
  ["k", "previous row"],
  ["Enter", "open the row"],
  ["/", "filter"],
];

/** Shows a list of any length and draws its visible part. */
export function Table<T>(props: Props<T>) {
  const { source, items, label, tools, small, empty } = props;
  const [help, setHelp] = useState(false);
  const [shown, setShown] = useColumns(props.name, props.columns);
  const bar = useRef<HTMLDivElement>(null);
  const columns = props.columns.filter((c) => shown.has(c.id));
  const toFilter = () => bar.current?.querySelector<HTMLInputElement>("input[role=combobox]")?.focus();
  const keys = [...ownKeys, ...(props.choice ? [["x", "choose the row"] as [string, string]] : [])];
  return (
    <div className={small ? "table small-table" : "table"}>
      {!small && (
        <div className="table-tools" ref={bar}>
          {tools}
          {items.length > 0 && !props.twoLines && (
            <Menu name="Columns">
              <fieldset>
                <legend className="hidden-text">Columns of {label}</legend>
                {props.columns.map((c) => (
                  <label key={c.id} className="check">
                    <input
                      type="checkbox"
                      checked={shown.has(c.id)}
                      disabled={c.opens}
                      onChange={(e) => setShown(c.id, e.target.checked)}
                    />
                    {c.name}
                  </label>
                ))}
              </fieldset>
            </Menu>
          )}
          {items.length > 0 && (
            <button type="button" className="quiet keys" aria-expanded={help} onClick={() => setHelp(!help)}>
              Keys <kbd>?</kbd>
            </button>
          )}
          {help && (
            <dl className="menu-box keys-help" aria-label="Keys">
              {[...keys, ...(props.keys ?? []), ["?", "this help"]].map(([key, what]) => (
                <div key={key}>
                  <dt>
                    <kbd>{key}</kbd>
                  </dt>
                  <dd>{what}</dd>
                </div>
              ))}
            </dl>
          )}
        </div>
      )}
      {source.error ? <Failure error={source.error} retry={() => source.refetch()} /> : null}
      {source.isPending ? (
        <div className="skeleton" aria-busy="true" role="status" aria-label="Loading" />
      ) : items.length > 0 ? (
        <Rows {...props} columns={columns} toFilter={toFilter} toHelp={() => setHelp((h) => !h)} />
      ) : source.error ? null : (
        <Empty>{empty}</Empty>
      )}
    </div>
  );
}

/** Returns the columns to show: this browser's choice, or all but the optional ones. */
function useColumns<T>(name: string, columns: Column<T>[]) {
  const key = `interlock-columns-${name}`;
  const [chosen, setChosen] = useState(() => readKept(key, texts));
  const ids = chosen ?? columns.filter((c) => !c.optional).map((c) => c.id);
  const shown = new Set([...columns.filter((c) => c.opens).map((c) => c.id), ...ids]);
  const set = (id: string, show: boolean) => {
    const next = columns.map((c) => c.id).filter((other) => (other === id ? show : shown.has(other)));
    keep(key, next);
    setChosen(next);
  };
  return [shown, set] as const;
}

type Inner<T> = Props<T> & { toFilter: () => void; toHelp: () => void };

function Rows<T>(props: Inner<T>) {
  const { source, label, columns, id, choice, small } = props;
  const narrow = usePhone() || props.twoLines === true;
  const box = useRef<HTMLElement>(null);
  const [sort, setSort] = useState<Sort>();
  const partial = Boolean(source.hasNextPage);
  const by = partial ? undefined : columns.find((c) => c.id === sort?.column)?.by;
  const all = useMemo(() => (by && sort ? sorted(props.items, by, sort.down) : props.items), [props.items, by, sort]);
  const [head, height] = useMemo(
    () => (narrow ? [0, lengthOf("--row-phone")] : [lengthOf("--row-head"), lengthOf("--row")]),
    [narrow],
  );
  const rows = useVirtualizer({
    count: all.length,
    getScrollElement: () => box.current,
    estimateSize: () => height,
    overscan: 12,
    paddingStart: head,
    scrollPaddingStart: head,
  });
  // biome-ignore lint/correctness/useExhaustiveDependencies: rows have another height on a phone
  useEffect(() => rows.measure(), [height, rows]);
  const seen = rows.getVirtualItems();
  const last = seen.at(-1)?.index ?? 0;
  const { hasNextPage, isFetchingNextPage, fetchNextPage } = source;
  useEffect(() => {
    if (hasNextPage && !isFetchingNextPage && last > all.length - 30) fetchNextPage?.();
  }, [last, all.length, hasNextPage, isFetchingNextPage, fetchNextPage]);
  const marked = choice?.chosen;
  // biome-ignore lint/correctness/useExhaustiveDependencies: id reads a field of a row, and is the same at each call
  const chosen = useMemo(() => (marked?.size ? all.map(id).filter((one) => marked.has(one)) : []), [all, marked]);
  const toggle = (one: string) => {
    if (!choice) return;
    const next = new Set(chosen);
    if (!next.delete(one)) next.add(one);
    choice.onChange(next);
  };
  const at = useMoves(props, all, box, rows.scrollToIndex, toggle);
  return (
    <>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard */}
      <section className="list" ref={box} aria-label={label} tabIndex={0} style={{ height: rows.getTotalSize() + 2 }}>
        <div
          className={narrow ? "list-body narrow" : "list-body"}
          role="table"
          aria-label={label}
          aria-rowcount={all.length + (narrow ? 0 : 1)}
          style={
            {
              height: rows.getTotalSize(),
              "--columns": [choice ? "1.6rem" : "", ...columns.map((c) => c.width)].join(" "),
            } as React.CSSProperties
          }
        >
          {!narrow && (
            <div className="list-head" role="row" aria-rowindex={1}>
              {choice && (
                <ChooseAll
                  label={label}
                  some={chosen.length > 0}
                  every={chosen.length === all.length}
                  onChange={(every) => choice.onChange(new Set(every ? all.map(id) : []))}
                />
              )}
              {columns.map((c) => (
                <Heading
                  key={c.id}
                  column={c}
                  sort={by ? sort : undefined}
                  partial={partial}
                  onSort={() => setSort((now) => nextSort(now, c.id))}
                />
              ))}
            </div>
          )}
          {seen.map((v) => {
            const item = all[v.index];
            if (item === undefined) return null;
            const one = id(item);
            return (
              <Row
                key={one}
                {...props}
                item={item}
                index={v.index}
                start={v.start}
                narrow={narrow}
                at={Math.max(at, 0) === v.index}
                chosen={choice?.chosen.has(one) ?? false}
                toggle={() => toggle(one)}
              />
            );
          })}
        </div>
      </section>
      {!small && (
        <div className="table-foot" aria-live="polite">
          {choice && narrow && (
            <ChooseAll
              label={label}
              some={chosen.length > 0}
              every={chosen.length === all.length}
              onChange={(every) => choice.onChange(new Set(every ? all.map(id) : []))}
              bare
            />
          )}
          {choice && chosen.length > 0 ? (
            choice.bar(chosen)
          ) : (
            <span className="small dim">
              {props.count ?? all.length} {hasNextPage ? "so far; scroll for more" : "in all"}
            </span>
          )}
        </div>
      )}
    </>
  );
}

/** Moves through the rows by keyboard, and returns the place. */
function useMoves<T>(
  props: Inner<T>,
  all: T[],
  box: React.RefObject<HTMLElement | null>,
  scrollTo: (index: number) => void,
  toggle: (one: string) => void,
) {
  const { id, current, onMove, small, toFilter, toHelp } = props;
  const [at, setAt] = useState(-1);
  const wanted = useRef(false);
  const place = current === undefined ? at : all.findIndex((item) => id(item) === current);
  useEffect(() => {
    const move = (by: number) => {
      const next = Math.min(Math.max(place + by, 0), all.length - 1);
      const item = all[next];
      if (item === undefined) return;
      scrollTo(next);
      if (onMove) return onMove(item);
      wanted.current = true;
      setAt(next);
    };
    const actionOf = (e: KeyboardEvent, target: HTMLElement, inside: boolean) => {
      const row = all[place];
      const chooses = e.key === "x" || (e.key === " " && target.closest(".list-row") && !target.closest("input"));
      if (chooses && row !== undefined) return () => toggle(id(row));
      if (e.key === "j" || (inside && e.key === "ArrowDown")) return () => move(1);
      if (e.key === "k" || (inside && e.key === "ArrowUp")) return () => move(-1);
      if (e.key === "/" && !small) return toFilter;
      return e.key === "?" && !small ? toHelp : undefined;
    };
    const key = (e: KeyboardEvent) => {
      const target = e.target instanceof HTMLElement ? e.target : document.body;
      const typing = target.closest("input:not([type=checkbox]), textarea, select, dialog, [contenteditable=true]");
      const inside = box.current?.contains(target) ?? false;
      if (typing || e.ctrlKey || e.metaKey || e.altKey || (small && !inside)) return;
      const action = actionOf(e, target, inside);
      if (!action) return;
      e.preventDefault();
      action();
    };
    addEventListener("keydown", key);
    return () => removeEventListener("keydown", key);
  }, [all, place, box, scrollTo, toggle, id, onMove, small, toFilter, toHelp]);
  useEffect(() => {
    // The row may be drawn only after the list has scrolled to it.
    if (!wanted.current) return;
    const row = box.current?.querySelector<HTMLElement>(`[data-index="${at}"]`);
    if (!row) return;
    wanted.current = false;
    (row.querySelector<HTMLElement>("a.open") ?? row).focus({ preventScroll: true });
  });
  return place;
}

function Heading<T>({
  column: c,
  sort,
  partial,
  onSort,
}: {
  column: Column<T>;
  sort: Sort | undefined;
  partial: boolean;
  onSort: () => void;
}) {
  const mine = sort?.column === c.id;
  if (!c.by) return <span role="columnheader">{c.name}</span>;
  return (
    <span
      role="columnheader"
      className={c.number ? "number" : undefined}
      aria-sort={mine ? (sort.down ? "descending" : "ascending") : "none"}
    >
      <button
        type="button"
        className="quiet"
        disabled={partial}
        title={
          partial
            ? "Not all rows are loaded, so they cannot be sorted: filter them, or scroll to the end"
            : `Sort by ${c.name.toLowerCase()}`
        }
        onClick={onSort}
      >
        {c.name}
        <span aria-hidden="true">{mine ? (sort.down ? " ↓" : " ↑") : ""}</span>
      </button>
    </span>
  );
}

/** Chooses all loaded rows, or none. */
function ChooseAll({
  label,
  some,
  every,
  bare,
  onChange,
}: {
  label: string;
  some: boolean;
  every: boolean;
  bare?: boolean;
  onChange: (every: boolean) => void;
}) {
  const box = useRef<HTMLInputElement>(null);
  useEffect(() => {
    if (box.current) box.current.indeterminate = some && !every;
  }, [some, every]);
  const input = (
    <label className="pick">
      <input
        ref={box}
        type="checkbox"
        checked={every}
        aria-label={`Choose all ${label.toLowerCase()} that are loaded`}
        onChange={(e) => onChange(e.target.checked)}
      />
    </label>
  );
  return bare ? input : <span role="columnheader">{input}</span>;
}

interface RowProps<T> extends Props<T> {
  item: T;
  index: number;
  start: number;
  narrow: boolean;
  at: boolean;
  chosen: boolean;
  toggle: () => void;
}

/** Opens the page of a row by a click anywhere but on its links and buttons; marking its text opens nothing. */
function openRow(e: MouseEvent<HTMLElement>) {
  const target = e.target as HTMLElement;
  if (target.closest("a, button, input, label") || getSelection()?.isCollapsed === false) return;
  const { ctrlKey, metaKey, shiftKey } = e;
  e.currentTarget
    .querySelector("a.open")
    ?.dispatchEvent(
      new globalThis.MouseEvent("click", { bubbles: true, cancelable: true, ctrlKey, metaKey, shiftKey }),
    );
}

function Row<T>({ item, columns, id, place, choice, current, index, start, narrow, at, chosen, toggle }: RowProps<T>) {
  const one = id(item);
  const to = place?.(item);
  const drawn = (c: Column<T>) =>
    to && c.opens ? (
      <Link {...(to as LinkProps)} className="open" tabIndex={at ? 0 : -1}>
        {c.cell(item)}
      </Link>
    ) : (
      c.cell(item)
    );
  const line = (n: 1 | 2) => columns.filter((c) => c.phone === n);
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the link in the row is for the keyboard
    <div
      className={`list-row${to ? " opens" : ""}${chosen ? " chosen" : ""}`}
      role="row"
      aria-rowindex={index + (narrow ? 1 : 2)}
      data-index={index}
      aria-current={current === undefined ? undefined : current === one}
      tabIndex={to ? undefined : -1}
      style={{ transform: `translateY(${start}px)` }}
      onClick={to && openRow}
    >
      {choice && (
        <span role="cell">
          <label className="pick">
            <input type="checkbox" aria-label={`Choose ${one}`} checked={chosen} onChange={toggle} />
          </label>
        </span>
      )}
      {narrow ? (
        <span className="two" role="cell">
          <span className="line">
            {line(1).map((c) => (
              <span key={c.id} className={c.end ? "end" : undefined}>
                {drawn(c)}
              </span>
            ))}
          </span>
          <span className="line dim">
            {line(2).map((c) => (
              <span key={c.id} className={c.end ? "end" : undefined}>
                {drawn(c)}
              </span>
            ))}
          </span>
        </span>
      ) : (
        columns.map((c) => (
          <span key={c.id} role="cell" className={c.number ? "number" : undefined}>
            {drawn(c)}
          </span>
        ))
      )}
    </div>
  );
}
