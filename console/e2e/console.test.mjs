// The console in a real browser, against a real server. What the pages may never do is watched in every test:
// errors, and contents that their policy refuses.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, describe, test } from "node:test";
import { issuer } from "./issuer.mjs";
import { playScenario } from "./play.mjs";
import { apiOf, hostile, largeWorkflow, seed } from "./seed.mjs";
import { freePort, redis, serve, until } from "./server.mjs";
import { close, decided, faults, logIn as logInAt, settled, visit } from "./visit.mjs";

const patient = { timeout: 60_000 };
let server;
let seeded;
let api;

before(async () => {
  server = await serve({}, "--runs-per-principal", "0");
  seeded = await seed(server.url, server.tokens);
  api = apiOf(server.url, server.tokens);
});

after(async () => {
  await close();
  await server?.end();
});

const logIn = (page, token, path = "/", at = server) => logInAt(page, at.url, token, path);

/** Asks for something with an approval: the run, and the approval that waits. */
async function park(data = { version: "2.0" }) {
  const run = await api("agent", "POST", "/v1/runs", { workflow: "deploy", session_id: `park-${Math.random()}` });
  await api("agent", "POST", `/v1/runs/${run.run_id}/transition`, { event: "READY" });
  const parked = await api("agent", "POST", `/v1/runs/${run.run_id}/transition`, { event: "SHIP", data });
  return { run: run.run_id, approval: parked.approval_id };
}

const approvalOf = (id) => api("operator", "GET", `/v1/approvals/${id}`);

describe("log in", () => {
  test("a link logs in once, and leaves the address", async () => {
    const link = server.link();
    const first = await visit();
    await first.page.goto(link);
    await first.page.getByRole("heading", { name: "Now" }).waitFor();
    assert.equal(new URL(first.page.url()).hash, "");
    await first.page.reload();
    await first.page.getByRole("heading", { name: "Now" }).waitFor();
    const second = await visit();
    await second.page.goto(link);
    await second.page.getByRole("alert").getByText("was used before").waitFor();
    await second.page.getByLabel("Token").waitFor();
    assert.deepEqual([...first.problems, ...second.problems], []);
    await first.context.close();
    await second.context.close();
  });

  test("a token logs in, a wrong one does not, and logging out ends it", async () => {
    const { page, context } = await visit();
    await page.goto(`${server.url}/ui/runs`);
    await page.getByLabel("Token").fill("nobodys");
    await page.getByRole("button", { name: "Log in", exact: true }).click();
    await page.getByRole("alert").getByText("not known here").waitFor();
    await logIn(page, server.tokens.observer, "/runs");
    await page.getByRole("heading", { name: "Runs" }).waitFor(); // where it wanted to be
    await page.getByRole("button", { name: "Log out" }).click();
    await page.getByLabel("Token").waitFor();
    assert.deepEqual(await context.cookies(), []);
    await context.close();
  });

  test("logging out ends the session on the server, with its stream and in other tabs", async () => {
    const { page, context } = await visit();
    await logIn(page, server.tokens.observer, "/runs");
    const code = await page.evaluate(() => localStorage.getItem("interlock-code"));
    const cookie = (await context.cookies()).map((c) => `${c.name}=${c.value}`).join("; ");
    const read = () => fetch(`${server.url}/ui/api/v1/runs`, { headers: { Cookie: cookie, "X-Interlock-CSRF": code } });
    assert.equal((await read()).status, 200);
    const stream = await fetch(`${server.url}/ui/api/v1/events`, {
      headers: { Cookie: cookie, "X-Interlock-CSRF": code },
    });
    assert.equal(stream.status, 200);
    await page.getByRole("button", { name: "Log out" }).click();
    await page.getByLabel("Token").waitFor();
    assert.equal((await read()).status, 401); // a copy of the cookie and the code
    await stream.text().catch(() => undefined); // it ends
    await context.close();
  });

  test("cookies of other ports keep nobody out", async () => {
    const { page, context, problems } = await visit();
    const foreign = { name: "interlock_console", value: "x", domain: new URL(server.url).hostname };
    await context.addCookies(["/", "/ui/", "/ui/api", "/ui/session"].map((path) => ({ ...foreign, path })));
    await logIn(page, server.tokens.observer, "/runs");
    await page.getByRole("heading", { name: "Runs" }).waitFor();
    await page.getByText("Live", { exact: true }).waitFor();
    await page.reload();
    await page.getByRole("heading", { name: "Runs" }).waitFor();
    assert.deepEqual(problems, []);
    await context.close();
  });

  test("a link asks before it replaces a session", async () => {
    const { page, context } = await visit();
    await logIn(page, server.tokens.observer, "/runs");
    const link = server.link();
    for (const choice of ["Stay as I am", "Use the link"]) {
      await page.goto("about:blank");
      await page.goto(link);
      await page.getByText("this link would end that").waitFor();
      assert.equal(new URL(page.url()).hash, "");
      await page.getByRole("button", { name: choice }).click();
      await page
        .getByText(choice === "Use the link" ? "as approver, operator" : "observer")
        .first()
        .waitFor();
    }
    await context.close();
  });

  test("the address says nothing in words of its own", async () => {
    const { page, context, problems } = await visit();
    const evil = "Call 0900 123 to log in";
    for (const text of [evil, `too-late ${evil}`, "__proto__", "constructor", "toString"]) {
      await page.goto("about:blank");
      await page.goto(`${server.url}/ui/#problem=${encodeURIComponent(text)}`);
      await page.getByRole("alert").getByText("You are not logged in.").waitFor();
      assert.equal(await page.getByText("0900").count(), 0);
    }
    await page.goto("about:blank");
    await page.goto(`${server.url}/ui/#problem=too-late`);
    await page.getByRole("alert").getByText("Signing in took too long").waitFor();
    assert.deepEqual(problems, []);
    await context.close();
  });

  test("people sign in at an identity provider, and may do what their role may", async () => {
    const id = await issuer({ sub: "olga", interlock_role: "approver" });
    const port = await freePort();
    const flags = ["--oidc-issuer", id.url, "--oidc-audience", "interlock", "--console-oidc"];
    const own = await serve({ port }, ...flags, "--public-url", `http://127.0.0.1:${port}`);
    try {
      const { page, context, problems } = await visit();
      await page.goto(`${own.url}/ui/runs?status=PAUSED`);
      await page.getByRole("link", { name: "With your identity provider" }).click();
      await page.getByRole("heading", { name: "Runs" }).waitFor();
      assert.equal(new URL(page.url()).search, "?status=PAUSED"); // where it wanted to be
      await page.getByText("olga as approver").waitFor();
      await page.getByRole("button", { name: "Log out" }).click();
      // A sign-in that this browser did not begin is refused, and says so.
      await page.goto(`${own.url}/ui/oidc/callback?state=x&code=y`);
      await page.getByRole("alert").getByText("not begun in this browser").waitFor();
      assert.deepEqual(problems, []);
      await context.close();
    } finally {
      await own.end();
      id.end();
    }
  });

  test("the cookie alone, which other ports of the host get, opens nothing", async () => {
    const { page, context } = await visit();
    await logIn(page, server.tokens.operator);
    const cookie = (await context.cookies(`${server.url}/ui/`))[0];
    assert.ok(cookie.httpOnly && cookie.sameSite === "Strict" && cookie.path === "/ui");
    const ask = (path, headers) =>
      fetch(server.url + path, { headers: { Cookie: `${cookie.name}=${cookie.value}`, ...headers } });
    assert.equal((await ask("/ui/api/v1/runs")).status, 401);
    const told = await (await ask("/ui/session")).json();
    assert.equal(told.authenticated, false);
    assert.equal(told.csrf, undefined);
    // Its page knows the code; with it the cookie is a session, but not from another origin.
    const code = await page.evaluate(() => localStorage.getItem("interlock-code"));
    assert.equal((await ask("/ui/api/v1/runs", { "X-Interlock-CSRF": code })).status, 200);
    assert.equal(
      (await ask("/ui/api/v1/runs", { "X-Interlock-CSRF": code, Origin: "http://evil.example" })).status,
      403,
    );
    await context.close();
  });
});

