import { expect, test } from "vitest";
import type { Schemas } from "../api/client";
import { causeOf, fixOf, sentences } from "./cause";

type Decision = Schemas["DecisionDetail"];
const decision = (d: Partial<Decision>) =>
  ({
    decision: "DENY",
    tool: "Edit",
    capability: "tool:Edit",
    state: "plan",
    run_id: "run_1",
    message: "",
    ...d,
  }) as Decision;
const explained = (e: Partial<NonNullable<Decision["explanation"]>>) =>
  ({
    input_kept: true,
    state: { verdict: "DENY" },
    policies: [],
    limits: [],
    would_allow: [],
    ...e,
  }) as Decision["explanation"];

test.each([
  ["One. Two. Three", ["One.", "Two.", "Three"]],
  ['In "a. b" it is. So', ['In "a. b" it is.', "So"]],
  ['A \\"quote. "x\\". y" z.', ['A \\"quote. "x\\". y" z.']],
  ["Version 1.4 is live.", ["Version 1.4 is live."]],
  ["", []],
])("the sentences of %s", (text, parts) => {
  expect(sentences(text)).toEqual(parts);
});

const message = 'Tool "Edit" is not allowed in state "plan". Allowed tools: Read. Legal events: READY -> work.';

test("a denial has one cause", () => {
  expect(causeOf(decision({ code: "TOOL_NOT_ALLOWED", message }))).toBe('Tool "Edit" is not allowed in state "plan".');
});

test("what nothing judged is not said to be allowed by the state", () => {
  const cause = causeOf(decision({ decision: "ALLOW", code: "NOT_ENFORCED", message: "run paused by agent" }));
  expect(cause).toBe("No rule judged it: run paused by agent.");
});

test.each([
  [{ approval_id: "apr_1" }, /human approved/],
  [{ lease_id: "lease_1" }, /lease/],
  [{ exceptions: ["exc_1"] }, /exception/],
  [{}, /state and every policy/],
  [{ run_id: "" }, /^Every policy/],
])("an allowed call with %j", (more, cause) => {
  expect(causeOf(decision({ decision: "ALLOW", ...more }))).toMatch(cause);
  expect(fixOf(decision({ decision: "ALLOW", ...more }))).toBeUndefined();
});

/** What would have allowed a call is never its denial again. */
const fixes: [string, Partial<Decision>, string, Partial<{ workflow: string; policy: object }>][] = [
  [
    "an event that leads to a state that allows it",
    {
      code: "TOOL_NOT_ALLOWED",
      message,
      explanation: explained({
        would_allow: [
          'In state "plan", tool "Edit" is not allowed; event "READY" leads to "work", which allows it; event "SKIP" leads to "end", which allows it.',
        ],
      }),
    },
    'To go on first: event "READY" leads to "work", or event "SKIP" leads to "end", which allows it.',
    { workflow: "/states/plan/allowed_tools" },
  ],
  [
    "no event does",
    {
      code: "TOOL_NOT_ALLOWED",
      message,
      state: "a/b",
      explanation: explained({
        would_allow: [
          'In state "a/b", tool "Edit" is not allowed, and no event of it leads to a state that allows it.',
        ],
      }),
    },
    '"Edit" in the allowed_tools of state "a/b": no event of it leads to a state that allows the tool.',
    { workflow: "/states/a~1b/allowed_tools" },
  ],
  [
    "a command",
    {
      code: "COMMAND_NOT_ALLOWED",
      tool: "Bash",
      message: 'Tool "Bash" is denied in state "plan": the command "git push" is not in the list.',
      explanation: explained({
        command: {
          line: "git push",
          parts: [{ start: 0, end: 8, text: "git push", words: ["git", "push"], verdict: "refused" }],
        },
      }),
    },
    'The first words of "git push" in the allowed_commands of state "plan".',
    { workflow: "/states/plan/allowed_commands" },
  ],
  [
    "a limit of a policy",
    {
      code: "RATE_LIMITED",
      policy: "house",
      message:
        'Tool "Edit" is denied: a rule allows 2 calls of "tool:Edit" in any 60 seconds (/allow/0/rate_limit); 2 so far. It reopens at noon.',
      explanation: explained({
        limits: [
          {
            measure: "calls",
            scope: "policy",
            used: 2,
            max: 2,
            after: 3,
            unit: "calls",
            policy: "house",
            rule: "/allow/0",
          },
        ],
      }),
    },
    "A higher limit of policy house, or to wait: it counts 2 of 2 now.",
    { policy: { name: "house", pointer: "/allow/0" } },
  ],
  [
    "a rule with a condition",
    {
      code: "POLICY_DENIED",
      policy: "pay",
      message:
        'Tool "refund" is denied: rule "huge" denies "mcp:pay" (/deny/0) under a condition that this call fulfils.',
      explanation: explained({
        policies: [
          {
            policy: "pay",
            version: 1,
            verdict: "DENY",
            rules: [
              {
                rule: "/deny/0",
                effect: "deny",
                capability: "mcp:pay",
                matches: true,
                decides: true,
                conditions: [
                  { field: "/amount", expected: '{"gt":100}', actual: "250", holds: true },
                  { field: "caller.name", expected: '"olga"', actual: '"agent"', holds: false, negated: true },
                ],
              },
            ],
          },
        ],
      }),
    },
    'A call without one of these: /amount over 100; caller.name not "olga". Or an exception from the rule.',
    { policy: { name: "pay", pointer: "/deny/0" } },
  ],
  [
    "a default",
    {
      code: "POLICY_DENIED",
      message: 'Tool "Edit" is denied: no rule of policy "house" matches it, and the default denies it (/default).',
      explanation: explained({
        policies: [
          {
            policy: "house",
            version: 1,
            verdict: "DENY",
            rules: [{ rule: "/default", effect: "deny", capability: "", matches: true, decides: true }],
          },
        ],
      }),
    },
    'A rule of policy house that allows "tool:Edit".',
    { policy: { name: "house", pointer: "/default" } },
  ],
  [
    "the advice of the message",
    {
      code: "EDIT_TOO_LARGE",
      message:
        'Tool "Edit" would change 90 lines in one call; 20 are allowed in state "plan". Make smaller edits, one after the other. Legal events: READY.',
    },
    "Make smaller edits, one after the other.",
    {},
  ],
  [
    "a question",
    { decision: "ASK", message: "It needs the approval of a human." },
    "The approval of a human: then the agent makes exactly this call again.",
    {},
  ],
];

test.each(fixes)("what would have allowed it: %s", (_, d, text, places) => {
  const record = decision(d);
  expect(fixOf(record)).toEqual({ text, ...places });
  expect(fixOf(record)?.text).not.toBe(causeOf(record));
});
