// The lists of the console: the table, its filters, and what pages group.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { apiOf, hostile } from "./seed.mjs";
import { serve, until } from "./server.mjs";
import { close, decided, faults, logIn as logInAt, settled, visit } from "./visit.mjs";

const phone = { viewport: { width: 390, height: 844 }, hasTouch: true };
let server;
let api;

const states = {
  work: { allowed_tools: ["Read", "Write"], on: { DONE: "end" } },
  end: { type: "final" },
};

before(async () => {
  server = await serve({}, "--runs-per-principal", "0");
  api = apiOf(server.url, server.tokens);
  await api("operator", "POST", "/v1/workflows", {
    id: "alpha",
    initial: "work",
    meta: { enforcement: "while_running", capture_output: true },
    states,
  });
  await api("operator", "POST", "/v1/workflows", {
    id: "beta",
    initial: "work",
    meta: { approval_mode: "ui" },
    states,
  });
  await api("operator", "POST", "/v1/policies?name=asks", { role: "agent", ask: [{ capability: "tool:Write" }] });
  await api("operator", "PUT", "/v1/policies/asks/attachments/workflow/beta");
});

after(async () => {
  await close();
  await server?.end();
});

const logIn = (page, role, path) => logInAt(page, server.url, server.tokens[role], path);
const start = async (workflow, session_id) => (await api("agent", "POST", "/v1/runs", { workflow, session_id })).run_id;
const check = (run, tool, input) => api("agent", "POST", `/v1/runs/${run}/check`, { tool, input });
const rowsOf = (page) => page.locator(".list-row");
/** The texts of a column, from the first row on. */
const column = (page, name) =>
  page.getByRole("table").evaluate((table, heading) => {
    const names = [...table.querySelectorAll("[role=columnheader]")].map((h) => h.textContent.replace(/ [↑↓]$/, ""));
    const rows = [...table.querySelectorAll(".list-row")].sort((a, b) => a.dataset.index - b.dataset.index);
    return rows.map((r) => r.querySelectorAll("[role=cell]")[names.indexOf(heading)].textContent.trim());
  }, name);
const search = (page) => Object.fromEntries(new URL(page.url()).searchParams);

