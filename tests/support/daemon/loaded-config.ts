// Configuration that is loaded from files in memory, and what is wrong with it.

import assert from "node:assert/strict";
import { memoryFiles } from "../memory-files.ts";
import { type Loaded, loadConfig, type Sources } from "../../../src/config/load.ts";
import { ConfigFailure, showProblem } from "../../../src/config/problem.ts";

export const LISTENER = 'listener "tcp" { tls_disable = true }\n';

export function load(
  files: Readonly<Record<string, string>>,
  more: Partial<Sources> = {},
): Promise<Loaded> {
  return loadConfig({
    paths: Object.keys(files).filter((path) => path.startsWith("/etc/")),
    env: {},
    files: memoryFiles(files),
    directory: "/srv",
    hostname: "host.example",
    ...more,
  });
}

export async function problemsOf(
  files: Readonly<Record<string, string>> | string,
  more: Partial<Sources> = {},
): Promise<string[]> {
  try {
    await load(typeof files === "string" ? { "/etc/h.hcl": files } : files, more);
  } catch (error) {
    assert.ok(error instanceof ConfigFailure, String(error));
    return error.problems.map(showProblem);
  }
  return assert.fail("it was accepted");
}
