// Reads the record of a run, newest first. The older part is as it was when the page opened, and is read backwards on demand;
// later entries come on top.
import { useInfiniteQuery, useQuery, useQueryClient } from "@tanstack/react-query";
import { useMemo, useState } from "react";
import { type Approval, get, type Run, type Schemas, segment } from "../../api/client";
import {
  type Call,
  type Entry,
  horizonOf,
  type Kind,
  newestFirst,
  type Result,
  type Row,
  rowOfCall,
  rowOfEntry,
  rowsOfApproval,
  withSilences,
} from "./rows";

/** How many entries are read at a time. */
const window = 500;
/** A place after all versions and results: a part of the history that begins there is empty. */
const end = Number.MAX_SAFE_INTEGER;

type After = { after_version: number; after_result: number };
type Reader = (after: number, size: number, signal: AbortSignal) => Promise<Schemas["History"]>;

/** A record whose entries are numbered: the history goes forward only, and its last number is known. */
interface Numbered {
  key: string;
  read: Reader;
  number: (entry: Entry) => number;
  next: (page: Schemas["History"]) => number;
}

const readerOf =
  (runId: string, place: (after: number) => After): Reader =>
  (after, size, signal) =>
    get<Schemas["History"]>(`/v1/runs/${segment(runId)}/history`, { ...place(after), page_size: size }, signal);

const changesOf = (runId: string): Numbered => ({
  key: "history",
  read: readerOf(runId, (after_version) => ({ after_version, after_result: end })),
  number: (e) => e.run_version,
  next: (page) => page.next_after_version,
});

const resultsOf = (runId: string): Numbered => ({
  key: "results",
  read: readerOf(runId, (after_result) => ({ after_version: end, after_result })),
  number: (e) => e.tool_result?.number ?? 0,
  next: (page) => page.next_after_result,
});

/** The entries after one number up to another, oldest first. A page of large ones has less than was asked for. */
async function between(record: Numbered, after: number, upTo: number, signal: AbortSignal): Promise<Entry[]> {
  const entries: Entry[] = [];
  for (let at = after; at < upTo; ) {
    const page = await record.read(at, Math.min(window, upTo - at), signal);
    entries.push(...page.entries.filter((e) => record.number(e) <= upTo));
    const next = record.next(page);
    if (page.entries.length === 0 || next <= at || next === end) break;
    at = next;
  }
  return entries;
}

/** Finds the number of the last result of a run: they count from 1, and the run does not know how many there are. */
async function lastResult(record: Numbered, signal: AbortSignal): Promise<number> {
  const follows = async (after: number) => {
    const [entry] = (await record.read(after, 1, signal)).entries;
    return entry ? record.number(entry) : 0;
  };
  let known = await follows(0);
  if (known === 0) return 0;
  let step = 1;
  for (let next = await follows(known); next > 0; next = await follows(known + step - 1)) {
    known = next;
    step *= 2;
  }
  let over = known + step;
  while (known + 1 < over) {
    const middle = Math.floor((known + over) / 2);
    const next = await follows(middle - 1);
    if (next > 0) known = next;
    else over = middle;
  }
  return known;
}

/** A numbered record, newest first. */
function useNumbered(runId: string, record: Numbered, last: number | undefined, live: string[]) {
  const client = useQueryClient();
  const past = useInfiniteQuery({
    queryKey: ["past", record.key, runId, last],
    queryFn: async ({ pageParam, signal }) => ({
      from: Math.max(0, pageParam - window),
      entries: (await between(record, Math.max(0, pageParam - window), pageParam, signal)).reverse(),
    }),
    initialPageParam: last ?? 0,
    getNextPageParam: (page) => page.from || undefined,
    staleTime: Number.POSITIVE_INFINITY,
    enabled: last !== undefined,
  });
  const sinceKey = [...live, "since", record.key, last];
  const since = useQuery({
    queryKey: sinceKey,
    queryFn: async ({ signal }) => {
      const have = client.getQueryData<Entry[]>(sinceKey) ?? [];
      const known = have[0] ? record.number(have[0]) : (last ?? 0);
      return [...(await between(record, known, end, signal)).reverse(), ...have];
    },
    staleTime: 0,
    enabled: last !== undefined,
  });
  const items = useMemo(
    () => [...(since.data ?? []), ...(past.data?.pages.flatMap((p) => p.entries) ?? [])],
    [since.data, past.data],
  );
  return { items, past, error: past.error ?? since.error };
}

const nameOf = (call: Call) => `${call.partition} ${call.sequence}`;

/** Reads decisions from the newest on up to a known one. */
async function decisionsUntil(
  runId: string,
  decision: string | undefined,
  known: Set<string>,
  signal: AbortSignal,
): Promise<Call[]> {
  const found: Call[] = [];
  let token = "";
  do {
    const page = await get<Schemas["DecisionList"]>(
      "/v1/decisions",
      { run_id: runId, decision, page_size: 100, page_token: token },
      signal,
    );
    for (const call of page.decisions) {
      if (known.has(nameOf(call))) return found;
      found.push(call);
    }
    token = page.next_page_token ?? "";
  } while (token);
  return found;
}

