import type { Schemas } from "../api/client";
import { Chip, Text } from "./basics";
import { visible } from "./visible";

type Parsed = Schemas["CommandLine"];
type Part = Parsed["parts"][number];

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** A command line cut at its parts, which the server counts in bytes of UTF-8. */
export function cut(line: string, parts: Pick<Part, "start" | "end" | "verdict">[]) {
  const bytes = encoder.encode(line);
  const pieces: { text: string; verdict: string }[] = [];
  let at = 0;
  for (const part of [...parts].sort((a, b) => a.start - b.start || a.end - b.end)) {
    const start = Math.max(at, part.start);
    const end = Math.min(bytes.length, part.end);
    if (end <= start) continue;
    if (start > at) pieces.push({ text: decoder.decode(bytes.subarray(at, start)), verdict: "" });
    pieces.push({ text: decoder.decode(bytes.subarray(start, end)), verdict: part.verdict });
    at = end;
  }
  if (at < bytes.length) pieces.push({ text: decoder.decode(bytes.subarray(at)), verdict: "" });
  return pieces;
}

/** A command line and the commands in it; refused ones are underlined. Brief leaves out why they are. */
export function Command({ command, brief }: { command: Parsed; brief?: boolean }) {
  return (
    <>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard */}
      <pre className="doc command" tabIndex={0}>
        {cut(command.line, command.parts).map((p, i) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: pieces have no other identity
          <span key={i} className={p.verdict}>
            <Text lines>{p.text}</Text>
          </span>
        ))}
      </pre>
      {(command.parts.length > 1 || command.parts.some((p) => p.verdict !== "ok")) && (
        <ol className="plain tight" aria-label="What this line would run">
          {command.parts.map((p) => (
            <li key={`${p.start}.${p.end}.${p.code ?? ""}`} className="row">
              <Chip kind={p.verdict === "ok" ? "ok" : "deny"}>{p.verdict}</Chip>
              <code>
                <Text>{p.words?.join(" ") || p.text}</Text>
              </code>
              {p.code && <code className="dim">{p.code}</code>}
              {p.message && !brief && (
                <span className="small">
                  <Text>{p.message}</Text>
                </span>
              )}
              {p.writes?.length ? <span className="small dim">writes {visible(p.writes.join(", "))}</span> : null}
              {p.reads_env?.length ? <span className="small dim">reads {visible(p.reads_env.join(", "))}</span> : null}
            </li>
          ))}
        </ol>
      )}
    </>
  );
}
