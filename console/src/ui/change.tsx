import { lineDiff, pretty } from "../api/json";
import { Text } from "./basics";

/** A value and its change, line by line. undefined means absent. */
export function Change({ before, after }: { before: unknown; after: unknown }) {
  const text = (value: unknown) => (typeof value === "string" ? value : pretty(value));
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard
    <pre className="doc diff" tabIndex={0}>
      {lineDiff(text(before), text(after)).map((line, i) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: lines have no other identity
        <span key={i} className={line.kind}>
          <Text lines>{line.text}</Text>
        </span>
      ))}
    </pre>
  );
}
