// A real server process for one experiment: made, initialised, unsealed, with an audit file; ended and
// removed afterwards, whatever happens.

import { join } from "node:path";
import { Prng } from "../sim/prng.ts";
import type { ApiTargetOptions } from "./api/api-target.ts";
import { Api, NodePlace, ServerProcess } from "./api/api-server.ts";
import { discard, scratch } from "./child.ts";
import { errorText } from "../tests/support/error-text.ts";

export interface FreshServer {
  readonly api: Api;
  readonly url: string;
  readonly pid: number;
}

/** Gives what went wrong: what `use` has found, or its failure. */
export async function withFreshServer(
  name: string,
  targetOf: (directory: string) => ApiTargetOptions,
  use: (server: FreshServer, directory: string) => Promise<readonly string[]>,
): Promise<readonly string[]> {
  const directory = scratch(name);
  const place = new NodePlace(join(directory, "node"));
  const target = targetOf(directory);
  const server = new ServerProcess({ place, beside: join(directory, "beside"), target });
  let api: Api | null = null;
  try {
    const url = await server.ready;
    const stranger = new Api(url);
    const keys = await stranger.init();
    await stranger.unseal(keys, new Prng(1));
    stranger.close();
    api = new Api(url, keys.token);
    const body = { type: "file", options: { file_path: place.auditFile("file") } };
    await api.expect([204], "POST", "sys/audit/file", { body });
    return await use({ api, url, pid: server.process.pid ?? 0 }, directory);
  } catch (error) {
    return [`${errorText(error)}\n${server.log.split("\n").slice(-8).join("\n")}`];
  } finally {
    api?.close();
    await server.kill();
    discard(directory);
  }
}
