// A server over a store that is there already: started as an operator does, unsealed, with a file as its
// audit device.

import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { type Caller, call } from "../api/api-caller.ts";
import { freePort, withServer } from "../api/api-server.ts";

/** What sys/init tells. */
export interface NodeKeys {
  readonly keys: readonly string[];
  readonly root_token: string;
}

export interface TokensNode {
  readonly caller: Caller;
  readonly pid: number;
  /** From before the start of the process to the first page of a list. */
  readonly readyMillis: number;
}

export function keysFrom(value: unknown): NodeKeys {
  return value as NodeKeys; // as sys/init answers
}

/** `directory` is for its configuration and its log. */
export async function withTokensNode<T>(
  { directory, data, keys }: { directory: string; data: string; keys: NodeKeys },
  use: (node: TokensNode) => Promise<T>,
): Promise<T> {
  const port = await freePort();
  const config = join(directory, "server.hcl");
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  writeFileSync(config, configuration(data, port), { mode: 0o600 });
  const args = ["--config", config];
  const began = performance.now();
  return await withServer({ directory, port, args, ready: [] }, async ({ url, pid }) => {
    const stranger = { url, headers: {} };
    const caller = { url, headers: { "X-Service-Token": keys.root_token } };
    await call(stranger, "PUT", "sys/unseal", { key: keys.keys[0] });
    await call(caller, "GET", "acl/tokens?per_page=100");
    const readyMillis = performance.now() - began;
    const options = { file_path: join(data, "audit", "audit.log") };
    const devices = await call(caller, "GET", "sys/audit");
    if (!JSON.stringify(devices).includes('"file/"')) {
      await call(caller, "POST", "sys/audit/file", { type: "file", options });
    }
    return await use({ caller, pid, readyMillis });
  });
}

function configuration(data: string, port: number): string {
  return `data_dir = ${JSON.stringify(data)}
ui       = false

storage "sqlite" {}

listener "tcp" {
  address     = "127.0.0.1:${port}"
  tls_disable = true
}
`;
}
