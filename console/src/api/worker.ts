/// <reference lib="webworker" />
// One stream of events for all tabs of this browser. A tab that is added shares it.
import { readEvents } from "./sse";

declare const self: SharedWorkerGlobalScope;

interface Envelope {
  entity?: string;
  entity_id?: string;
  type?: string;
}

export type Message = { kind: "event"; entity: string; id: string; type: string } | { kind: "state"; live: boolean };

/** The messages of pages: that they go, or that they are there, with the session's code. */
export type Said = { kind: "close" } | { kind: "open"; code: string };

const ports = new Set<MessagePort>();
let live = false;
let last = "";
let code = "";
let following: AbortController | undefined;

function tell(message: Message) {
  for (const port of ports) port.postMessage(message);
}

function become(state: boolean) {
  if (live === state) return;
  live = state;
  tell({ kind: "state", live });
}

/** The longest silence of a stream that lives, in milliseconds: the server sends a comment every 15 s. */
const longestSilence = 45_000;

/** Follows the events while a page listens, and resumes after every break without a loss. */
async function follow(stop: AbortSignal) {
  for (let pause = 500; !stop.aborted; pause = Math.min(pause * 2, 15_000)) {
    const silence = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const heard = () => {
      clearTimeout(timer);
      timer = setTimeout(() => silence.abort(), longestSilence);
    };
    try {
      heard();
      const response = await fetch("/ui/api/v1/events", {
        headers: { Accept: "text/event-stream", "X-Interlock-CSRF": code, ...(last ? { "Last-Event-ID": last } : {}) },
        signal: AbortSignal.any([stop, silence.signal]),
      });
      if (response.ok && response.body) {
        heard();
        become(true);
        pause = 500;
        await readEvents(response.body, heard, (message) => {
          last = message.id || last;
          const event = JSON.parse(message.data) as Envelope;
          tell({ kind: "event", entity: event.entity ?? "", id: event.entity_id ?? "", type: event.type ?? "" });
        });
      }
    } catch {
      // It broke; the loop tries again.
    }
    clearTimeout(timer);
    if (stop.aborted) return;
    become(false);
    await new Promise((resolve) => setTimeout(resolve, pause));
  }
}

function begin() {
  following?.abort();
  following = new AbortController();
  follow(following.signal);
}

self.onconnect = (connection) => {
  const port = connection.ports[0];
  if (!port) return;
  port.onmessage = (message) => {
    const said = message.data as Said;
    if (said.kind === "close") {
      ports.delete(port);
      if (ports.size > 0) return;
      following?.abort();
      following = undefined;
      live = false;
      return;
    }
    ports.add(port);
    const other = said.code !== code; // another person has logged in
    code = said.code;
    if (other) last = "";
    if (other || !following || !live) begin();
    port.postMessage({ kind: "state", live } satisfies Message);
  };
};