describe("runs", () => {
  const runs = [];
  before(async () => {
    for (const [workflow, session] of [
      ["alpha", "s-10"],
      ["alpha", "s-9"],
      ["beta", "s-1"],
      ["beta", hostile.slice(0, 60)],
    ])
      runs.push(await start(workflow, session));
    await api("agent", "POST", `/v1/runs/${runs[1]}/pause`, {});
  });

  test("are filtered by the keyboard alone, and the address keeps the filters", async () => {
    const { page, context, problems } = await visit();
    await logIn(page, "operator", "/runs");
    await page.getByText("4 in all").waitFor();
    await page.keyboard.press("/");
    await page.keyboard.type("sta");
    await page.getByRole("option", { name: /^status:/ }).waitFor();
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    await page.keyboard.type("pa");
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    await page.getByText("1 in all").waitFor();
    assert.deepEqual(search(page), { status: "PAUSED" });
    assert.deepEqual(await faults(page), []);
    // The last token is edited by deleting it.
    await page.keyboard.press("Backspace");
    await page.getByText("4 in all").waitFor();
    assert.equal(await page.getByRole("combobox", { name: "Filter runs" }).inputValue(), "status:paused");
    await page.keyboard.press("Control+a");
    await page.keyboard.type("-workflow:alpha s-1");
    await page.keyboard.press("Enter");
    await page.getByText("1 in all").waitFor();
    assert.deepEqual(search(page), { not_workflow: "alpha", text: "s-1" });
    await page.keyboard.type("colour:red");
    await page.keyboard.press("Enter");
    await page.getByRole("alert").getByText("There is no filter colour.").waitFor();
    assert.deepEqual(search(page), { not_workflow: "alpha", text: "s-1" });
    await page.getByRole("button", { name: "Remove the filter s-1" }).click();
    await page.getByText("2 in all").waitFor();
    await page.reload();
    await page.getByRole("button", { name: "Remove the filter -workflow:alpha" }).waitFor();
    assert.deepEqual(problems, []);
    await context.close();
  });

  test("are moved through, opened and chosen by keyboard", async () => {
    const { page, context, problems } = await visit();
    await logIn(page, "operator", "/runs");
    await page.getByText("4 in all").waitFor();
    const focused = () => page.evaluate(() => document.activeElement.closest(".list-row")?.dataset.index);
    for (const [key, at] of [
      ["j", "0"],
      ["j", "1"],
      ["ArrowDown", "2"],
      ["k", "1"],
    ]) {
      await page.keyboard.press(key);
      await page.waitForFunction((i) => document.activeElement.closest(".list-row")?.dataset.index === i, at);
    }
    await page.keyboard.press("x");
    await page.getByText("1 chosen").waitFor();
    await page.keyboard.press(" ");
    await page.getByText("4 in all").waitFor();
    assert.equal(await focused(), "1");
    await page.keyboard.press("?");
    await page.getByText("choose the row").waitFor();
    assert.deepEqual(await faults(page), []);
    await page.keyboard.press("Enter");
    await page.waitForURL(`**/runs/${runs[2]}`);
    assert.deepEqual(problems, []);
    await context.close();
  });

  test("are chosen all at once, no row moves, and one action is done to all of them", async () => {
    const stopped = [await start("beta", "bulk-1"), await start("beta", "bulk-2")];
    const { page, context, problems } = await visit();
    await logIn(page, "operator", "/runs?text=bulk-");
    await page.getByText("2 in all").waitFor();
    const places = () => rowsOf(page).evaluateAll((rows) => rows.map((r) => r.getBoundingClientRect().top));
    const before = await places();
    await page.getByLabel("Choose all runs that are loaded").check();
    await page.getByText("2 chosen").waitFor();
    assert.deepEqual(await places(), before);
    await page.getByLabel(`Choose ${stopped[0]}`).uncheck();
    assert.ok(await page.getByLabel("Choose all runs that are loaded").evaluate((box) => box.indeterminate));
    await page.getByLabel("Choose all runs that are loaded").check();
    await page.getByRole("button", { name: "pause", exact: true }).click();
    await page.getByRole("dialog").getByLabel("Reason").fill("someone looks");
    await page.getByRole("dialog").getByRole("button", { name: "Yes" }).click();
    await page.getByText("2 in all").waitFor();
    for (const id of stopped) assert.equal((await api("operator", "GET", `/v1/runs/${id}`)).status, "HELD");
    // What a filter hides is not chosen any more.
    await page.getByLabel("Choose all runs that are loaded").check();
    await page.getByRole("combobox", { name: "Filter runs" }).fill("bulk-1");
    await page.keyboard.press("Enter");
    await page.getByText("1 chosen").waitFor();
    assert.deepEqual(problems, []);
    await context.close();
  });

  test("columns are chosen, and this browser keeps them", async () => {
    const { page, context, problems } = await visit();
    await logIn(page, "operator", "/runs");
    const heading = (name) => page.getByRole("columnheader", { name, exact: true });
    await heading("Session").waitFor();
    await page.getByRole("button", { name: "Columns" }).click();
    await page.getByLabel("Session", { exact: true }).uncheck();
    await page.getByLabel("Transitions", { exact: true }).check();
    assert.ok(await page.getByLabel("Workflow", { exact: true }).isDisabled()); // the link to the run
    assert.deepEqual(await faults(page), []);
    await page.keyboard.press("Escape");
    await page.reload();
    await heading("Transitions").waitFor();
    assert.equal(await heading("Session").count(), 0);
    assert.deepEqual(problems, []);
    await context.close();
  });

  test("filters get a name, and this browser keeps it until it is forgotten", async () => {
    const { page, context, problems } = await visit();
    await logIn(page, "operator", "/runs?status=PAUSED");
    await page.getByRole("button", { name: "Keep this view" }).click();
    await page.getByLabel("Name of the view").fill("stopped");
    await page.keyboard.press("Enter");
    await page.goto(`${server.url}/ui/runs`);
    await page.getByRole("link", { name: "stopped" }).click();
    await page.getByRole("button", { name: "Remove the filter status:paused" }).waitFor();
    await page.getByRole("button", { name: "Forget the view stopped" }).click();
    await page.goto(`${server.url}/ui/runs`);
    await settled(page);
    assert.equal(await page.getByRole("link", { name: "stopped" }).count(), 0);
    assert.deepEqual(problems, []);
    await context.close();
  });

  test("are sorted when all are loaded, and not before", async () => {
    const { page, context, problems } = await visit();
    await logIn(page, "operator", "/runs?workflow=alpha");
    await page.getByText("2 in all").waitFor();
    const heading = page.getByRole("columnheader", { name: "Session" });
    for (const [order, sessions] of [
      ["ascending", ["s-9", "s-10"]],
      ["descending", ["s-10", "s-9"]],
      ["none", ["s-9", "s-10"]], // as the server orders them: the newest first
    ]) {
      await heading.getByRole("button").click();
      await page.locator(`[role=columnheader][aria-sort=${order}]`, { hasText: "Session" }).waitFor();
      assert.deepEqual(await column(page, "Session"), sessions);
    }
    for (let i = 0; i < 110; i += 10)
      await Promise.all(Array.from({ length: 10 }, (_, k) => start("beta", `m-${i + k}`)));
    await page.goto(`${server.url}/ui/runs`);
    await page.getByText("so far; scroll for more").waitFor();
    assert.ok(await heading.getByRole("button").isDisabled());
    assert.match(await heading.getByRole("button").getAttribute("title"), /Not all rows are loaded/);
    await page.getByRole("region", { name: "Runs" }).evaluate((box) => box.scrollTo(0, box.scrollHeight));
    await page.getByText("in all").waitFor();
    assert.ok(await heading.getByRole("button").isEnabled());
    assert.deepEqual(problems, []);
    await context.close();
  });
});

