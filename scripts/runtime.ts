// Which Node the project runs on. Older ones carry a known hole in node:sqlite, which is our disk.

const FLOORS: readonly (readonly [number, number, number])[] = [
  [24, 18, 1],
  [26, 5, 1],
];

/** Why this version of Node is not used, as a sentence, or null when it is fine. */
export function runtimeRefusal(version: string): string | null {
  const [major = 0, minor = 0, patch = 0] = version.replace(/^v/, "").split(".").map(Number);
  // 25 had its end before the fix; majors above the last floor start with it.
  const floor = FLOORS.find((one) => one[0] === major) ?? FLOORS.at(-1)!;
  const differences = [major - floor[0], minor - floor[1], patch - floor[2]];
  const first = differences.find((difference) => difference !== 0) ?? 0;
  if (first >= 0) return null;
  return (
    `Node ${version} is too old: 24.18.1 or later, or 26.5.1 or later, is needed. ` +
    "Run `npm ci` once, then start this through npm (`npm test`, `npm run check`): " +
    "npm puts the project's own Node first."
  );
}

/** For the scripts: ends the process with the reason when the running Node is refused. */
export function requireRuntime(): void {
  const refusal = runtimeRefusal(process.versions.node);
  if (refusal === null) return;
  console.error(refusal);
  process.exit(1);
}
