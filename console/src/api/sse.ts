// Server-sent events by fetch: unlike EventSource, it can send the session's code.

export interface ServerEvent {
  id: string;
  data: string;
}

/** Splits a stream of text into events (the HTML standard's text/event-stream). */
export class EventParser {
  private rest = "";
  private id = "";
  private data: string[] = [];

  /** Takes the next piece, and passes on the complete events. */
  push(piece: string): ServerEvent[] {
    const found: ServerEvent[] = [];
    const lines = (this.rest + piece).split(/\r\n|\n|\r(?!$)/);
    this.rest = lines.pop() ?? "";
    for (const line of lines) {
      if (line === "") {
        if (this.data.length > 0) found.push({ id: this.id, data: this.data.join("\n") });
        this.data = [];
        continue;
      }
      const colon = line.indexOf(":");
      if (colon === 0) continue; // a comment keeps the connection open
      const [field, value] = colon < 0 ? [line, ""] : [line.slice(0, colon), line.slice(colon + 1).replace(/^ /, "")];
      if (field === "data") this.data.push(value);
      if (field === "id" && !value.includes("\0")) this.id = value;
    }
    return found;
  }
}

/** Reads a stream until it ends, and calls heard for every sign of life. */
export async function readEvents(
  body: ReadableStream<Uint8Array>,
  heard: () => void,
  take: (event: ServerEvent) => void,
): Promise<void> {
  const parser = new EventParser();
  const reader = body.pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>).getReader();
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    heard();
    for (const event of parser.push(value)) take(event);
  }
}