const screens = (made = seeded) => ({
  Now: "/",
  Approvals: "/approvals",
  Runs: "/runs",
  "A run": `/runs/${made.runs[0]}`,
  Decisions: "/decisions",
  "Workflows and policies": "/workflows",
  "A workflow": "/workflows/deploy",
  "Its coverage": "/workflows/bugfix?tab=Coverage",
  "Its changes": "/workflows/bugfix?tab=Changes",
  "Its proof": "/workflows/bugfix?tab=Proof",
  "Its migration": "/workflows/bugfix?tab=Migration",
  "Its replay": "/workflows/bugfix?tab=Replay",
  "A policy": "/policies/house",
  "The editor": "/new/workflow",
  Schedules: "/schedules",
  "A schedule": "/schedules/leap-day",
  Sessions: "/sessions",
  "A session": `/sessions/${made.session}`,
  "Shared state": "/states",
  "A state": `/states/${made.state}`,
  Components: "/components",
  People: "/people",
  "Refused callers": "/refusals",
  "Audit and health": "/health",
  Playground: "/playground",
});

describe("every screen", () => {
  for (const [width, colorScheme] of [
    [1280, "light"],
    [1280, "dark"],
    [360, "light"],
    [2560, "dark"],
  ])
    test(`${width} px, ${colorScheme}: no error, accessible, nothing wider than the page, hostile texts harmless`, async () => {
      const { page, context, problems } = await visit({ viewport: { width, height: 900 }, colorScheme });
      await logIn(page, server.tokens.operator);
      for (const [name, path] of Object.entries(screens())) {
        await page.goto(`${server.url}/ui${path}`);
        await settled(page);
        const wide = await page.evaluate(
          () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
        );
        assert.ok(wide <= 0, `${name} is ${wide} px wider than the page`);
        assert.deepEqual(await faults(page), [], name);
        const text = await page.evaluate(() => document.body.textContent);
        assert.ok(!/[\u202e\u200b]/.test(text), `${name} shows a character that hides`);
      }
      assert.deepEqual(problems, []);
      await context.close();
    });
});

