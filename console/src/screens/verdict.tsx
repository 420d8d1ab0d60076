import type { DecisionRecord } from "../api/client";
import { Chip, Text } from "../ui/basics";
import { notEnforced } from "./standing";

type Decided = Pick<DecisionRecord, "decision" | "code" | "message">;

/** Shows the verdict on a call; a call without a judging rule is not shown as allowed. */
export function Verdict({ of: d }: { of: Decided }) {
  return <Chip>{d.code === notEnforced ? d.code : d.decision}</Chip>;
}

/** Shows the code of a decision, or the reason of missing enforcement. */
export function Cause({ of: d }: { of: Decided }) {
  if (d.code !== notEnforced) return <span className="mono">{d.code}</span>;
  return (
    <span className="open-reason">
      <Text>{d.message}</Text>
    </span>
  );
}
