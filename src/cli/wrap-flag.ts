// -wrap-ttl: the server keeps the answer and gives a token that unwraps it, once.

import type { Nanos } from "@holdfast/shared/world";
import type { Client } from "@holdfast/client/client";
import { flag } from "./line/flag.ts";

export const WRAP_FLAG = {
  wrapTtl: flag.duration("Keep the answer on the server, for `unwrap` within this time"),
};

/** The client for a command that was, or was not, told to wrap. */
export function wrappingClient(client: Client, wrapTtl: Nanos | undefined): Client {
  return wrapTtl === undefined ? client : client.wrapping(wrapTtl);
}
