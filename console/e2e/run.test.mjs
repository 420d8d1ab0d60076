// The pages of a run and of a decision in a real browser, against a real server.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { apiOf, hostile, largeWorkflow } from "./seed.mjs";
import { serve } from "./server.mjs";
import { close, faults, logIn as logInAt, visit } from "./visit.mjs";

let server;
let api;

before(async () => {
  server = await serve({}, "--runs-per-principal", "0");
  api = apiOf(server.url, server.tokens);
});

after(async () => {
  await close();
  await server?.end();
});

const logIn = (page, path) => logInAt(page, server.url, server.tokens.operator, path);
const phone = { viewport: { width: 390, height: 844 } };

const work = {
  id: "work",
  initial: "plan",
  meta: { capture_output: true },
  states: {
    plan: { allowed_tools: ["Read"], on: { READY: "work" } },
    work: { allowed_tools: ["Read", "Bash"], allowed_commands: ["go test *"], max_iterations: 10, on: { DONE: "end" } },
    end: { type: "final" },
  },
};

let sessions = 0;

async function start(workflow) {
  const session = `session-${++sessions}`;
  const { run_id: id } = await api("agent", "POST", "/v1/runs", { workflow, session_id: session });
  let calls = 0;
  return {
    id,
    session,
    check: (tool, input, call_id = `${id}-${++calls}`) =>
      api("agent", "POST", `/v1/runs/${id}/check`, { tool, input, call_id }),
    move: (event) => api("agent", "POST", `/v1/runs/${id}/transition`, { event }),
  };
}

/** A run with calls, events and five denials that are alike. */
async function busy() {
  await api("operator", "POST", "/v1/workflows", work);
  const run = await start("work");
  await run.check("Read", { file_path: "README.md" });
  await run.check("Edit", { file_path: "main.go", new_string: hostile });
  await run.move("READY");
  await run.check("Bash", { command: "go test ./..." });
  for (let i = 0; i < 5; i++) await run.check("Bash", { command: "git push" });
  return run;
}

const rowsOf = (page) => page.getByRole("region", { name: "Rows, newest first" }).getByRole("listitem");

/** The rows as they are read: what happened, and the verdict. */
const read = async (page) =>
  (await rowsOf(page).allTextContents()).map((text) =>
    text
      .replace(/^\d\d:\d\d:\d\d/, "")
      .replace(/agent$/, "")
      .trim(),
  );

const wide = (page) => page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);