/** The decisions of a run, or only those of one outcome, newest first. */
function useDecisions(runId: string, decision: string | undefined, wanted: boolean) {
  const client = useQueryClient();
  const past = useInfiniteQuery({
    queryKey: ["past", "decisions", runId, decision],
    queryFn: ({ pageParam, signal }) =>
      get<Schemas["DecisionList"]>(
        "/v1/decisions",
        { run_id: runId, decision, page_size: 200, page_token: pageParam },
        signal,
      ),
    initialPageParam: "",
    getNextPageParam: (page) => page.next_page_token || undefined,
    staleTime: Number.POSITIVE_INFINITY,
    enabled: wanted,
  });
  const sinceKey = ["decisions", "of", runId, "since", decision];
  const first = past.data?.pages[0]?.decisions[0];
  const since = useQuery({
    queryKey: sinceKey,
    queryFn: async ({ signal }) => {
      const have = client.getQueryData<Call[]>(sinceKey) ?? [];
      const known = new Set([...have, ...(first ? [first] : [])].map(nameOf));
      return [...(await decisionsUntil(runId, decision, known, signal)), ...have];
    },
    staleTime: 0,
    enabled: wanted && past.isSuccess,
  });
  const items = useMemo(
    () => [...(since.data ?? []), ...(past.data?.pages.flatMap((p) => p.decisions as Call[]) ?? [])],
    [since.data, past.data],
  );
  return { items, past, error: past.error ?? since.error };
}

interface Pages {
  data: unknown;
  error: unknown;
  hasNextPage: boolean;
  isFetchingNextPage: boolean;
  isFetchNextPageError: boolean;
  fetchNextPage: () => unknown;
  refetch: () => unknown;
}

/** Whether a part is still to come; a part that failed is not, and hides no rows of the others. */
const unread = (past: Pages) => past.data === undefined && !past.error;

const partOf = (past: Pages, oldest: string | undefined) => ({
  oldest: oldest === undefined ? undefined : new Date(oldest).getTime(),
  more: unread(past) || past.hasNextPage,
});

/** The rows of a run's timeline, and its history and denials as far as they are loaded. */
export function useFeed(run: Run, of: Kind[]) {
  const id = run.run_id;
  const [last] = useState(run.version);
  const onlyDenials = of.length > 0 && of.every((kind) => kind === "denials");
  const changes = useNumbered(id, changesOf(id), last, ["history", id]);
  const denials = useDecisions(id, "DENY", true);
  const decisions = useDecisions(id, undefined, !onlyDenials);
  const results = useResults(id);
  const approvals = useInfiniteQuery({
    queryKey: ["approvals", "of", id],
    queryFn: ({ pageParam, signal }) =>
      get<Schemas["ApprovalList"]>("/v1/approvals", { run_id: id, page_size: 100, page_token: pageParam }, signal),
    initialPageParam: "",
    getNextPageParam: (page) => page.next_page_token || undefined,
  });
  const asked = useMemo(() => approvals.data?.pages.flatMap((p) => p.approvals) ?? [], [approvals.data]);
  const calls = onlyDenials ? denials : decisions;

  const streams: { past: Pages; oldest: string | undefined }[] = [
    { past: calls.past, oldest: calls.items.at(-1)?.time },
    ...(onlyDenials ? [] : [{ past: changes.past, oldest: changes.items.at(-1)?.time }]),
    ...(onlyDenials ? [] : [{ past: approvals, oldest: asked.at(-1)?.created_at }]),
  ];
  const horizon = horizonOf(streams.map((s) => partOf(s.past, s.oldest)));
  const rows = useMemo(() => {
    if (onlyDenials) return newestFirst(calls.items.map(rowOfCall));
    const all: Row[] = [
      ...calls.items.map(rowOfCall),
      ...changes.items.map(rowOfEntry),
      ...asked.flatMap((a: Approval) => rowsOfApproval(a)),
    ].filter((row) => row.at >= horizon);
    return withSilences(newestFirst(all));
  }, [onlyDenials, horizon, calls.items, changes.items, asked]);
  /** Reads on where the least is loaded. A part that failed is read again only on demand. */
  const older = (again = false) => {
    for (const s of streams)
      if (again && s.past.data === undefined) s.past.refetch();
      else if (
        s.past.hasNextPage &&
        !s.past.isFetchingNextPage &&
        (again || !s.past.isFetchNextPageError) &&
        partOf(s.past, s.oldest).oldest === horizon
      )
        s.past.fetchNextPage();
    const seen = results.items.at(-1)?.time;
    const { hasNextPage, isFetchingNextPage, isFetchNextPageError } = results.past;
    if (seen && new Date(seen).getTime() > horizon && hasNextPage && !isFetchingNextPage && !isFetchNextPageError)
      results.past.fetchNextPage();
  };
  const outcomes = useMemo(
    () => new Map(results.items.flatMap((e) => (e.tool_result ? [[e.tool_result.call_id, e.tool_result]] : []))),
    [results.items],
  ) as Map<string, Result>;
  return {
    rows,
    more: streams.some((s) => unread(s.past) || s.past.hasNextPage),
    loading: streams.some((s) => unread(s.past)),
    older,
    error: calls.error ?? changes.error ?? approvals.error,
    entries: changes.items,
    allEntries: changes.past.data !== undefined && !changes.past.hasNextPage,
    calls: decisions.items,
    denials: denials.items,
    allDenials: denials.past.data !== undefined && !denials.past.hasNextPage,
    outcomes,
  };
}

/** The results that clients have reported, newest first. */
function useResults(runId: string) {
  const record = resultsOf(runId);
  const last = useQuery({
    queryKey: ["past", "last result", runId],
    queryFn: ({ signal }) => lastResult(record, signal),
    staleTime: Number.POSITIVE_INFINITY,
  });
  return useNumbered(runId, record, last.data, ["decisions", "of", runId]);
}
