import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    globalSetup: ["test/global.ts"],
    // Claude Code takes seconds to start, and tests wait for each other.
    testTimeout: 240_000,
    maxConcurrency: 4,
    hookTimeout: 240_000,
    pool: "threads",
    sequence: { shuffle: { tests: true, files: false }, seed: 1 },
  },
});