describe("approvals", () => {
  test("are approved and rejected by keyboard alone", async () => {
    const [first, second] = [await park(), await park()];
    const { page, context, problems } = await visit();
    await page.goto(server.link());
    await page.getByRole("heading", { name: "Now" }).waitFor();
    await page.goto(`${server.url}/ui/approvals/${first.approval}`);
    await page.getByRole("button", { name: "Approve", exact: true }).waitFor();
    await page.keyboard.press("a");
    await page.keyboard.press("Enter");
    await decided(page).waitFor();
    await until(
      "the run to continue",
      async () => (await api("operator", "GET", `/v1/runs/${first.run}`)).state === "ship",
    );
    await page.goto(`${server.url}/ui/approvals/${second.approval}`);
    await page.getByRole("button", { name: "Reject", exact: true }).waitFor();
    await page.keyboard.press("r");
    await page.keyboard.press("Enter");
    await page.getByRole("article").getByText("rejected", { exact: true }).first().waitFor();
    assert.equal((await approvalOf(second.approval)).status, "REJECTED");
    assert.deepEqual(problems, []);
    await context.close();
  });

  test("what is approved with edits is what was shown; numbers stay as they were written", async () => {
    const { approval } = await park({ amount: 1, why: hostile });
    // A number that no browser can hold, as an agent in another language sends it.
    const run = await api("agent", "POST", "/v1/runs", { workflow: "deploy", session_id: "big" });
    await api("agent", "POST", `/v1/runs/${run.run_id}/transition`, { event: "READY" });
    const sent = await fetch(`${server.url}/v1/runs/${run.run_id}/transition`, {
      method: "POST",
      headers: { Authorization: `Bearer ${server.tokens.agent}`, "Content-Type": "application/json" },
      body: '{"event":"SHIP","data":{"amount":12345678901234567890}}',
    });
    const big = (await sent.json()).approval_id;
    const { page, context, problems } = await visit();
    await page.goto(server.link());
    await page.getByRole("heading", { name: "Now" }).waitFor();
    await page.goto(`${server.url}/ui/approvals/${big}`);
    await page.getByText("12345678901234567890").first().waitFor();
    await page.getByRole("button", { name: "Edit" }).click();
    const box = page.getByLabel("Data to approve instead");
    assert.match(await box.inputValue(), /12345678901234567890/);
    await box.fill(`${(await box.inputValue()).replace("}", ', "by": "me"}')}`);
    await page.getByRole("button", { name: "Approve with these data" }).click();
    await decided(page).waitFor();
    const text = await (
      await fetch(`${server.url}/v1/approvals/${big}`, {
        headers: { Authorization: `Bearer ${server.tokens.operator}` },
      })
    ).text();
    assert.match(text, /"edited_data":\{[^}]*12345678901234567890[^}]*\}/);
    // Broken JSON cannot be sent.
    await page.goto(`${server.url}/ui/approvals/${approval}`);
    await page.getByRole("button", { name: "Edit" }).click();
    assert.doesNotMatch(
      await page.getByLabel("Data to approve instead").inputValue(),
      /[\u200b-\u200f\u202a-\u202e\u2066-\u2069]/, // they are escaped there
    );
    await page.getByLabel("Data to approve instead").fill("{");
    assert.ok(await page.getByRole("button", { name: "Approve with these data" }).isDisabled());
    assert.deepEqual(problems, []);
    await context.close();
  });

  test("identical ones are one decision, for all of them or for none", async () => {
    const data = { version: `same-${Math.random()}` };
    const asked = [await park(data), await park(data), await park(data)];
    const { page, context, problems } = await visit();
    await page.goto(server.link());
    await page.getByRole("heading", { name: "Now" }).waitFor();
    await page.goto(`${server.url}/ui/approvals/${asked[0].approval}`);
    await page.getByRole("button", { name: "Approve all 3" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Yes" }).click();
    for (const { run } of asked)
      await until(
        "each run to continue",
        async () => (await api("operator", "GET", `/v1/runs/${run}`)).state === "ship",
      );
    assert.deepEqual(problems, []);
    await context.close();
  });

  test("a command is shown by its parts, calls like it can pass for a while, and that can be revoked", async () => {
    await api("operator", "POST", "/v1/workflows", {
      id: "pushes",
      initial: "work",
      states: { work: { allowed_tools: ["Bash", "Edit"], on: { DONE: "end" } }, end: { type: "final" } },
    });
    await api("operator", "POST", "/v1/policies?name=pushes", {
      role: "agent",
      ask: [{ capability: "bash" }],
    });
    await api("operator", "PUT", "/v1/policies/pushes/attachments/workflow/pushes");
    const run = await api("agent", "POST", "/v1/runs", { workflow: "pushes", session_id: "pushes" });
    const check = (command) =>
      api("agent", "POST", `/v1/runs/${run.run_id}/check`, { tool: "Bash", input: { command } });
    const first = await check("git push origin main");
    assert.equal(first.decision, "ASK");
    const { page, context, problems } = await visit();
    await page.goto(server.link());
    await page.getByRole("heading", { name: "Now" }).waitFor();
    await page.goto(`${server.url}/ui/approvals/${first.approval_id}`);
    await page.getByText("rule /ask/0").first().waitFor();
    await page.getByLabel("Let calls like it pass").check();
    await page.getByLabel("Pattern").fill("git push origin *");
    await page.getByRole("button", { name: "Approve, and calls like it" }).click();
    await decided(page).waitFor();
    assert.equal((await check("git push origin next")).decision, "ALLOW");
    assert.equal((await check("git push --force origin next")).decision, "ASK");
    await page.goto(`${server.url}/ui/runs/${run.run_id}`);
    const leases = page.getByRole("region", { name: "Leases" });
    await leases.getByText("git push origin *").waitFor();
    await leases.getByRole("button", { name: "Revoke" }).click();
    await leases.waitFor({ state: "detached" });
    assert.equal((await check("git push origin third")).decision, "ASK");
    assert.deepEqual(problems, []);
    await context.close();
  });

  test("a decision shows every comparison of the conditions that it rests on", async () => {
    await api("operator", "POST", "/v1/workflows", {
      id: "refunds",
      initial: "pay",
      meta: { capture_output: true },
      states: {
        pay: { calls: [{ tool: "mcp__stripe__*", only: { "/currency": ["usd"] } }], on: { DONE: "end" } },
        end: { type: "final" },
      },
    });
    await api("operator", "POST", "/v1/policies?name=refunds", {
      role: "agent",
      deny: [
        {
          id: "huge refunds",
          capability: "mcp:stripe:refund",
          when: { "/amount": { gt: 100 } },
          unless: { "caller.name": "controller" },
        },
      ],
    });
    await api("operator", "PUT", "/v1/policies/refunds/attachments/workflow/refunds");
    const run = await api("agent", "POST", "/v1/runs", { workflow: "refunds", session_id: "refunds" });
    const check = (input, call_id) =>
      api("agent", "POST", `/v1/runs/${run.run_id}/check`, { tool: "mcp__stripe__refund", input, call_id });
    assert.equal((await check({ amount: "250", currency: "usd" }, "unclear")).code, "CALL_UNCLEAR");
    assert.equal((await check({ amount: 250, currency: "usd" }, "huge")).code, "POLICY_DENIED");
    const { page, context, problems } = await visit();
    await page.goto(server.link());
    await page.getByRole("heading", { name: "Now" }).waitFor();
    await page.goto(`${server.url}/ui/decisions/${run.run_id}/unclear`);
    const rows = page.getByRole("region", { name: "Conditions of huge refunds" }).getByRole("row");
    await rows.filter({ hasText: "/amount" }).getByText("doubt", { exact: true }).waitFor();
    await rows.filter({ hasText: "/amount" }).getByText("Send it as a number").waitFor();
    const state = page.getByRole("region", { name: "Condition /calls/0" }).getByRole("row");
    await state.filter({ hasText: "/currency" }).getByText("holds", { exact: true }).waitFor();
    await page.goto(`${server.url}/ui/decisions/${run.run_id}/huge`);
    await rows.filter({ hasText: "caller.name" }).getByText("holds", { exact: true }).waitFor();
    assert.match(await rows.filter({ hasText: "caller.name" }).textContent(), /not\s*"controller"\s*"agent"/);
    // A candidate that looks at values which the log lacks says how many calls it cannot decide.
    await api("operator", "POST", "/v1/policies?name=refunds", {
      role: "agent",
      deny: [{ capability: "mcp:stripe", unless: { "caller.namespace": "shop" } }],
    });
    await page.goto(`${server.url}/ui/policies/refunds`);
    await page.getByRole("button", { name: "Judge recent calls again" }).click();
    await page.getByText("2 calls are not known").waitFor();
    assert.deepEqual(problems, []);
    await context.close();
  });

  test("two people decide: one wins, and the other is told", async () => {
    const { approval } = await park();
    const people = await Promise.all([visit(), visit()]);
    for (const { page } of people) {
      await page.goto(server.link());
      await page.getByRole("heading", { name: "Now" }).waitFor();
      await page.route("**/v1/events", (route) => route.abort()); // so that neither page learns of the other's
      await page.goto(`${server.url}/ui/approvals/${approval}`);
      await page.getByRole("button", { name: "Approve", exact: true }).waitFor();
    }
    await people[0].page.getByRole("button", { name: "Approve", exact: true }).click();
    await decided(people[0].page).waitFor();
    const late = people[1].page;
    const button = late.getByRole("button", { name: "Reject", exact: true });
    // An event may have told this page already: then there is no button any more.
    if (await button.isVisible()) await button.click({ timeout: 2000 }).catch(() => undefined);
    await decided(late).waitFor();
    assert.notEqual((await approvalOf(approval)).status, "REJECTED");
    for (const { context } of people) await context.close();
  });

  test("tell in the tab how many wait", async () => {
    await park();
    const { page, context } = await visit();
    await logIn(page, server.tokens.observer);
    await page.waitForFunction(() => /^\(\d+\) /.test(document.title), undefined, patient);
    assert.equal(await page.locator('link[rel="icon"]').getAttribute("href"), "/ui/icon-waiting.svg");
    await context.close();
  });
});

