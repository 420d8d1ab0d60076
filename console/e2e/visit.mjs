// Browsers for the tests of the console, with what its pages may never do watched: errors, and contents that their
// policy refuses.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { chromium } from "playwright-core";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

let browser;

/** Closes the browser of all visits. */
export const close = async () => (await browser)?.close();

/** A browser of one person. problems collects what must not happen. */
export async function visit(options = {}) {
  browser ??= chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    args: ["--no-sandbox", "--disable-dev-shm-usage"],
  });
  const context = await (await browser).newContext({ viewport: { width: 1280, height: 900 }, ...options });
  const problems = [];
  context.on("page", (page) => {
    page.setDefaultTimeout(60_000);
    page.on("console", (m) => m.type() === "error" && !expected(m.text()) && problems.push(m.text()));
    page.on("pageerror", (e) => problems.push(String(e)));
    page.on("dialog", (d) => {
      problems.push(`a dialog: ${d.message()}`);
      d.dismiss();
    });
  });
  await context.addInitScript(() => {
    document.addEventListener("securitypolicyviolation", (e) =>
      console.error(`CSP: ${e.violatedDirective} ${e.blockedURI}`),
    );
  });
  return { context, problems, page: await context.newPage() };
}

/** Chromium tells of each response with an error; the pages show those themselves. */
const expected = (text) => text.startsWith("Failed to load resource");

export async function logIn(page, url, token, path = "/") {
  await page.goto(`${url}/ui${path}`);
  await page.getByLabel("Token").fill(token);
  await page.getByRole("button", { name: "Log in", exact: true }).click();
  await page.getByRole("navigation").waitFor();
}

export const settled = async (page) => {
  await page.locator("h1").first().waitFor();
  await page.waitForFunction(() => document.querySelector("[aria-busy=true]") === null);
};

/** The faults of a page that axe finds. */
export async function faults(page) {
  // The policy refuses script elements; the debugger may run what it likes.
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => window.axe.run(document));
  return violations.map(
    (v) =>
      `${v.id}: ${v.nodes
        .map((n) => `${n.html} ${n.any[0]?.message ?? ""}`)
        .slice(0, 3)
        .join(" | ")}`,
  );
}

/** The chip of an approval that was granted; its run may have used it already. */
export const decided = (page) =>
  page
    .getByRole("article")
    .locator(".chip")
    .filter({ hasText: /^(granted|used)$/ })
    .first();
