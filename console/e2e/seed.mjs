// Fills a server with something to look at on every screen, hostile texts among it.
import { readFileSync } from "node:fs";

const example = (name) => JSON.parse(readFileSync(new URL(`../../examples/${name}`, import.meta.url), "utf8"));

/** A text that tries to deceive: bidirectional and invisible characters, markup, a very long word. */
export const hostile = `</script><img src=x onerror=alert(1)>\u202egnp.exe\u200b "'{{7*7}} ${"w".repeat(300)}`;

export function apiOf(server, tokens) {
  let key = 0;
  return async (role, method, path, body) => {
    const response = await fetch(server + path, {
      method,
      headers: {
        Authorization: `Bearer ${tokens[role]}`,
        "Content-Type": "application/json",
        "Idempotency-Key": `seed-${process.pid}-${++key}`,
      },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
    return text ? JSON.parse(text) : undefined;
  };
}

/** A workflow of count states in a row, some of which can go back. */
export function largeWorkflow(id, count) {
  const states = { done: { type: "final" } };
  for (let i = 0; i < count; i++)
    states[`s${i}`] = {
      allowed_tools: ["Read", "Grep"],
      on: { NEXT: i + 1 < count ? `s${i + 1}` : "done", ...(i > 0 && i % 5 === 0 ? { BACK: `s${i - 5}` } : {}) },
    };
  return { id, initial: "s0", states };
}

export async function seed(server, tokens, { runs = 30, states = 60 } = {}) {
  const api = apiOf(server, tokens);
  const made = { runs: [], approvals: [] };
  await api("operator", "POST", "/v1/workflows", example("bugfix.json"));
  const second = example("bugfix.json");
  second.states.review = { on: { DONE: Object.keys(second.states).find((s) => second.states[s].type === "final") } };
  await api("operator", "POST", "/v1/workflows", second).catch(() => undefined);
  await api("operator", "POST", "/v1/workflows", {
    id: "deploy",
    initial: "build",
    meta: { approval_mode: "ui" },
    states: {
      build: {
        allowed_tools: ["Bash", "Read"],
        allowed_commands: ["go build *", "go test *"],
        instructions: hostile,
        on: { READY: "gate" },
      },
      gate: { allowed_tools: ["Read"], on: { SHIP: { target: "ship", requires_approval: true }, BACK: "build" } },
      ship: { allowed_tools: ["Deploy"], on: { DONE: "end" } },
      end: { type: "final" },
    },
  });
  await api("operator", "POST", "/v1/workflows", largeWorkflow("large", states));
  await api("operator", "POST", "/v1/policies?name=house", {
    role: "agent",
    allow: [{ capability: "tool:Read" }, { capability: "bash" }, { capability: "tool:Edit" }],
    ask: [{ capability: "tool:Write" }],
    deny: [{ capability: "tool:WebFetch" }],
  });
  await api("operator", "PUT", "/v1/policies/house/attachments/workflow/deploy");
  await api("operator", "POST", "/v1/schemas", {
    name: "notes",
    description: "Notes of a team",
    json_schema: {
      type: "object",
      properties: {
        title: { type: "string", "x-interlock-writers": ["role:operator", `session:${hostile.slice(0, 60).trim()}`] },
        items: { type: "array", items: { type: "string" } },
        count: { type: "integer" },
      },
    },
  });
  await api("operator", "POST", "/v1/schedules", {
    name: "leap-day",
    workflow: "bugfix",
    cron: "0 7 29 2 *",
    zone: "Europe/Berlin",
    context: { why: hostile },
    workspace: `/${hostile.slice(0, 80)}`,
  });
  const session = await api("agent", "POST", "/v1/sessions", { session_name: "lead", prompt: "plan the release" });
  const child = await api("agent", "POST", "/v1/sessions", {
    session_name: "helper",
    parent_session_name: "lead",
    prompt: hostile.slice(0, 200),
    state_update: "required",
  }).catch(() => undefined);
  const state = await api("operator", "POST", "/v1/states", {
    schema_name: "notes",
    root_session_id: session.session_id,
    initial_data: { title: "Release 1.4", items: [], count: 0 },
  });
  for (let i = 0; i < 5; i++)
    await api("operator", "PATCH", `/v1/states/${state.state_id}`, {
      expected_version: i + 1,
      operations: [
        { op: "add", path: "/items/-", value: i === 2 ? hostile : `note ${i}` },
        { op: "replace", path: "/count", value: i + 1 },
      ],
    });
  await api("operator", "POST", "/v1/components", {
    slug: "release-notes",
    name: "Release notes",
    description: "What changed",
    persistence: "session",
    schema_definition: { type: "object", properties: { text: { type: "string" } } },
    initial_values: { text: "" },
    tags: ["release"],
  }).catch((e) => console.error(String(e)));
  for (let i = 0; i < runs; i++) {
    const run = await api("agent", "POST", "/v1/runs", {
      workflow: i % 3 === 0 ? "deploy" : "bugfix",
      session_id: i === 0 ? hostile.slice(0, 120) : `s-${i}`,
    });
    made.runs.push(run.run_id);
    const check = (tool, input) =>
      api("agent", "POST", `/v1/runs/${run.run_id}/check`, {
        tool,
        input,
        call_id: `call-${i}-${tool}-${Math.random()}`,
      });
    await check("Read", { file_path: "README.md" });
    if (i % 3 === 0) {
      await check("Bash", { command: "go test ./... && rm -rf / --no-preserve-root" });
      await check("Bash", { command: "go test ./..." });
      await api("agent", "POST", `/v1/runs/${run.run_id}/transition`, { event: "READY" });
      if (i % 2 === 0) {
        const parked = await api("agent", "POST", `/v1/runs/${run.run_id}/transition`, {
          event: "SHIP",
          data: { version: "1.4.0", amount: 12, why: hostile },
        });
        if (parked.approval_id) made.approvals.push(parked.approval_id);
      }
    } else {
      for (let k = 0; k < 4; k++)
        await check("Edit", { file_path: "src/main.go", old_string: "a", new_string: hostile });
      if (i % 4 === 1) await api("operator", "POST", `/v1/runs/${run.run_id}/pause`, { reason: "someone looks" });
    }
  }
  return { ...made, session: session.session_id, child: child?.session_id, state: state.state_id };
}

if (import.meta.url === `file://${process.argv[1]}`) {
  const [server, file] = process.argv.slice(2);
  console.log(JSON.stringify(await seed(server, JSON.parse(readFileSync(file, "utf8"))), null, 1));
}
