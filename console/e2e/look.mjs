// Takes a picture of every screen, at three widths, light and dark, for people to look at:
//   node e2e/look.mjs http://127.0.0.1:7420 TOKENS.json OUT [SCREEN...]
import { mkdirSync, readFileSync } from "node:fs";
import { chromium } from "playwright-core";
import { apiOf } from "./seed.mjs";

const [server, file, out, ...only] = process.argv.slice(2);
const tokens = JSON.parse(readFileSync(file, "utf8"));
const api = apiOf(server, tokens);
mkdirSync(out, { recursive: true });

const deploy = (await api("operator", "GET", "/v1/runs?workflow=deploy&page_size=5")).runs[0];
const bugfix = (await api("operator", "GET", "/v1/runs?workflow=bugfix&page_size=5")).runs[0];
const denied = (await api("operator", "GET", "/v1/decisions?decision=DENY&page_size=1")).decisions[0];
const session = (await api("operator", "GET", "/v1/sessions?page_size=1")).sessions[0];
const state = (await api("operator", "GET", "/v1/states?page_size=1")).states[0];

export const screens = {
  now: "/",
  approvals: "/approvals",
  runs: "/runs",
  run: `/runs/${deploy?.run_id}`,
  run2: `/runs/${bugfix?.run_id}`,
  decisions: "/decisions",
  decision: `/decisions/${denied?.run_id}/${encodeURIComponent(denied?.call_id)}`,
  definitions: "/workflows",
  workflow: "/workflows/bugfix",
  coverage: "/workflows/bugfix?tab=Coverage",
  changes: "/workflows/bugfix?tab=Changes",
  large: "/workflows/large",
  policy: "/policies/house",
  edit: "/new/workflow",
  sessions: "/sessions",
  session: `/sessions/${session?.session_id}`,
  states: "/states",
  state: `/states/${state?.state_id}`,
  components: "/components",
  health: "/health",
  playground: "/playground",
  refusals: "/refusals",
  schedules: "/schedules",
  gallery: "/gallery",
};

const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox"] });
const sizes = process.env.SIZES
  ? JSON.parse(process.env.SIZES)
  : [
      [1280, 900, "light"],
      [1280, 900, "dark"],
      [360, 740, "light"],
      [2560, 1400, "light"],
    ];
for (const [width, height, colorScheme] of sizes) {
  const context = await browser.newContext({ viewport: { width, height }, colorScheme });
  const page = await context.newPage();
  page.on("console", (m) => m.type() === "error" && console.log(`${page.url()}: ${m.text()}`));
  page.on("pageerror", (e) => console.log(`${page.url()}: ${e}`));
  if (process.env.LINK) {
    await page.goto(process.env.LINK); // it works once: for one size
  } else {
    await page.goto(`${server}/ui/`);
    await page.getByLabel("Token").fill(tokens.operator);
    await page.getByRole("button", { name: "Log in", exact: true }).click();
  }
  await page.getByRole("heading", { name: "Now" }).waitFor();
  for (const [name, path] of Object.entries(screens)) {
    if (only.length && !only.includes(name)) continue;
    await page.goto(`${server}/ui${path}`);
    await page
      .locator("h1")
      .first()
      .waitFor({ timeout: 5000 })
      .catch(() => console.log(`${name}: no heading`));
    await page.waitForLoadState("networkidle", { timeout: 2000 }).catch(() => undefined);
    await page.waitForTimeout(400);
    await page.screenshot({ path: `${out}/${name}-${width}-${colorScheme}.png` });
  }
  await context.close();
}
await browser.close();