describe("roles", () => {
  test("who may not decide is told so, and nobody changes anything as an observer", async () => {
    const { run, approval } = await park();
    const { page, context } = await visit();
    await logIn(page, server.tokens.observer, `/approvals/${approval}`);
    await page.getByText("You cannot decide this.").waitFor();
    assert.equal(await page.getByRole("button", { name: "Approve", exact: true }).count(), 0);
    await page.goto(`${server.url}/ui/runs/${run}`);
    await settled(page);
    assert.equal(await page.getByRole("button", { name: "Cancel" }).count(), 0);
    // A page that was changed by hand is refused by the server.
    const status = await page.evaluate(
      (id) =>
        fetch(`/ui/api/v1/runs/${id}/cancel`, {
          method: "POST",
          headers: { "X-Interlock-CSRF": localStorage.getItem("interlock-code"), "Content-Type": "application/json" },
          body: "{}",
        }).then((r) => r.status),
      run,
    );
    assert.equal(status, 403);
    await context.close();
  });

  test("an agent sees that this is not for agents", async () => {
    const { page, context, problems } = await visit();
    await logIn(page, server.tokens.agent);
    await page.getByRole("alert").first().waitFor();
    assert.deepEqual(problems, []);
    await context.close();
  });

  test("a read-only console changes nothing, and still answers", async () => {
    const locked = await serve({}, "--console-read-only");
    try {
      const { page, context } = await visit();
      await logIn(page, locked.tokens.operator, "/new/workflow", locked);
      await page.getByText("read-only console").waitFor();
      await page.getByText("valid", { exact: true }).waitFor();
      assert.ok(await page.getByRole("button", { name: "Register this version" }).isDisabled());
      await page.goto(`${locked.url}/ui/playground`);
      await page.getByRole("button", { name: "Play" }).click();
      await page.getByText("TOOL_NOT_ALLOWED").first().waitFor();
      const definition = { id: "asked", initial: "a", states: { a: { on: { GO: "z" } }, z: { type: "final" } } };
      await apiOf(locked.url, locked.tokens)("operator", "POST", "/v1/workflows", definition);
      await page.goto(`${locked.url}/ui/workflows/asked?tab=Replay`);
      await page.getByRole("button", { name: "Replay", exact: true }).click();
      await page.getByText("There are no runs of it to replay.").waitFor();
      await context.close();
    } finally {
      await locked.end();
    }
  });
});

