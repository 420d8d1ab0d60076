// Measures how long pages take in a browser, from the request to the first paint and to their contents:
//   node e2e/paint.mjs URL RUN <TOKEN
// It prints a line of JSON for each page: its name, and medians and maxima of several loads, in milliseconds.
import { readFileSync } from "node:fs";
import { close, logIn, visit } from "./visit.mjs";

const [url, run] = process.argv.slice(2);
const token = readFileSync(0, "utf8").trim();
const loads = 7;

const pages = [
  ["now", "/"],
  ["runs", "/runs"],
  ["run of many events", `/runs/${run}`],
  ["decisions", "/decisions"],
  ["denied decisions", "/decisions?decision=DENY"],
  ["approvals", "/approvals"],
  ["workflow", "/workflows/bench"],
  ["audit and health", "/health"],
];

/** The time at which a page has its first paint and its contents. */
async function load(context, path) {
  const page = await context.newPage();
  await page.goto(`${url}/ui${path}`, { waitUntil: "commit" });
  const shown = await page
    .waitForFunction(
      () => document.querySelector("h1") && !document.querySelector("[aria-busy=true]") && performance.now(),
      undefined,
      { polling: "raf", timeout: 60_000 },
    )
    .then((found) => found.jsonValue());
  const paint = await page
    .waitForFunction(() => performance.getEntriesByName("first-contentful-paint")[0]?.startTime)
    .then((found) => found.jsonValue());
  await page.close();
  return { paint, shown };
}

const { context, page } = await visit();
await logIn(page, url, token);
for (const [name, path] of pages) {
  const all = [];
  for (let i = 0; i < loads; i++) all.push(await load(context, path));
  const of = (what) => {
    const sorted = all.map((l) => l[what]).sort((a, b) => a - b);
    return { half: sorted[Math.trunc(loads / 2)], most: sorted.at(-1) };
  };
  console.log(JSON.stringify({ page: name, paint: of("paint"), shown: of("shown") }));
}
await context.close();
await close();
