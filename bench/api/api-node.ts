// A server made ready for load: on disk, initialised, unsealed, with a file as its audit device.

import { createReadStream, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Caller, call } from "./api-caller.ts";
import { freePort, type RunningServer, withServer } from "./api-server.ts";

const NEWLINE = 0x0a;

export interface ReadyNode {
  readonly caller: Caller;
  readonly server: RunningServer;
  /** Counts the records in the audit file. */
  readonly records: () => Promise<number>;
}

/** `settings`: lines of HCL beside those that every node has. `root`: another checkout, whose server it is. */
export async function withNode<T>(
  directory: string,
  use: (node: ReadyNode) => Promise<T>,
  settings = "",
  root?: string,
): Promise<T> {
  const port = await freePort();
  const data = join(directory, "data");
  const audit = join(data, "audit", "audit.log");
  const config = join(directory, "server.hcl");
  mkdirSync(data, { mode: 0o700 });
  writeFileSync(config, configuration(data, port) + settings, { mode: 0o600 });
  const args = ["--config", config];
  const where = { directory, port, ...(root === undefined ? {} : { root }) };
  return await withServer({ ...where, args, ready: [] }, async (server) => {
    const caller = await unsealed(server.url);
    const options = { file_path: audit };
    await call(caller, "POST", "sys/audit/file", { type: "file", options });
    return await use({ caller, server, records: () => lineCount(audit) });
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

async function unsealed(url: string): Promise<Caller> {
  const stranger = { url, headers: {} };
  const shares = { secret_shares: 1, secret_threshold: 1 };
  const { keys, root_token: token } = initAnswer(await call(stranger, "PUT", "sys/init", shares));
  await call(stranger, "PUT", "sys/unseal", { key: keys[0] });
  return { url, headers: { "X-Service-Token": token } };
}

function initAnswer(body: unknown): { keys: readonly string[]; root_token: string } {
  return body as { keys: string[]; root_token: string }; // as sys/init answers
}

async function lineCount(path: string): Promise<number> {
  let count = 0;
  for await (const chunk of createReadStream(path, { highWaterMark: 2 ** 20 })) {
    for (let at = chunk.indexOf(NEWLINE); at >= 0; at = chunk.indexOf(NEWLINE, at + 1)) count++;
  }
  return count;
}
