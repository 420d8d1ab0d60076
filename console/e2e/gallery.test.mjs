// Compares every component in every state with how it was committed. Text is drawn in another way by each machine and
// each version of a browser, so pixels would differ where nothing has changed. What is compared instead is the same
// everywhere: the place and size of each element, in a font that the test brings along, and its colours.
// UPDATE=1 writes the files again; e2e/look.mjs takes pictures of the gallery for people.
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { after, before, describe, test } from "node:test";
import { serve } from "./server.mjs";
import { close, faults, logIn, settled, visit } from "./visit.mjs";

const fonts = createRequire(import.meta.url);
const fontOf = (weight) =>
  readFileSync(fonts.resolve(`@fontsource/dejavu-sans/files/dejavu-sans-latin-${weight}-normal.woff2`), "base64");
const noon = new Date("2026-01-01T12:00:00Z");

/** How many pixels a place or a size may differ: browsers round them in their own way. */
const tolerance = 2;

let server;
before(async () => {
  server = await serve();
});
after(async () => {
  await close();
  await server?.end();
});

/** Opens the gallery, with the font of the test. */
async function open(options) {
  const visitor = await visit(options);
  const { page } = visitor;
  await page.clock.setFixedTime(noon);
  await logIn(page, server.url, server.tokens.observer, "/gallery");
  await settled(page);
  await page.evaluate(
    async (files) => {
      for (const [weight, file] of Object.entries(files)) {
        const bytes = Uint8Array.from(atob(file), (c) => c.charCodeAt(0));
        document.fonts.add(await new FontFace("Measured", bytes.buffer, { weight }).load());
      }
      const sheet = new CSSStyleSheet();
      sheet.replaceSync(`* { font-family: Measured !important; animation: none !important; }`);
      document.adoptedStyleSheets.push(sheet);
      await document.fonts.ready;
      await new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)));
    },
    { 400: fontOf(400), 700: fontOf(700) },
  );
  return visitor;
}

/** Each element of each component: its name, its place in the component, and its colours. */
const measured = (page) =>
  page.evaluate(() => {
    const nameOf = (e) => [e.tagName.toLowerCase(), ...e.classList].join(".");
    const pieces = [...document.querySelectorAll("[data-piece]")].map((piece) => {
      const origin = piece.getBoundingClientRect();
      const elements = [...piece.querySelectorAll("*")].filter((e) => e.getClientRects().length > 0);
      return [
        piece.dataset.piece,
        elements.map((e) => {
          const box = e.getBoundingClientRect();
          const style = getComputedStyle(e);
          return {
            name: nameOf(e),
            box: [box.x - origin.x, box.y - origin.y, box.width, box.height].map(Math.round),
            colours: [style.color, style.backgroundColor, style.borderTopColor, style.stroke].join(" "),
          };
        }),
      ];
    });
    return Object.fromEntries(pieces);
  });

const fileOf = (name) => new URL(`pictures/${name}.json`, import.meta.url);
/** One line for each component, so that a change shows where it is. */
const lines = (all) =>
  `{\n${Object.entries(all)
    .map(([name, value]) => `${JSON.stringify(name)}: ${JSON.stringify(value)}`)
    .join(",\n")}\n}\n`;

/** Reads what was committed, or writes it. */
function committed(name, now) {
  if (process.env.UPDATE) writeFileSync(fileOf(name), lines(now));
  return JSON.parse(readFileSync(fileOf(name), "utf8"));
}

const same = (a, b) => a[0] === b[0] && a.slice(1).every((n, i) => Math.abs(n - b[i + 1]) <= tolerance);

describe("the gallery", () => {
  for (const width of [360, 1280, 2560])
    test(`${width} px: every component has its place and size`, async () => {
      const { page, context, problems } = await open({ viewport: { width, height: 900 } });
      const all = await measured(page);
      const now = Object.fromEntries(
        Object.entries(all).map(([piece, elements]) => [piece, elements.map((e) => [e.name, ...e.box])]),
      );
      const then = committed(`gallery-${width}`, now);
      assert.deepEqual(Object.keys(now), Object.keys(then));
      for (const [piece, elements] of Object.entries(now)) {
        const moved = elements.flatMap((e, i) =>
          then[piece][i] && same(e, then[piece][i]) ? [] : [[then[piece][i], e]],
        );
        assert.deepEqual(moved.slice(0, 3), [], `${piece}: what it was, and what it is`);
        assert.equal(elements.length, then[piece].length, piece);
      }
      const wide = await page.evaluate(
        () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
      );
      assert.ok(wide <= 0, `it is ${wide} px wider than the page`);
      assert.deepEqual(problems, []);
      await context.close();
    });

  for (const colorScheme of ["light", "dark"])
    test(`${colorScheme}: every component has its colours`, async () => {
      const { page, context, problems } = await open({ colorScheme });
      const all = await measured(page);
      const now = Object.fromEntries(
        Object.entries(all).map(([piece, elements]) => [
          piece,
          Object.fromEntries(elements.map((e) => [e.name, e.colours])),
        ]),
      );
      assert.deepEqual(now, committed(`gallery-${colorScheme}`, now));
      assert.deepEqual(await faults(page), []);
      assert.deepEqual(problems, []);
      await context.close();
    });
});
