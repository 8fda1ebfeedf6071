// Loaded before tests that run against a secondary: as before unit tests, but that the runner may end the process.

const exit = process.exit.bind(process);
await import("../../scripts/before-unit-tests.ts");
process.exit = exit;

export {};