describe("decisions", () => {
  test("show what was asked for, and what nothing has judged in red with its reason", async () => {
    const run = await start("alpha", "asks");
    await check(run, "Read", { file_path: "src/main.go" });
    await check(run, "Bash", { command: "git push --force" });
    await api("agent", "POST", `/v1/runs/${run}/pause`, {});
    await check(run, "WebFetch", { url: "https://example.com" });
    const { page, context, problems } = await visit();
    await logIn(page, "observer", `/decisions?run_id=${run}`);
    await page.getByText("3 in all").waitFor();
    assert.deepEqual(await column(page, "Argument"), ["https://example.com", "git push --force", "src/main.go"]);
    assert.deepEqual(await column(page, "Verdict"), ["not enforced", "deny", "allow"]);
    assert.deepEqual(await column(page, "Code"), ["run paused by agent", "TOOL_NOT_ALLOWED", ""]);
    assert.equal(await page.locator(".list-row .chip.open").count(), 1);
    // A word is a code, a verdict, a run or a tool.
    const field = page.getByRole("combobox", { name: "Filter decisions" });
    for (const [word, key, value] of [
      ["TOOL_NOT_ALLOWED", "code", "TOOL_NOT_ALLOWED"],
      ["deny", "decision", "DENY"],
      ["Bash", "tool", "Bash"],
    ]) {
      await field.fill(word);
      await page.keyboard.press("Enter");
      await page.waitForURL((url) => url.searchParams.get(key) === value);
    }
    await page.getByText("1 in all").waitFor();
    await page.getByRole("link", { name: "Bash" }).click();
    await page.waitForURL(`**/decisions/${run}/*`);
    assert.deepEqual(problems, []);
    await context.close();
  });
});

describe("now", () => {
  test("equal denials are one row, and open runs are not counted as none", async () => {
    const own = await serve();
    try {
      const call = apiOf(own.url, own.tokens);
      const meta = { enforcement: "while_running" };
      await call("operator", "POST", "/v1/workflows", { id: "alpha", initial: "work", meta, states });
      const made = [];
      for (const session_id of ["one", "two", "three"]) {
        const { run_id } = await call("agent", "POST", "/v1/runs", { workflow: "alpha", session_id });
        made.push(run_id);
        for (let i = 0; i < 3; i++)
          await call("agent", "POST", `/v1/runs/${run_id}/check`, { tool: "Bash", input: {} });
      }
      const { page, context, problems } = await visit();
      await logInAt(page, own.url, own.tokens.operator, "/");
      const denied = page.locator("section", { has: page.getByRole("heading", { name: "Repeated denials" }) });
      await denied.getByText("3 runs in 3 sessions").waitFor();
      assert.equal(await denied.getByRole("listitem").count(), 1);
      await denied.getByText("×9").waitFor();
      const paths = await denied.locator("a.mono").evaluateAll((links) => links.map((a) => a.pathname).sort());
      assert.deepEqual(paths, made.map((id) => `/ui/runs/${id}`).sort());
      const fact = page.locator("section", { has: page.getByText("A state has judged every call") });
      await fact.waitFor();
      await call("agent", "POST", `/v1/runs/${made[0]}/pause`, {});
      await page.getByText("1 run is open").waitFor();
      await page.getByText("paused by its agent").waitFor();
      assert.equal(await fact.count(), 0);
      assert.equal(await page.locator(".chip.open").count(), 1);
      assert.deepEqual(await faults(page), []);
      assert.deepEqual(problems, []);
      await context.close();
    } finally {
      await own.end();
    }
  });
});