describe("work", () => {
  test("an operator pauses, resumes and cancels a run, and forces its state", async () => {
    await api("operator", "POST", "/v1/workflows", {
      id: "forced",
      initial: "plan",
      meta: { debug: true },
      states: { plan: { on: { GO: "testing" } }, testing: { on: { DONE: "end" } }, end: { type: "final" } },
    });
    const run = await api("agent", "POST", "/v1/runs", { workflow: "forced", session_id: "hands-on" });
    const { page, context, problems } = await visit();
    await logIn(page, server.tokens.operator, `/runs/${run.run_id}`);
    const say = async (button) => {
      await page.getByRole("button", { name: button, exact: true }).click();
      await page.getByRole("dialog").getByRole("button", { name: "Yes" }).click();
    };
    await say("Pause");
    await page.getByText("All calls are denied since").waitFor();
    await say("Resume");
    await page.getByRole("button", { name: "Pause", exact: true }).waitFor();
    await page.getByRole("button", { name: "Force state" }).click();
    await page.getByRole("dialog").getByLabel("State").fill("testing");
    await page.getByRole("dialog").getByRole("button", { name: "Yes" }).click();
    await page.getByRole("heading", { name: "In testing" }).waitFor();
    await say("Cancel");
    await page.getByText("cancelled").first().waitFor();
    assert.deepEqual(problems, []);
    await context.close();
  });

  test("a run counts down, stands still while it is held, and is found when it is silent", async () => {
    await api("operator", "POST", "/v1/workflows", {
      id: "timed",
      initial: "plan",
      meta: { deadline: { after: "8h", target: "expired" } },
      states: {
        plan: { after: { "2h": "stuck" }, on: { GO: "end" } },
        stuck: { on: { GO: "end" } },
        end: { type: "final" },
        expired: { type: "final", outcome: "failure" },
      },
    });
    const run = await api("agent", "POST", "/v1/runs", { workflow: "timed", session_id: "slow" });
    const { page, context, problems } = await visit();
    await page.clock.install();
    await logIn(page, server.tokens.operator, `/runs/${run.run_id}`);
    const clocks = page.getByRole("list", { name: "Clocks" });
    await clocks.getByText(/^(2 h|1 h 59 min) left in this state, then stuck$/).waitFor();
    await clocks.getByText(/^The run ends at .*\d\d:\d\d$/).waitFor();
    await page.clock.fastForward("30:00");
    await clocks.getByText(/^1 h (30|29) min left in this state, then stuck$/).waitFor();
    await page.getByRole("button", { name: "Pause", exact: true }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Yes" }).click();
    const still = clocks.getByText(/ left in this state, then stuck; the clock stands still: the run is held$/);
    const left = await still.textContent();
    await page.clock.fastForward("30:00");
    assert.equal(await still.textContent(), left);
    assert.match(left, /^(2 h|1 h 59 min) left/); // the server's clock, which has not been moved
    await page.getByRole("button", { name: "Resume", exact: true }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Yes" }).click();
    await clocks.getByText(/left in this state, then stuck$/).waitFor();

    const silent = () => api("operator", "GET", "/v1/runs?workflow=timed&stale_for=1s");
    await until("its silence", async () => (await silent()).runs.length === 1);
    await page.goto(`${server.url}/ui/runs?workflow=timed&stale_for=1s`);
    await page.getByText("Last activity").waitFor();
    await page.getByRole("region", { name: "Runs" }).getByText("timed").waitFor();
    await page.getByRole("combobox", { name: "Filter runs" }).fill("silent:10m");
    await page.keyboard.press("Enter");
    await page.getByText("No run fits these filters.").waitFor();
    assert.match(page.url(), /stale_for=10m/);
    assert.deepEqual(problems, []);
    await context.close();
  });

  test("what is not enforced is said where it is looked for, with its reason", async () => {
    const states = { plan: { allowed_tools: ["Read"], on: { GO: "end" } }, end: { type: "final" } };
    await api("operator", "POST", "/v1/workflows", {
      id: "lenient",
      initial: "plan",
      meta: { enforcement: "while_running" },
      states,
    });
    await api("operator", "POST", "/v1/workflows", { id: "kept", initial: "plan", states });
    const start = (workflow) => api("agent", "POST", "/v1/runs", { workflow, session_id: `not-enforced-${workflow}` });
    const check = (run, call_id) =>
      api("agent", "POST", `/v1/runs/${run.run_id}/check`, { tool: "WebFetch", input: {}, call_id });
    const lenient = await start("lenient");
    const kept = await start("kept");
    const { page, context, problems } = await visit();
    const enforced = page.locator("dt", { hasText: "Allowed tools" }).locator("xpath=following-sibling::dd[1]");

    await logIn(page, server.tokens.operator, `/runs/${lenient.run_id}`);
    await page.getByRole("heading", { name: "In plan" }).waitFor();
    assert.equal(await enforced.textContent(), "Read");
    assert.equal(await page.getByText("nothing is enforced").count(), 0);
    await api("agent", "POST", `/v1/runs/${lenient.run_id}/pause`, {});
    await page.getByText(/^Nothing is enforced since .* by agent: paused$/).waitFor();
    assert.equal(await enforced.textContent(), "any: nothing is enforced");
    await page.getByRole("button", { name: "Resume", exact: true }).waitFor();
    assert.deepEqual((({ decision, code }) => [decision, code])(await check(lenient, "while-paused")), [
      "ALLOW",
      "NOT_ENFORCED",
    ]);

    await page.goto(`${server.url}/ui/decisions/${lenient.run_id}/while-paused`);
    await page.getByRole("heading", { name: "Allowed, not enforced: WebFetch" }).waitFor();
    await page.getByText("No rule judged it: run paused by agent.").waitFor();
    const state = page.locator(".proof li", { hasText: "State" });
    assert.match(await state.textContent(), /not enforced/);
    assert.doesNotMatch(await state.textContent(), /passes/);
    await page.goto(`${server.url}/ui/decisions?run_id=${lenient.run_id}`);
    await page.getByText("run paused by agent").waitFor();
    await page.goto(`${server.url}/ui/`);
    await page.getByText("run paused by agent").first().waitFor(patient);
    assert.equal(
      await page.getByRole("link", { name: "held", exact: true }).getAttribute("href"),
      "/ui/runs?status=HELD",
    );

    await api("agent", "POST", `/v1/runs/${kept.run_id}/transition`, { event: "GO" });
    await check(kept, "after-the-end");
    await page.goto(`${server.url}/ui/runs/${kept.run_id}`);
    await page.getByText(/^Nothing is enforced since .*: the run has ended$/).waitFor();
    await page.goto(`${server.url}/ui/decisions?code=NOT_ENFORCED&run_id=${kept.run_id}`);
    await page.getByText("run has ended").waitFor();
    assert.deepEqual(problems, []);
    await context.close();
  });

  test("a workflow is written, checked, drawn and registered", async () => {
    const { page, context, problems } = await visit();
    await logIn(page, server.tokens.operator, "/new/workflow");
    const text = page.getByRole("textbox", { name: "Definition" });
    await text.click();
    await page.keyboard.press("Control+A");
    await page.keyboard.insertText('{"id": "typed", "initial": "a", "states": {"a": {"on": {"GO": "nowhere"}}}}');
    await page.getByText("not valid").waitFor();
    await page.getByText("/states/a/on/GO").first().waitFor();
    await text.click();
    await page.keyboard.press("Control+A");
    await page.keyboard.insertText(
      '{"id": "typed", "initial": "a", "states": {"a": {"on": {"GO": "b"}}, "b": {"type": "final"}}}',
    );
    await page.getByText("valid", { exact: true }).waitFor();
    await page.getByRole("button", { name: /^b/ }).waitFor();
    await page.getByRole("button", { name: "Register this version" }).click();
    await page.getByRole("heading", { name: "typed" }).waitFor();
    assert.equal((await api("operator", "GET", "/v1/workflows/typed")).version, 1);
    assert.deepEqual(problems, []);
    await context.close();
  });

  test("a component is made by the form", async () => {
    const { page, context } = await visit();
    await logIn(page, server.tokens.operator, "/components");
    await page.getByRole("button", { name: "New" }).click();
    await page.getByLabel("Slug").fill("by-hand");
    await page.getByLabel("Name").fill("By hand");
    await page.getByRole("button", { name: "Create" }).click();
    await page.getByRole("heading", { name: "By hand" }).waitFor();
    await context.close();
  });

  test("a run becomes a test that passes", async () => {
    const run = await api("agent", "POST", "/v1/runs", { workflow: "bugfix", session_id: "as-test" });
    await api("agent", "POST", `/v1/runs/${run.run_id}/transition`, { event: "READY", data: { note: hostile } });
    const { page, context } = await visit();
    await logIn(page, server.tokens.operator, `/runs/${run.run_id}`);
    const [file] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: "Save as a test" }).click(),
    ]);
    const text = readFileSync(await file.path(), "utf8");
    assert.match(text, /event: "READY"/);
    const { definition } = await api("operator", "GET", "/v1/workflows/bugfix");
    playScenario(text, { "bugfix.json": definition }); // it throws when the test fails
    await context.close();
  });
});

