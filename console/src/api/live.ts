// Live events of the server: pages read the objects of an event again.
import type { QueryClient } from "@tanstack/react-query";
import { useSyncExternalStore } from "react";
import { sessionCode } from "./client";
import type { Message, Said } from "./worker";

/** Queries that an event makes old, by its entity. The first part of a query's key names it. */
const touched: Record<string, (id: string) => unknown[][]> = {
  run: (id) => [["run", id], ["history", id], ["stats"]],
  toolcall: () => [["decisions"], ["stats"]],
  approval: (id) => [["approvals"], ["approval", id], ["stats"]],
  lease: () => [["run"]],
  halt: () => [["halts"], ["run"]],
  freeze: () => [["freezes"], ["run"]],
  schedule: (id) => [["schedules"], ["schedule", id]],
  person: () => [["people"]],
  state: (id) => [["state", id], ["states"]],
  session: () => [["sessions"], ["session"]],
  task: () => [["tasks"], ["session"]],
  component: () => [["components"], ["component"]],
  policy: (id) => [["policies"], ["policy", id]],
  workflow: (id) => [["workflows"], ["workflow", id]],
  process: (id) => [["processes"], ["process", id]],
};

let live = false;
let runsChanged = 0;
const listeners = new Set<() => void>();
const notify = () => {
  for (const listener of listeners) listener();
};
const subscribe = (listener: () => void) => {
  listeners.add(listener);
  return () => listeners.delete(listener);
};

/** Whether events arrive. */
export const useLive = () => useSyncExternalStore(subscribe, () => live);

/** How many runs have started since the list was read: rows do not jump by themselves. */
export const useNewRuns = () => useSyncExternalStore(subscribe, () => runsChanged);

export function runsWereRead() {
  runsChanged = 0;
  notify();
}

/** Follows the server until the page goes; queries are refreshed at most twice a second. */
export function follow(client: QueryClient): () => void {
  const due = new Map<string, unknown[]>();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const flush = () => {
    timer = undefined;
    for (const key of due.values()) client.invalidateQueries({ queryKey: key });
    due.clear();
  };
  const take = (message: Message) => {
    if (message.kind === "state") {
      // Missed changes are read again.
      if (message.live && !live) client.invalidateQueries({ predicate: (q) => q.queryKey[0] !== "runs" });
      live = message.live;
      notify();
      return;
    }
    if (message.entity === "run" && message.type === "started") {
      runsChanged++;
      notify();
    }
    for (const key of touched[message.entity]?.(message.id) ?? []) due.set(key.join("\0"), key);
    timer ??= setTimeout(flush, 500);
  };
  const worker = new SharedWorker(new URL("./worker.ts", import.meta.url), {
    type: "module",
    name: "interlock-events",
  });
  worker.port.onmessage = (m) => take(m.data as Message);
  const say = (said: Said) => worker.port.postMessage(said);
  const close = () => say({ kind: "close" });
  const back = () => say({ kind: "open", code: sessionCode() });
  back();
  addEventListener("pagehide", close);
  addEventListener("pageshow", back);
  addEventListener("online", back);
  return () => {
    close();
    clearTimeout(timer);
    removeEventListener("pagehide", close);
    removeEventListener("pageshow", back);
    removeEventListener("online", back);
  };
}