describe("a run", () => {
  test("is one timeline of calls and events, newest first, which filters, searches, opens and lives", async () => {
    const run = await busy();
    const { page, context, problems } = await visit();
    await logIn(page, `/runs/${run.id}`);
    await page.getByText("6 rows in all").waitFor();
    assert.deepEqual(await read(page), [
      "callBash ×5 git pushCOMMAND_NOT_ALLOWED",
      "callBash  go test ./...allowed",
      "eventREADY plan → work",
      "callEdit  main.goTOOL_NOT_ALLOWED",
      "callRead  README.mdallowed",
      "eventstarted in plan",
    ]);
    const filter = (kind) => page.getByRole("button", { name: kind, exact: true }).click();
    await filter("denials");
    await page.getByText("2 rows in all").waitFor();
    assert.deepEqual((await read(page)).length, 2);
    await filter("events");
    await page.getByText("4 rows in all").waitFor();
    await filter("denials");
    await page.getByText("2 rows in all").waitFor();
    assert.match((await read(page))[0], /^eventREADY/);
    await filter("events");
    await page.getByLabel("Search the timeline").fill("push not_allowed");
    await page.getByText("1 row in all").waitFor();
    await page.getByLabel("Search the timeline").fill("nobody said this");
    await page.getByText("Nothing fits these filters.").waitFor();
    await page.getByLabel("Search the timeline").fill("");

    await rowsOf(page).getByRole("button", { name: "×5" }).click();
    await page.getByRole("region", { name: "Input" }).getByText("git push").waitFor();
    assert.equal(await rowsOf(page).first().getByRole("link").count(), 5);
    await rowsOf(page).getByRole("button", { name: "READY" }).click();
    await page.getByText("version 2", { exact: true }).waitFor();
    assert.deepEqual(await faults(page), []);

    // What happens now is there, in its place, and what is open stays open.
    await page.getByText("Live", { exact: true }).waitFor();
    await run.check("Bash", { command: "git push" });
    await rowsOf(page).getByText("×6").waitFor();
    assert.equal(await rowsOf(page).first().getByRole("link").count(), 6);
    await run.move("DONE");
    await page.getByText("7 rows in all").waitFor();
    assert.match((await read(page))[0], /^eventDONE work → end/);
    await page.getByText(/^Nothing is enforced since .* by agent: the run has ended$/).waitFor();
    assert.deepEqual(problems, []);
    await context.close();
  });

  test("has the votes on its approvals in its timeline", async () => {
    await api("operator", "POST", "/v1/workflows", {
      id: "asked",
      initial: "a",
      meta: { approval_mode: "ui" },
      states: { a: { on: { GO: { target: "end", requires_approval: true } } }, end: { type: "final" } },
    });
    const run = await start("asked");
    const { approval_id: id } = await run.move("GO");
    await api("approver", "POST", `/v1/approvals/${id}/approve`, { note: "looks right" });
    const { page, context, problems } = await visit();
    await logIn(page, `/runs/${run.id}`);
    await page.getByRole("button", { name: "approvals", exact: true }).click();
    const vote = rowsOf(page).filter({ hasText: "approved" });
    await vote.getByRole("button", { name: "looks right" }).click();
    assert.equal(await vote.getByRole("link").getAttribute("href"), `/ui/approvals/${id}`);
    await rowsOf(page).getByText("approval.parked").waitFor();
    assert.equal(await rowsOf(page).getByText("started").count(), 0);
    assert.deepEqual(problems, []);
    await context.close();
  });

  test("has the results of its calls, however many were reported before", async () => {
    const run = await busy();
    for (let i = 0; i < 7; i++) {
      await run.check("Read", { file_path: `file-${i}` }, `read-${i}`);
      await api("agent", "POST", `/v1/runs/${run.id}/report`, {
        tool: "Read",
        call_id: `read-${i}`,
        ok: i !== 5,
        output: `contents of file ${i}`,
      });
    }
    const { page, context, problems } = await visit();
    await logIn(page, `/runs/${run.id}`);
    const row = rowsOf(page).filter({ hasText: "file-5" });
    await row.getByText("allowed, failed").waitFor();
    await row.getByRole("button", { name: "file-5" }).click();
    await row.getByText("contents of file 5").waitFor();
    assert.equal(await rowsOf(page).getByText("allowed, failed").count(), 1);
    assert.deepEqual(problems, []);
    await context.close();
  });

  test("is shown as it was at a version", async () => {
    const run = await busy();
    const { page, context, problems } = await visit();
    await logIn(page, `/runs/${run.id}`);
    await page.getByRole("heading", { name: "In work" }).waitFor();
    await page.getByRole("slider").fill("1");
    await page.getByText("As it was at version 1: in plan").waitFor();
    await page.getByRole("heading", { name: "It was in plan" }).waitFor();
    assert.deepEqual(await page.locator(".g-node.current .name").allTextContents(), ["plan"]);
    assert.deepEqual(await page.locator(".graph .tick.bad").allTextContents(), ["1 denied", "5 denied"]);
    assert.deepEqual(problems, []);
    await context.close();
  });

  test("of thousands of events shows the newest at once, and reads on as far as it is scrolled", async () => {
    const events = Number(process.env.EVENTS ?? 1200);
    await api("operator", "POST", "/v1/workflows", {
      id: "turns",
      initial: "a",
      states: { a: { on: { NEXT: "b", END: "done" } }, b: { on: { NEXT: "a" } }, done: { type: "final" } },
    });
    const run = await start("turns");
    for (let i = 0; i < events; i++) await run.move("NEXT");
    const { page, context, problems } = await visit();
    await logIn(page, "/");
    const asked = [];
    page.on("request", (r) => /\/history\?/.test(r.url()) && asked.push(r.url()));
    const opened = Date.now();
    await page.goto(`${server.url}/ui/runs/${run.id}`);
    await rowsOf(page).first().waitFor();
    console.log(`# a run of ${events} events showed its timeline after ${Date.now() - opened} ms`);
    assert.match((await read(page))[0], /^eventNEXT/);
    await page.getByText(/^\d+ rows so far; older ones follow$/).waitFor();
    assert.ok((await rowsOf(page).count()) < 100, "more rows are drawn than are seen");
    assert.ok(new Set(asked).size < 6, `it read ${asked.length} parts of the history`);
    const box = page.getByRole("region", { name: "Rows, newest first" });
    if (events < 5000) {
      for (;;) {
        await box.evaluate((b) => b.scrollTo(0, b.scrollHeight));
        if (await rowsOf(page).getByText("started in a").isVisible()) break;
      }
      await page.getByText(`${events + 1} rows in all`).waitFor();
      assert.ok((await rowsOf(page).count()) < 100);
    }
    assert.deepEqual(problems, []);
    await context.close();
  });

  test("that is paused, held or halted says first, and in red, what holds for its calls", async () => {
    await api("operator", "POST", "/v1/workflows", {
      ...work,
      id: "lenient",
      meta: { enforcement: "while_running" },
    });
    const run = await start("lenient");
    const { page, context, problems } = await visit();
    await logIn(page, `/runs/${run.id}`);
    await page.getByRole("heading", { name: "In plan" }).waitFor();
    assert.equal(await page.locator(".standstill").count(), 0);
    await api("agent", "POST", `/v1/runs/${run.id}/pause`, {});
    await run.check("WebFetch", { url: "http://example.com" }, "open");
    const first = page.locator(".standstill");
    await first.getByText(/^Nothing is enforced since .* by agent$/).waitFor();
    const colour = (what) => what.evaluate((e) => getComputedStyle(e).color);
    const red = await colour(page.getByRole("button", { name: "Cancel", exact: true }));
    assert.equal(await colour(first.locator("strong")), red);
    const row = rowsOf(page).filter({ hasText: "WebFetch" });
    await row.getByText("not enforced").waitFor();
    assert.equal(await colour(row.getByText("not enforced")), red);
    await row.getByText("run paused by agent").waitFor();
    await api("operator", "POST", `/v1/runs/${run.id}/pause`, { reason: "someone looks" });
    await page.getByText(/^All calls are denied since .* by operator: held: someone looks$/).waitFor();
    assert.equal(await colour(first.locator("strong")), red);
    await api("operator", "POST", `/v1/runs/${run.id}/resume`, {});
    await first.waitFor({ state: "detached" });
    assert.deepEqual(problems, []);
    await context.close();
  });

  test("is stopped with its session in two clicks, with the number of runs in words", async () => {
    const run = await busy();
    const { page, context, problems } = await visit();
    await logIn(page, `/runs/${run.id}`);
    const acts = page.getByRole("region", { name: "Acts" });
    await acts.getByText("1 run is in progress in the session itself.").waitFor();
    await acts.getByText(/^It has made calls in \d+ runs? within a day\.$/).waitFor();
    assert.match(
      await acts.getByRole("link", { name: "Raise max_iterations" }).getAttribute("href"),
      /at=%2Fstates%2Fwork%2Fmax_iterations$/,
    );
    await acts.getByRole("button", { name: "Halt its session…" }).click();
    const dialog = page.getByRole("dialog", { name: "Halt work" });
    assert.equal(await dialog.getByLabel("Session", { exact: true }).inputValue(), run.session);
    await dialog.getByLabel("Reason").fill("INC-7");
    await dialog.getByRole("button", { name: "Halt", exact: true }).click();
    await page.getByText(/^All calls are denied since .* by operator: halted, with .*INC-7$/).waitFor();
    const { halts } = await api("operator", "GET", "/v1/halts");
    await api("operator", "POST", `/v1/halts/${halts[0].halt_id}/lift`, { reason: "over" });
    await page.locator(".standstill").waitFor({ state: "detached" });
    assert.deepEqual(problems, []);
    await context.close();
  });

  test("on a phone: the state, then the timeline; the graph is folded", async () => {
    const run = await busy();
    const { page, context, problems } = await visit(phone);
    await logIn(page, `/runs/${run.id}`);
    await page.getByText("6 rows in all").waitFor();
    const top = async (what) => (await what.boundingBox()).y;
    const state = await top(page.getByRole("heading", { name: "In work" }));
    const timeline = await top(page.getByRole("heading", { name: "Timeline" }));
    const graph = page.locator("summary", { hasText: "Graph" });
    assert.ok(state < timeline && timeline < (await top(graph)));
    assert.equal(await page.locator(".graph").count(), 0);
    assert.ok((await wide(page)) <= 0);
    for (const row of await rowsOf(page).all()) assert.equal(Math.round((await row.boundingBox()).height), 28);
    assert.deepEqual(await faults(page), []);
    await graph.click();
    await page.locator(".g-node").first().waitFor();
    assert.ok((await wide(page)) <= 0);
    assert.deepEqual(problems, []);
    await context.close();
  });
});

