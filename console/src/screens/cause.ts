// Explains a decision in two sentences: its cause, and a change that would have allowed the call.
import type { Schemas } from "../api/client";
import { notEnforced } from "./standing";

type Decision = Schemas["DecisionDetail"];
type Comparison = Schemas["Condition"];

/** A change that would have allowed the call, and the page where it is made. */
export interface Fix {
  text: string;
  /** The place in the definition of the workflow or of a policy. */
  workflow?: string;
  policy?: { name: string; pointer: string };
}

/** The sentences of a text. A full stop within quotation marks ends none. */
export function sentences(text: string): string[] {
  const found: string[] = [];
  let from = 0;
  let quoted = false;
  for (let i = 0; i < text.length; i++) {
    if (text[i] === "\\" && quoted) i++;
    else if (text[i] === '"') quoted = !quoted;
    else if (!quoted && text[i] === "." && (i + 1 === text.length || /\s/.test(text[i + 1] ?? ""))) {
      found.push(text.slice(from, i + 1).trim());
      from = i + 1;
    }
  }
  const rest = text.slice(from).trim();
  return rest ? [...found, rest] : found;
}

const first = (text: string) => sentences(text)[0] ?? "";

/** Names a rule of the policy that decided. */
const ruleOf = (d: Decision) =>
  d.explanation?.policies
    ?.flatMap((p) => p.rules.filter((r) => r.decides).map((r) => ({ ...r, policy: p.policy })))
    .at(0);

/** Gives the cause of a decision. */
export function causeOf(d: Decision): string {
  if (d.code === notEnforced) return `No rule judged it: ${d.message}.`;
  if (d.decision === "DENY") return first(d.message) || "No reason was recorded.";
  if (d.decision === "ASK") return d.policy ? `A rule of policy ${d.policy} asks a human first.` : first(d.message);
  if (d.approval_id) return "A human approved it.";
  if (d.lease_id) return "A lease lets calls like it pass without a question.";
  if (d.exceptions?.length) return "An exception lets it pass a rule that would refuse it.";
  return d.run_id ? "Its state and every policy allow it." : "Every policy allows it.";
}

/** The order of the texts of a message that describe the state and not the way out. */
const describes =
  /^(Allowed tools|Legal events|All tools are allowed|The state does not|No tool is allowed|Allowed commands|The rule says)/;

/** The advice of a message: the first sentence after its cause that is no description of the state. */
const adviceOf = (d: Decision) =>
  sentences(d.message)
    .slice(1)
    .find((s) => !describes.test(s));

const pointer = (state: string, field: string) =>
  `/states/${state.replaceAll("~", "~0").replaceAll("/", "~1")}/${field}`;

const operators: Record<string, string> = {
  gt: "over",
  gte: "at least",
  lt: "under",
  lte: "at most",
  eq: "that is",
  ne: "other than",
};

/** A comparison in words, such as: /amount over 100. */
function where(c: Comparison): string {
  const not = c.negated ? "not " : "";
  let expected: unknown;
  try {
    expected = JSON.parse(c.expected);
  } catch {
    return `${c.field} ${not}${c.expected}`;
  }
  if (Array.isArray(expected)) return `${c.field} ${not}${expected.map((v) => JSON.stringify(v)).join(" or ")}`;
  const [op, value] = expected && typeof expected === "object" ? (Object.entries(expected)[0] ?? []) : [];
  return op !== undefined && operators[op]
    ? `${c.field} ${not}${operators[op]} ${JSON.stringify(value)}`
    : `${c.field} ${not}${c.expected}`;
}

/** The comparisons that speak for a rule, or those that speak against it. */
const decisive = (all: Comparison[] | undefined, wanted: boolean) =>
  (all ?? []).filter((c) => !c.doubt && (c.holds !== Boolean(c.negated)) === wanted);

