// Checks the size of what was built: what a browser loads for the first page, and all of it, gzipped.
import { readdirSync, readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";

const dist = new URL("../services/gateway/internal/console/dist/", import.meta.url);
const size = (name) => gzipSync(readFileSync(new URL(name, dist)), { level: 9 }).length;
const html = readFileSync(new URL("index.html", dist), "utf8");
const first = new Set(["index.html", ...[...html.matchAll(/(?:src|href)="\/ui\/([^"]+)"/g)].map((m) => m[1])]);
const all = readdirSync(dist, { recursive: true, withFileTypes: true })
  .filter((f) => f.isFile())
  .map((f) => `${f.parentPath}/${f.name}`.split("/dist/").at(-1).replace(/^\//, ""));
const sum = (names) => [...names].reduce((n, name) => n + size(name), 0);
// The first page itself is a part of its own.
const now = all.filter((name) => /^assets\/now-/.test(name));
const budgets = [
  ["the first page", sum([...first, ...now]), 250_000],
  ["all", sum(all), 1_200_000],
];
for (const [what, bytes, most] of budgets) {
  console.log(`${what}: ${(bytes / 1000).toFixed(0)} kB gzipped, of ${most / 1000} kB`);
  if (bytes > most) process.exitCode = 1;
}
