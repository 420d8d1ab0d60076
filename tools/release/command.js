#!/usr/bin/env node
// Runs the program of the package for this platform. Signals go to it, and its end is the end of this one.
"use strict";
const { spawn } = require("node:child_process");

const name = `@interlock/cli-${process.platform}-${process.arch}`;
let program;
try {
  program = require.resolve(`${name}/bin/interlock`);
} catch {
  console.error(`interlock: the package ${name} is not installed: npm was told to omit optional packages, or there is none for this platform`);
  process.exit(2);
}
const child = spawn(program, process.argv.slice(2), { stdio: "inherit" });
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) {
  process.on(signal, () => child.kill(signal));
}
child.on("error", (error) => {
  console.error(`interlock: ${error.message}`);
  process.exit(2);
});
child.on("exit", (code, signal) => {
  if (signal) {
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
  } else {
    process.exit(code);
  }
});
