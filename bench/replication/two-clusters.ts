// Two processes that replicate, the second with everything that the first has of that kind.

import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { type Caller, call } from "../api/api-caller.ts";
import { withNode } from "../api/api-node.ts";
import { freePort } from "../api/api-server.ts";
import type { Context } from "../row.ts";

const ASKED_EVERY = 20; // ms

/** With a mount `secret` of key/value pairs. */
export async function withClusters<T>(
  { directory }: Context,
  kind: "dr" | "performance",
  use: (primary: Caller, secondary: Caller) => Promise<T>,
): Promise<T> {
  const base = `sys/replication/${kind}`;
  const node = async <R>(name: string, run: (caller: Caller) => Promise<R>) => {
    const own = join(directory, name);
    mkdirSync(own, { mode: 0o700 });
    const region = kind === "dr" ? "" : `region = "${name}"\n`;
    return await withNode(own, ({ caller }) => run(caller), region + (await clusterListener()));
  };
  return await node("primary", async (primary) => {
    await call(primary, "POST", "sys/mounts/secret", { type: "kv", options: { version: "2" } });
    await call(primary, "POST", `${base}/primary/enable`, {});
    if (kind === "performance") await call(primary, "DELETE", "sys/audit/file"); // its file is of one machine
    return await node("secondary", async (secondary) => {
      const { data: key } = dataOf(
        await call(secondary, "POST", `${base}/secondary/generate-public-key`, {}),
      );
      const { data } = dataOf(
        await call(primary, "POST", `${base}/primary/secondary-token`, {
          id: "second",
          secondary_public_key: key["secondary_public_key"],
        }),
      );
      await call(secondary, "POST", `${base}/secondary/enable`, { token: data["token"] });
      const status = { url: secondary.url, headers: {} };
      for (;;) {
        const now = dataOf(await call(status, "GET", `${base}/status`));
        if (now.data["state"] === "stream-wals") break;
        await pause(ASKED_EVERY);
      }
      // Tokens of before are gone, and those of the primary are good.
      const other = { url: secondary.url, headers: primary.headers };
      if (kind === "performance") {
        await audited(primary, join(directory, "primary"));
        await audited(other, join(directory, "secondary"));
      }
      return await use(primary, other);
    });
  });
}

/** Each by a file of its own. */
async function audited(caller: Caller, directory: string): Promise<void> {
  const options = { file_path: join(directory, "data", "audit", "own.log") };
  await call(caller, "POST", "sys/audit/own", { type: "file", local: true, options });
}

function dataOf(body: unknown): { readonly data: Readonly<Record<string, string>> } {
  return body as { data: Record<string, string> }; // as these endpoints answer
}

async function clusterListener(): Promise<string> {
  return `
listener "tcp" {
  address         = "127.0.0.1:${await freePort()}"
  tls_disable     = true
  cluster_address = "127.0.0.1:${await freePort()}"
}
`;
}
