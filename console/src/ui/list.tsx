import { type InfiniteData, type UseInfiniteQueryResult, useInfiniteQuery } from "@tanstack/react-query";
import { useVirtualizer } from "@tanstack/react-virtual";
import { type ReactNode, useEffect, useRef } from "react";
import { get, type Query } from "../api/client";
import { Empty, Failure } from "./basics";

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

interface Props<P, T> {
  pages: UseInfiniteQueryResult<InfiniteData<P>>;
  items: (page: P) => T[];
  row: (item: T, style: React.CSSProperties) => ReactNode;
  label: string;
  empty: ReactNode;
}

/** A list of any length, of which only the visible part is drawn. */
export function List<P, T>({ pages, items, row, label, empty }: Props<P, T>) {
  const box = useRef<HTMLElement>(null);
  const all = pages.data?.pages.flatMap(items) ?? [];
  const height = () => (matchMedia("(max-width: 760px)").matches ? 64 : 44);
  const rows = useVirtualizer({
    count: all.length,
    getScrollElement: () => box.current,
    estimateSize: height,
    overscan: 12,
  });
  const seen = rows.getVirtualItems();
  const last = seen.at(-1)?.index ?? 0;
  const { hasNextPage, isFetchingNextPage, fetchNextPage } = pages;
  useEffect(() => {
    if (hasNextPage && !isFetchingNextPage && last > all.length - 30) fetchNextPage();
  }, [last, all.length, hasNextPage, isFetchingNextPage, fetchNextPage]);
  if (pages.isPending) return <div className="skeleton" aria-busy="true" role="status" aria-label="Loading" />;
  if (pages.error && all.length === 0) return <Failure error={pages.error} retry={() => pages.refetch()} />;
  if (all.length === 0) return <Empty>{empty}</Empty>;
  return (
    <div className="stack tight">
      {pages.error ? <Failure error={pages.error} retry={() => pages.refetch()} /> : null}
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard */}
      <section className="list" ref={box} aria-label={label} tabIndex={0} style={{ height: rows.getTotalSize() + 2 }}>
        <div className="list-body" style={{ height: rows.getTotalSize() }}>
          {seen.map((v) => {
            const item = all[v.index];
            return item === undefined ? null : row(item, { transform: `translateY(${v.start}px)` });
          })}
        </div>
      </section>
      <p className="small dim" aria-live="polite">
        {all.length} {hasNextPage ? "so far; scroll for more" : "in all"}
      </p>
    </div>
  );
}
