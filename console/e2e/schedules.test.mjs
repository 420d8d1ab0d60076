// Schedules at the console: an operator pauses, resumes, starts and removes, an observer reads.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { apiOf } from "./seed.mjs";
import { serve } from "./server.mjs";
import { close, faults, logIn, settled, visit } from "./visit.mjs";

describe("schedules", () => {
  let server;
  let api;

  before(async () => {
    server = await serve();
    api = apiOf(server.url, server.tokens);
    await api("operator", "POST", "/v1/workflows", {
      id: "report",
      initial: "writing",
      states: { writing: { on: { DONE: "sent" } }, sent: { type: "final" } },
    });
    for (const name of ["leap-day", "other"])
      await api("operator", "POST", "/v1/schedules", {
        name,
        workflow: "report",
        cron: "0 7 29 2 *", // none comes during the test
        zone: "Europe/Berlin",
        missed: "once",
      });
  });

  after(async () => {
    await close();
    await server?.end();
  });

  /** Presses a button of the page, and says yes. */
  async function act(page, name) {
    await page.locator(".head").getByRole("button", { name, exact: true }).click();
    assert.deepEqual(await faults(page), []);
    await page.getByRole("dialog").getByRole("button", { name: "Yes" }).click();
  }

  test("an operator pauses, resumes, starts a run and removes; the run shows its schedule", async () => {
    const { page, problems, context } = await visit();
    await logIn(page, server.url, server.tokens.operator, "/schedules");
    const row = page.getByRole("region", { name: "Schedules" }).getByRole("row", { name: /leap-day/ });
    await row.getByText(/Feb 29, \d{4}.*07:00/).waitFor();
    await row.click();
    const status = (word) => page.locator(".head .chip", { hasText: word }).waitFor();
    await page.getByText("start one run for all").waitFor();
    await page
      .getByRole("region", { name: "Next times" })
      .getByText(/Feb 29, \d{4}.*07:00/)
      .nth(4)
      .waitFor();
    await act(page, "Pause");
    await status("paused");
    await act(page, "Resume");
    await status("active");
    await act(page, "Start a run now");
    const soFar = page.getByRole("region", { name: "So far" });
    await soFar.locator(".chip", { hasText: "started" }).waitFor();
    assert.equal((await api("operator", "GET", "/v1/schedules/leap-day")).counts.started, 1);
    assert.deepEqual(await faults(page), []);
    // The last run has not ended.
    await act(page, "Start a run now");
    await page.getByRole("alert").getByText("has not ended").waitFor();

    await soFar.getByRole("link", { name: /^run_/ }).click();
    await page.getByRole("heading", { name: "report" }).waitFor();
    await page.getByRole("link", { name: "leap-day", exact: true }).click();
    await page.getByRole("link", { name: "Its runs" }).click();
    await page.getByText("1 in all").waitFor();
    assert.equal(new URL(page.url()).search, "?schedule=leap-day");
    await page.goBack();
    await act(page, "Remove");
    await page.getByRole("heading", { name: "Schedules" }).waitFor();
    await page.getByText("1 in all").waitFor();
    assert.deepEqual(
      (await api("operator", "GET", "/v1/schedules")).schedules.map((s) => s.name),
      ["other"],
    );
    assert.deepEqual(problems, []);
    await context.close();
  });

  test("an observer reads, and a refused start shows why", async () => {
    const halt = { kind: "workflow", name: "report", reason: "INC-42" };
    const { halt_id } = await api("operator", "POST", "/v1/halts", halt);
    const { page, problems, context } = await visit();
    await logIn(page, server.url, server.tokens.operator, "/schedules/other");
    await act(page, "Start a run now");
    await page
      .getByRole("alert")
      .getByText(/^HALTED$/)
      .waitFor();
    await context.close();
    await api("operator", "POST", `/v1/halts/${halt_id}/lift`, { reason: "mended" });

    const observer = await visit();
    await logIn(observer.page, server.url, server.tokens.observer, "/schedules/other");
    await settled(observer.page);
    await observer.page.getByRole("region", { name: "Rules" }).getByText("Europe/Berlin").waitFor();
    assert.equal(await observer.page.locator(".head").getByRole("button").count(), 0);
    assert.deepEqual([...problems, ...observer.problems], []);
    await observer.context.close();
  });
});