describe("proof", () => {
  const proved = (tools, properties) => ({
    id: "proved",
    initial: "work",
    states: { work: { allowed_tools: tools, on: { DONE: "done" } }, done: { type: "final" } },
    properties,
  });

  test("a counterexample, what a move newly allows, and a receipt are shown", async () => {
    const properties = { "nothing is edited": { never: { tool: "Edit" } }, "it can end": { always_possible: true } };
    await api("operator", "POST", "/v1/workflows", proved(["Read"], properties));
    const run = await api("agent", "POST", "/v1/runs", { workflow: "proved", session_id: "to-prove" });
    await api("operator", "POST", "/v1/workflows", proved(["Read", "Edit"], properties));
    const { page, context, problems } = await visit();
    await logIn(page, server.tokens.operator, "/workflows/proved?tab=Proof");
    await page.getByText("counterexample", { exact: true }).waitFor();
    await page.getByText("proved", { exact: true }).last().waitFor();
    await page.getByRole("button", { name: "Show the run that breaks it" }).click();
    await page.locator("ol li").first().waitFor();
    await page.goto(`${server.url}/ui/workflows/proved?tab=Migration`);
    await page.getByText("loosened", { exact: true }).waitFor();
    await page.locator(".panel p").getByText("Edit", { exact: true }).waitFor();
    await page.goto(`${server.url}/ui/runs/${run.run_id}`);
    const [file] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: "Save its receipt" }).click(),
    ]);
    const receipt = JSON.parse(readFileSync(await file.path(), "utf8"));
    assert.equal(receipt.payloadType, "application/vnd.in-toto+json");
    const statement = JSON.parse(Buffer.from(receipt.payload, "base64").toString());
    assert.equal(statement.predicate.run_id, run.run_id);
    assert.deepEqual(problems, []);
    await context.close();
  });

  test("a shared state says who may write what", async () => {
    const { page, context, problems } = await visit();
    await logIn(page, server.tokens.operator, `/states/${seeded.state}`);
    const list = page
      .getByRole("row")
      .filter({ has: page.getByText("/title", { exact: true }) })
      .last();
    await page.getByRole("heading", { name: "Who may write what" }).waitFor();
    assert.match(await list.textContent(), /role:operator, session:/);
    assert.deepEqual(problems, []);
    await context.close();
  });

  /** What is shown now is accessible, and no wider than a small page. */
  const fits = async (page) => {
    await page.setViewportSize({ width: 360, height: 900 });
    const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
    assert.ok(wide <= 0, `it is ${wide} px wider than the page`);
    assert.deepEqual(await faults(page), []);
    await page.setViewportSize({ width: 1280, height: 900 });
  };

  /** The state that is marked as the current one, and how those are that the run has been in. */
  const marked = async (page) => ({
    current: await page.locator(".g-node.current .name").allTextContents(),
    visited: (await page.locator(".g-node.visited .name").allTextContents()).sort(),
  });

  test("a counterexample is played step by step on the graph", async () => {
    const states = {
      plan: { allowed_tools: ["Read"], on: { GO: "work" } },
      work: { allowed_tools: ["Read"], on: { ON: "edit", BACK: "plan" } },
      edit: { allowed_tools: ["Edit"], on: { DONE: "done" } },
      done: { type: "final" },
    };
    const properties = {
      "nothing is edited": { never: { tool: "Edit" }, while: "running" },
      "nothing ends": { never: { event: "DONE" } },
    };
    await api("operator", "POST", "/v1/workflows", { id: "stepped", initial: "plan", states, properties });
    const { page, context, problems } = await visit();
    await logIn(page, server.tokens.operator, "/workflows/stepped?tab=Proof");
    const panel = page.locator("section", { hasText: "nothing is edited" });
    await panel.getByRole("button", { name: "Show the run that breaks it" }).click();
    const told = panel.locator("[aria-live]");
    const next = panel.getByRole("button", { name: "Next" });
    const previous = panel.getByRole("button", { name: "Previous" });
    await told.getByText("It begins · now in plan").waitFor();
    assert.deepEqual(await marked(page), { current: ["plan"], visited: [] });
    assert.ok(await previous.isDisabled());
    await next.click();
    await told.getByText("event GO · now in work").waitFor();
    assert.deepEqual(await marked(page), { current: ["work"], visited: ["plan"] });
    assert.equal(await panel.locator("li[aria-current=step]").textContent(), "event GO");
    await next.click();
    await told.getByText("event ON · now in edit").waitFor();
    await next.click();
    await told.getByText('call {"tool":"Edit"').waitFor();
    assert.deepEqual(await marked(page), { current: ["edit"], visited: ["plan", "work"] });
    assert.ok(await next.isDisabled());
    await fits(page);
    await previous.click();
    await previous.click();
    await told.getByText("event GO · now in work").waitFor();
    assert.deepEqual(await marked(page), { current: ["work"], visited: ["plan"] });
    // Another one begins at its own beginning.
    await page.getByRole("button", { name: "Show the run that breaks it" }).click();
    await page.locator("section", { hasText: "nothing ends" }).getByText("It begins · now in plan").waitFor();
    assert.deepEqual(await marked(page), { current: ["plan"], visited: [] });
    assert.deepEqual(problems, []);
    await context.close();
  });

  test("recorded runs are replayed by a candidate, and what differs is marked on the graph", async () => {
    const definition = (tools, event) => ({
      id: "rehearsed",
      initial: "look",
      states: {
        look: { allowed_tools: tools, on: { FOUND: "fix" } },
        fix: { allowed_tools: ["Edit"], on: { [event]: "done" } },
        done: { type: "final" },
      },
    });
    await api("operator", "POST", "/v1/workflows", definition(["Read"], "DONE"));
    const runs = [];
    for (const denied of [true, true, false]) {
      const { run_id } = await api("agent", "POST", "/v1/runs", {
        workflow: "rehearsed",
        session_id: `r-${runs.length}`,
      });
      runs.push(run_id);
      if (denied) await api("agent", "POST", `/v1/runs/${run_id}/check`, { tool: "Grep", input: { pattern: "x" } });
      for (const event of ["FOUND", "DONE"]) await api("agent", "POST", `/v1/runs/${run_id}/transition`, { event });
    }
    const { page, context, problems } = await visit();
    await logIn(page, server.tokens.observer, "/workflows/rehearsed?tab=Replay");
    const replay = page.getByRole("button", { name: "Replay", exact: true });
    const summary = page.getByRole("region", { name: "What came of it" });
    await replay.click();
    await summary.getByText("nothing differs").waitFor();
    assert.equal(await page.locator(".graph .tick.bad").count(), 0);
    const put = async (text) => {
      await page.locator(".cm-content").click();
      await page.keyboard.press("Control+a");
      await page.keyboard.insertText(text);
    };
    await put(JSON.stringify(definition(["Read", "Grep"], "FINISHED")));
    await replay.click();
    await summary.getByText("3 runs replayed").waitFor();
    await summary.getByText("2 loosened").waitFor();
    await summary.getByText("1 tightened").waitFor();
    const looser = page.getByRole("region", { name: 'loosened: state "look"' });
    await looser.getByText("2 runs").waitFor();
    await looser.getByText("2 entries beyond it not known").first().waitFor();
    assert.deepEqual(await page.locator(".g-node.changed .name").allTextContents(), ["look"]);
    assert.deepEqual(await page.locator(".graph .tick.bad").allTextContents(), ["2×"]);
    assert.deepEqual(await page.locator(".graph .after").allTextContents(), [" 1×"]);
    await page.locator(".graph .label", { hasText: "DONE" }).getByText("1×").waitFor();
    await fits(page);
    await page
      .getByRole("region", { name: 'tightened: state "fix"' })
      .getByRole("button", { name: "Mark only these" })
      .click();
    assert.equal(await page.locator(".graph .tick.bad").count(), 0);
    assert.deepEqual(await page.locator(".graph .after").allTextContents(), [" 1×"]);
    assert.equal(await looser.getByRole("link").first().getAttribute("href"), `/ui/runs/${runs[1]}`);
    // What is wrong with a candidate is said where it is; a version can be chosen; nothing was stored.
    await put(JSON.stringify({ ...definition(["Read"], "DONE"), id: "another" }));
    await replay.click();
    await page.getByRole("alert").getByText('give it the id "rehearsed"').waitFor();
    await page.getByLabel("Candidate").first().selectOption("1");
    await page.locator(".cm-content").getByText("rehearsed").waitFor();
    await replay.click();
    await summary.getByText("nothing differs").waitFor();
    assert.equal((await api("operator", "GET", "/v1/workflows/rehearsed")).version, 1);
    assert.deepEqual(problems, []);
    await context.close();
  });
});