describe("the graph", () => {
  test("of 400 states shows where the run is, follows it, and finds any state", async () => {
    await api("operator", "POST", "/v1/workflows", largeWorkflow("chain", 400));
    const run = await start("chain");
    for (let i = 0; i < 30; i++) await run.move("NEXT");
    const { page, context, problems } = await visit();
    await logIn(page, `/runs/${run.id}`);
    const node = (name) => page.locator(".g-node").filter({ has: page.getByText(name, { exact: true }) });
    const inView = async (name) => {
      const [box, frame] = [await node(name).boundingBox(), await page.locator(".graph").boundingBox()];
      return box.y > frame.y && box.y + box.height < frame.y + frame.height;
    };
    await node("s30").waitFor();
    assert.ok(await inView("s30"));
    assert.ok((await page.locator(".g-node").count()) < 40, "more states are drawn than are seen");
    await page.getByRole("img", { name: "Overview of the diagram" }).waitFor();
    await page.getByText("Live", { exact: true }).waitFor();
    for (let i = 0; i < 10; i++) await run.move("NEXT");
    await node("s40").waitFor();
    assert.deepEqual(await page.locator(".g-node.current .name").allTextContents(), ["s40"]);

    const field = page.getByLabel("Go to state");
    await field.fill("s39");
    await page.getByText("11 found").waitFor(); // s39, s390 … s399
    await field.press("Enter");
    await page.getByText("1 of 11").waitFor();
    assert.ok(await inView("s39"));
    await field.press("Enter");
    await node("s390").waitFor();
    assert.equal(await node("s40").count(), 0);
    await run.move("NEXT"); // a view that a person has moved stays
    await page.getByRole("heading", { name: "In s41" }).waitFor();
    assert.ok(await inView("s390"));
    await page.getByRole("button", { name: "Where it is" }).click();
    await node("s41").waitFor();
    assert.ok(await inView("s41"));

    const map = await page.getByRole("img", { name: "Overview of the diagram" }).boundingBox();
    await page.mouse.click(map.x + map.width / 2, map.y + map.height - 2);
    await page.locator(".g-node").filter({ hasText: /s39\d/ }).first().waitFor();
    assert.equal(await node("s41").count(), 0);
    await page.getByRole("button", { name: "Fit" }).click();
    await page.locator(".g-coarse.current").waitFor({ state: "attached" });
    assert.equal(await page.locator(".g-node").count(), 0); // too small to read
    assert.deepEqual(problems, []);
    await context.close();
  });

  test("draws the edges of branches above their boxes, and ticks within the states", async () => {
    await api("operator", "POST", "/v1/workflows", {
      id: "forks",
      initial: "a",
      states: {
        a: {
          allowed_tools: ["Read"],
          on: {
            GO: {
              fork: {
                branches: {
                  left: { initial: "l", terminal: "m" },
                  right: { initial: "r", terminal: "s" },
                },
                join: "all",
                on_complete: "end",
                on_fail: "failed",
              },
            },
          },
        },
        l: { on: { NEXT: "m" } },
        m: { type: "final" },
        r: { on: { NEXT: "s" } },
        s: { type: "final" },
        end: { type: "final" },
        failed: { type: "final", outcome: "failure" },
      },
    });
    const run = await start("forks");
    for (let i = 0; i < 5; i++) await run.check("Edit", {});
    await run.move("GO");
    const { page, context, problems } = await visit();
    await logIn(page, `/runs/${run.id}`);
    await page.getByRole("button", { name: "Fit" }).click();
    await page.locator(".graph .tick.bad").waitFor();
    const drawn = await page.locator(".graph > svg[role=group]").evaluate((svg) => {
      const parts = [...svg.querySelectorAll(".g-node.branch, .g-edge, .g-node:not(.branch)")];
      return parts.map((p) => (p.matches(".branch") ? "box" : p.matches(".g-edge") ? "edge" : "node"));
    });
    assert.ok(drawn.lastIndexOf("box") < drawn.indexOf("edge"), "a box is drawn above an edge");
    assert.ok(drawn.lastIndexOf("edge") < drawn.indexOf("node"), "an edge is drawn above a state");
    const outside = await page.locator(".graph .tick.bad").evaluate((tick) => {
      const [text, box] = [tick, tick.closest(".g-node").querySelector("rect")].map((e) => e.getBoundingClientRect());
      return text.left < box.left || text.right > box.right || text.top < box.top || text.bottom > box.bottom + 1;
    });
    assert.ok(!outside, "the tick reaches out of its state");
    assert.deepEqual((await page.locator(".g-node.current .name").allTextContents()).sort(), ["l", "r"]);
    assert.deepEqual(problems, []);
    await context.close();
  });
});

