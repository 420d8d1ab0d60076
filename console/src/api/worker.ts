/// <reference lib="webworker" />
// One stream of events for all tabs of this browser. A tab that is added shares it.
declare const self: SharedWorkerGlobalScope;

interface Envelope {
  entity?: string;
  entity_id?: string;
  type?: string;
}

export type Message = { kind: "event"; entity: string; id: string; type: string } | { kind: "state"; live: boolean };

const ports = new Set<MessagePort>();
let source: EventSource | undefined;
let live = false;
let last = "";
let retry: ReturnType<typeof setTimeout> | undefined;

function tell(message: Message) {
  for (const port of ports) port.postMessage(message);
}

function become(state: boolean) {
  live = state;
  tell({ kind: "state", live });
}

function connect() {
  clearTimeout(retry);
  source?.close();
  // The browser repeats the last id itself when the stream breaks; a new EventSource does not.
  source = new EventSource(last ? `/ui/api/v1/events?last_event_id=${last}` : "/ui/api/v1/events");
  source.onopen = () => become(true);
  source.onmessage = (message) => {
    last = message.lastEventId || last;
    const event = JSON.parse(message.data) as Envelope;
    tell({ kind: "event", entity: event.entity ?? "", id: event.entity_id ?? "", type: event.type ?? "" });
  };
  source.onerror = () => {
    if (live) become(false);
    // Closed for good: nobody is logged in, or the server refuses. It may change its mind.
    if (source?.readyState === EventSource.CLOSED) retry = setTimeout(connect, 5000);
  };
}

self.onconnect = (connection) => {
  const port = connection.ports[0];
  if (!port) return;
  ports.add(port);
  port.onmessage = (message) => {
    if (message.data === "close") ports.delete(port);
    if (message.data === "again") {
      ports.add(port); // a page that comes back from the browser's cache had said that it closes
      connect();
    }
    if (ports.size === 0) {
      source?.close();
      source = undefined;
    }
  };
  if (!source) connect();
  else port.postMessage({ kind: "state", live } satisfies Message);
};