describe("approvals", () => {
  const ask = async (session, content) => {
    const run = await start("beta", session);
    return (await check(run, "Write", { file_path: "notes.txt", content })).approval_id;
  };

  test("those with the same contents are one row, and others say what differs", async () => {
    const same = [await ask("w-1", "first"), await ask("w-2", "first")];
    const other = await ask("w-3", "second");
    const { page, context, problems } = await visit();
    await logIn(page, "approver", `/approvals/${same[0]}`);
    await page.getByText("3 in all").waitFor();
    assert.equal(await rowsOf(page).count(), 2);
    const group = rowsOf(page).filter({ hasText: "×2" });
    assert.match(await group.textContent(), /call Write.*notes\.txt.*2 sessions/);
    assert.equal(await rowsOf(page).filter({ hasText: "pending" }).count(), 0);
    await page.getByRole("button", { name: "Approve all 2" }).waitFor();
    await page.getByText("1 more asks for call Write with other contents").click();
    await page.getByLabel("Approvals that differ").locator(".diff .added", { hasText: "second" }).waitFor();
    assert.deepEqual(await faults(page), []);
    await page.getByRole("button", { name: "Approve all 2" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Yes" }).click();
    for (const id of same)
      await until("each grant", async () => (await api("operator", "GET", `/v1/approvals/${id}`)).status !== "PENDING");
    assert.equal((await api("operator", "GET", `/v1/approvals/${other}`)).status, "PENDING");
    await page.getByText("1 in all").waitFor();
    assert.deepEqual(problems, []);
    await context.close();
  });

  test("one is decided on a phone: the list, the request, and buttons in reach of a thumb", async () => {
    const id = await ask("thumb", `a text\n${"of many lines\n".repeat(80)}`);
    const { page, context, problems } = await visit(phone);
    await logIn(page, "approver", "/approvals");
    const row = rowsOf(page).filter({ hasText: "thumb" });
    await row.waitFor();
    assert.equal(await page.getByRole("button", { name: "Approve", exact: true }).count(), 0);
    await row.tap();
    await page.waitForURL(`**/approvals/${id}*`);
    const approve = page.getByRole("button", { name: "Approve", exact: true });
    await approve.waitFor();
    const place = await approve.boundingBox();
    assert.ok(place.y > 422 && place.y + place.height <= 844, "it is in the lower half of the screen");
    assert.ok(place.height >= 44 && place.width >= 100);
    assert.deepEqual(await faults(page), []);
    await approve.tap();
    await decided(page).waitFor();
    await page.getByRole("link", { name: "All approvals" }).tap();
    await page.getByRole("heading", { name: "Approvals" }).waitFor();
    assert.deepEqual(problems, []);
    await context.close();
  });
});

describe("on a phone", () => {
  test("rows have two lines, filters one, and the menu is a bar", async () => {
    const { page, context, problems } = await visit(phone);
    await logIn(page, "operator", "/");
    const nav = page.getByRole("navigation", { name: "Console" });
    assert.ok((await nav.boundingBox()).height < 70);
    await page.getByRole("button", { name: /^Menu/ }).tap();
    await page.getByRole("link", { name: "Workflows and policies" }).waitFor();
    assert.deepEqual(await faults(page), []);
    await page.getByRole("link", { name: "Runs", exact: true }).tap();
    await page.getByRole("heading", { name: "Runs" }).waitFor();
    await page.getByRole("link", { name: "Workflows and policies" }).waitFor({ state: "hidden" });
    for (const path of ["/runs?status=RUNNING&workflow=beta&text=m-", "/decisions?decision=DENY", "/approvals"]) {
      await page.goto(`${server.url}/ui${path}`);
      await settled(page);
      const row = rowsOf(page).first();
      await row.waitFor();
      assert.equal((await row.boundingBox()).height, 56);
      assert.equal(await row.locator(".line").count(), 2);
      const wide = await page.evaluate(() => {
        const boxes = [document.documentElement, document.querySelector(".list")];
        return boxes.map((box) => box.scrollWidth - box.clientWidth);
      });
      assert.ok(Math.max(...wide) <= 0, path);
      const filter = page.locator(".filter-field");
      if (await filter.count()) assert.ok((await filter.boundingBox()).height <= 44);
      assert.deepEqual(await faults(page), []);
    }
    assert.deepEqual(problems, []);
    await context.close();
  });
});
