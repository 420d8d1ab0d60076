import { expect, test } from "vitest";
import { inZone } from "./time";

test.each([
  ["2026-03-29T05:30:00Z", "Europe/Berlin", /Mar.* 2026.* 07:30 /], // summer time began in that night
  ["2026-11-30T06:00:00Z", "Europe/Berlin", /Mon.* Nov.* 07:00 /],
  ["2026-11-30T00:00:00Z", "America/New_York", /Sun.* 19:00 /],
  ["2026-11-30T00:00:00Z", undefined, / 00:00 UTC/],
  ["2026-11-30T00:00:00Z", "", / 00:00 UTC/],
  ["2026-11-30T00:00:00Z", "Mars/Olympus", / 00:00 UTC/],
  ["soon", "UTC", /^$/],
])("%s in %s", (at, zone, shown) => {
  expect(inZone(at, zone)).toMatch(shown);
});