describe("without a server", () => {
  test("pages say so, come back by themselves, and miss nothing", async () => {
    const own = await serve();
    try {
      await seed(own.url, own.tokens, { runs: 3, states: 3 });
      const { page, context } = await visit();
      await logIn(page, own.tokens.operator, "/approvals", own);
      await page.getByText("Live", { exact: true }).waitFor();
      await own.stop("SIGKILL");
      await page.getByText("Not live; trying again").waitFor();
      await own.start();
      const ownApi = apiOf(own.url, own.tokens);
      const before = (await ownApi("operator", "GET", "/v1/approvals?status=PENDING")).approvals.length;
      const run = await ownApi("agent", "POST", "/v1/runs", { workflow: "deploy", session_id: "away" });
      await ownApi("agent", "POST", `/v1/runs/${run.run_id}/transition`, { event: "READY" });
      await ownApi("agent", "POST", `/v1/runs/${run.run_id}/transition`, { event: "SHIP" });
      await page.getByText("Live", { exact: true }).waitFor({ timeout: 60_000 });
      await page.getByText(`${before + 1} in all`).waitFor();
      await context.close();
    } finally {
      await own.end();
    }
  });
});

describe("on Redis", () => {
  test("every screen shows what is there, and an approval is decided", async () => {
    const store = await redis();
    const own = await serve({}, "--store", store.url);
    try {
      const made = await seed(own.url, own.tokens, { runs: 12 });
      const { page, context, problems } = await visit();
      await page.goto(own.link());
      await page.getByRole("heading", { name: "Now" }).waitFor();
      for (const path of Object.values(screens(made))) {
        await page.goto(`${own.url}/ui${path}`);
        await settled(page);
        assert.equal(await page.getByRole("alert").count(), 0, path);
      }
      await page.goto(`${own.url}/ui/approvals/${made.approvals[0]}`);
      await page.getByRole("button", { name: "Approve", exact: true }).click();
      await decided(page).waitFor();
      assert.deepEqual(problems, []);
      await context.close();
    } finally {
      await own.end();
      await store.end();
    }
  });
});