/** Finds a change that would have allowed the call; undefined for one that was allowed. */
export function fixOf(d: Decision): Fix | undefined {
  if (d.decision === "ALLOW") return undefined;
  if (d.decision === "ASK") return { text: "The approval of a human: then the agent makes exactly this call again." };
  const state = d.state || "";
  const sentence = d.explanation?.would_allow?.join(" ") ?? "";
  switch (d.code) {
    case "TOOL_NOT_ALLOWED":
    case "TOOL_DISALLOWED": {
      const ways = [...sentence.matchAll(/event ("(?:[^"\\]|\\.)*") leads to ("(?:[^"\\]|\\.)*"), which allows it/g)];
      const field = d.code === "TOOL_NOT_ALLOWED" ? "allowed_tools" : "disallowed_tools";
      const change =
        d.code === "TOOL_NOT_ALLOWED" ? `"${d.tool}" in the allowed_tools` : `No "${d.tool}" in the disallowed_tools`;
      return ways.length > 0
        ? {
            text: `To go on first: ${ways.map((w) => `event ${w[1]} leads to ${w[2]}`).join(", or ")}, which allows it.`,
            workflow: pointer(state, field),
          }
        : {
            text: `${change} of state "${state}": no event of it leads to a state that allows the tool.`,
            workflow: pointer(state, field),
          };
    }
    case "COMMAND_NOT_ALLOWED": {
      const refused = d.explanation?.command?.parts?.find((p) => p.verdict !== "ok");
      return {
        text: refused
          ? `The first words of "${refused.text}" in the allowed_commands of state "${state}".`
          : `Its first words in the allowed_commands of state "${state}".`,
        workflow: pointer(state, "allowed_commands"),
      };
    }
    case "MAX_ITERATIONS":
      return {
        text: "An event that leaves the state, as the next entry begins with no calls; or a larger max_iterations.",
        workflow: pointer(state, "max_iterations"),
      };
    case "RUN_NOT_ACTIVE":
      return { text: adviceOf(d) ?? "A run that goes on: resume it, or start a new one." };
    case "HALTED":
      return { text: "The end of the halt: an operator lifts it." };
    case "CALL_NOT_ALLOWED": {
      const failed = decisive(
        d.explanation?.state?.calls?.flatMap((c) => c.conditions ?? []),
        false,
      );
      return {
        text:
          failed.length > 0 ? `An input with ${failed.map(where).join(", ")}.` : (adviceOf(d) ?? "An input that fits."),
        workflow: pointer(state, "calls"),
      };
    }
    case "CALL_UNCLEAR": {
      const doubts = [
        ...(d.explanation?.state?.calls ?? []).flatMap((c) => c.conditions ?? []),
        ...(ruleOf(d)?.conditions ?? []),
      ].flatMap((c) => (c.doubt ? [c] : []));
      return { text: doubts[0] ? `A clear value of ${doubts[0].field}.` : (adviceOf(d) ?? "An input that is plain.") };
    }
  }
  const limit = d.explanation?.limits?.find((l) => l.used + 1 > l.max || l.after > l.max);
  if ((d.code === "RATE_LIMITED" || d.code === "BUDGET_EXCEEDED") && d.policy)
    return {
      text: limit
        ? `A higher limit of policy ${d.policy}, or to wait: it counts ${limit.used} of ${limit.max} now.`
        : `A higher limit of policy ${d.policy}, or to wait: it has room again.`,
      policy: { name: d.policy, pointer: limit?.rule ?? ruleOf(d)?.rule ?? "" },
    };
  const rule = ruleOf(d);
  if (d.code === "POLICY_DENIED" && rule) {
    const met = decisive(rule.conditions, true);
    const change =
      rule.effect === "deny" && rule.capability
        ? met.length > 0
          ? `A call without one of these: ${met.map(where).join("; ")}. Or an exception from the rule.`
          : "An exception from the rule, or another rule: no approval and no other input helps."
        : `A rule of policy ${rule.policy} that allows "${d.capability}".`;
    return { text: change, policy: { name: rule.policy, pointer: rule.rule } };
  }
  return {
    text: adviceOf(d) ?? "Nothing that its maker could change: an operator changes the rule.",
    ...(d.policy ? { policy: { name: d.policy, pointer: rule?.rule ?? "" } } : {}),
  };
}

/** Explains why the log has no input of a call. */
export function notKept(d: Decision): string {
  if (d.decision === "ALLOW")
    return "the log keeps that of an allowed call only if its workflow says so (meta.capture_output)";
  return "it was made before the log kept the input of such calls, or its workflow keeps none";
}