describe("a decision", () => {
  /** All sentences of a page that are seen, but the words of controls. */
  const sentencesOf = (page) =>
    page.evaluate(() =>
      document
        .querySelector("main")
        // biome-ignore lint/performance/useDomNodeTextContent: what is seen is meant
        .innerText.split(/\n|(?<=\.) /)
        .map((s) => s.trim())
        .filter((s) => s.split(" ").length > 4),
    );

  test("has one cause and one fix, says nothing twice, and keeps its proof closed", async () => {
    await api("operator", "POST", "/v1/workflows", { ...work, id: "quiet", meta: {} });
    const run = await start("quiet");
    await run.check("Bash", { command: "git push" }, "denied");
    for (const width of [1280, 390]) {
      const { page, context, problems } = await visit({ viewport: { width, height: 900 } });
      await logIn(page, `/decisions/${run.id}/denied`);
      const cause = page.getByRole("region", { name: "Cause and fix" });
      await cause.getByText('Tool "Bash" is not allowed in state "plan".', { exact: true }).waitFor();
      await cause
        .getByText('To go on first: event "READY" leads to "work", which allows it.', { exact: true })
        .waitFor();
      assert.match(
        await cause.getByRole("link", { name: "Edit the workflow there" }).getAttribute("href"),
        /from=quiet&version=1&at=%2Fstates%2Fplan%2Fallowed_tools$/,
      );
      await page
        .getByText(/^\d+ runs? (is|are) in progress/)
        .first()
        .waitFor();
      const said = await sentencesOf(page);
      assert.deepEqual(
        said.filter((s, i) => said.indexOf(s) !== i),
        [],
      );
      const proof = page.locator("details.hashes");
      assert.equal(await proof.getAttribute("open"), null);
      await proof.locator("summary").click();
      const digest = page.getByRole("region", { name: "Digest of the input" });
      assert.match(await digest.textContent(), /^[0-9a-f]{64}$/);
      assert.ok((await digest.boundingBox()).height < 30, "a hash is broken");
      assert.ok((await wide(page)) <= 0);
      assert.deepEqual(await faults(page), []);
      assert.deepEqual(problems, []);
      await context.close();
    }
  });

  test("shows the input that was kept, or says in one line that it was not", async () => {
    const run = await busy();
    const { page, context, problems } = await visit();
    await logIn(page, `/runs/${run.id}`);
    await rowsOf(page).getByRole("button", { name: "×5" }).click();
    await rowsOf(page).first().getByRole("link").first().click();
    await page.getByRole("region", { name: "Input" }).last().getByText("git push").waitFor();
    await page
      .getByRole("region", { name: "Cause and fix" })
      .getByText('The first words of "git push" in the allowed_commands of state "work".')
      .waitFor();
    const quiet = await start("quiet");
    await quiet.check("Read", { file_path: "a" }, "kept-by-none");
    await page.goto(`${server.url}/ui/decisions/${quiet.id}/kept-by-none`);
    await page.getByText(/^The input was not kept: .*\.$/).waitFor();
    assert.deepEqual(problems, []);
    await context.close();
  });

  test("leads to the limit that refused it, and to an exception from its rule", async () => {
    await api("operator", "POST", "/v1/workflows", { ...work, id: "limited" });
    await api("operator", "POST", "/v1/policies?name=limits", {
      role: "agent",
      deny: [{ capability: "tool:WebFetch", exceptable: true }],
      allow: [{ capability: "tool:Read", rate_limit: { max_calls: 1, window_seconds: 3600 } }],
    });
    await api("operator", "PUT", "/v1/policies/limits/attachments/workflow/limited");
    const run = await start("limited");
    await run.check("Read", { file_path: "a" });
    assert.equal((await run.check("Read", { file_path: "b" }, "limit")).code, "RATE_LIMITED");
    const { page, context, problems } = await visit();
    await logIn(page, `/decisions/${run.id}/limit`);
    const cause = page.getByRole("region", { name: "Cause and fix" });
    await cause.getByText("A higher limit of policy limits, or to wait: it counts 1 of 1 now.").waitFor();
    await cause.getByRole("link", { name: "Edit the policy there" }).click();
    const rules = page.getByRole("textbox", { name: "Rules" });
    await rules.getByText('"max_calls"').waitFor();
    const live = page.getByRole("button", { name: "Make these rules live" });
    assert.ok(await live.isDisabled());
    await rules.click();
    await page.keyboard.press("Control+A");
    await page.keyboard.insertText(
      JSON.stringify({
        role: "agent",
        deny: [{ capability: "tool:WebFetch", exceptable: true }],
        allow: [
          { capability: "tool:Read", rate_limit: { max_calls: 3, window_seconds: 3600 } },
          { capability: "bash" },
        ],
      }),
    );
    await live.click();
    await page.getByRole("dialog").getByRole("button", { name: "Yes" }).click();
    await page.getByText("live version 2").waitFor();
    assert.equal((await run.check("Read", { file_path: "c" })).decision, "ALLOW");

    await api("operator", "POST", "/v1/workflows", {
      ...work,
      id: "limited",
      states: { ...work.states, plan: { on: { READY: "work" } } },
    });
    const other = await start("limited");
    assert.equal((await other.check("WebFetch", { url: "http://x" }, "rule")).code, "POLICY_DENIED");
    await page.goto(`${server.url}/ui/decisions/${other.id}/rule`);
    await cause.getByText(/^An exception from the rule/).waitFor();
    await cause.getByRole("button", { name: "Grant an exception…" }).click();
    const dialog = page.getByRole("dialog", { name: "Grant an exception" });
    await dialog.locator("option", { hasText: "/deny/0" }).waitFor({ state: "attached" });
    assert.equal(await dialog.getByLabel("Rule").inputValue(), "/deny/0");
    assert.equal(await dialog.getByLabel("Session", { exact: true }).inputValue(), other.session);
    await dialog.getByText("1 run is in progress in the session itself.").waitFor();
    await dialog.getByLabel("Reason").fill("INC-8");
    await dialog.getByRole("button", { name: "Grant", exact: true }).click();
    await dialog.waitFor({ state: "detached" });
    const { exceptions } = await api("operator", "GET", "/v1/exceptions?policy=limits");
    assert.deepEqual(
      [exceptions[0].rule, exceptions[0].session_id, exceptions[0].reason],
      ["/deny/0", other.session, "INC-8"],
    );
    assert.deepEqual(problems, []);
    await context.close();
  });
});