describe("size", () => {
  test("long lists are drawn as far as they are seen, and a large workflow opens", async () => {
    const count = Number(process.env.RUNS ?? 600);
    for (let i = 0; i < count; i += 20)
      await Promise.all(
        Array.from({ length: 20 }, (_, k) =>
          api("agent", "POST", "/v1/runs", { workflow: "bugfix", session_id: `many-${i + k}` }),
        ),
      );
    await api("operator", "POST", "/v1/workflows", largeWorkflow("huge", 2000));
    const { page, context, problems } = await visit();
    await logIn(page, server.tokens.operator, "/runs");
    await settled(page);
    const list = page.getByRole("region", { name: "Runs" });
    for (let place = 0; place < 10; place++) {
      await list.evaluate((box) => box.scrollBy(0, box.clientHeight * 3));
      // No blank frame: by the next one, what is seen has rows.
      const rows = await list.evaluate(
        (box) =>
          new Promise((resolve) =>
            requestAnimationFrame(() =>
              requestAnimationFrame(() => {
                const frame = box.getBoundingClientRect();
                const seen = [...box.querySelectorAll(".list-row")].filter((r) => {
                  const at = r.getBoundingClientRect();
                  return at.bottom > frame.top && at.top < frame.bottom;
                });
                resolve(seen.length);
              }),
            ),
          ),
      );
      assert.ok(rows >= 5, `only ${rows} rows are drawn at place ${place}`);
      assert.ok((await page.locator(".list-row").count()) < 100);
      await page.waitForFunction(() => true);
    }
    const painted = await page.evaluate(() => performance.getEntriesByName("first-contentful-paint")[0]?.startTime);
    console.log(`# with ${count} runs the list was painted first after ${Math.round(painted)} ms`);
    const events = Number(process.env.EVENTS ?? 200);
    await api("operator", "POST", "/v1/workflows", {
      id: "circle",
      initial: "a",
      states: { a: { on: { NEXT: "b", END: "done" } }, b: { on: { NEXT: "a" } }, done: { type: "final" } },
    });
    const { run_id: long } = await api("agent", "POST", "/v1/runs", { workflow: "circle", session_id: "long" });
    for (let i = 0; i < events; i++) await api("agent", "POST", `/v1/runs/${long}/transition`, { event: "NEXT" });
    const opened = Date.now();
    await page.goto(`${server.url}/ui/runs/${long}`);
    await page.locator(".g-node").first().waitFor({ state: "attached" });
    await settled(page);
    console.log(`# a run of ${events} events opened in ${Date.now() - opened} ms`);
    const begun = Date.now();
    await page.goto(`${server.url}/ui/workflows/huge`);
    await page.locator(".g-node").first().waitFor();
    assert.ok((await page.locator(".g-node").count()) < 60, "more states are drawn than are seen");
    console.log(`# a workflow of 2,000 states opened in ${Date.now() - begun} ms`);
    assert.deepEqual(problems, []);
    await context.close();
  });
});
