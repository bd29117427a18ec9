#!/usr/bin/env node
// Runs the program of this platform, which npm installed as an optional dependency.
const { spawn } = require("node:child_process");
const { constants } = require("node:os");

const name = `thinkthrough-${process.platform}-${process.arch}`;
let program;
try {
  program = require.resolve(`${name}/think`);
} catch {
  console.error(`think: the package \`${name}\` is not installed; install without \`--omit=optional\`, or build from source`);
  process.exit(1);
}
const child = spawn(program, process.argv.slice(2), { stdio: "inherit" });
// A terminal sends these two to both processes by itself, and `think` decides about them.
for (const signal of ["SIGINT", "SIGQUIT"]) {
  process.on(signal, () => process.stdin.isTTY || child.kill(signal));
}
for (const signal of ["SIGTERM", "SIGHUP"]) {
  process.on(signal, () => child.kill(signal));
}
child.on("error", (error) => {
  console.error(`think: ${error.message}`);
  process.exit(1);
});
child.on("exit", (code, signal) => process.exit(signal ? 128 + constants.signals[signal] : code));
