// @holdfast/client: the API for programs in TypeScript and JavaScript, over `fetch`. Nothing that can be
// reached from here needs Node, so that it runs in a browser too. docs/sdk.md is its page.

import { SECOND } from "@holdfast/shared/text/duration";
import { Secret } from "@holdfast/shared/secret";
import type { Nanos } from "@holdfast/shared/world";
import { Client, nanosOf } from "./client.ts";
import { checkOptions } from "./options.ts";
import { FetchTransport } from "./fetch-transport.ts";
import { parseServerAddress } from "./server-address.ts";

export * from "./api.ts";
export { ApiError } from "./api-error.ts";
export { Client } from "./client.ts";
export type { Answer, Caller, CallOptions, LeaseInfo, WrapInfo } from "./client.ts";
export { ConnectionFailure } from "./connection-failure.ts";
export type { ConnectionProblem } from "./connection-failure.ts";
export type { Transport } from "./transport.ts";
export { Failure } from "@holdfast/shared/failure";
export type { FailureKind } from "@holdfast/shared/failure";
export { Secret } from "@holdfast/shared/secret";

export interface ConnectOptions {
  /** Such as https://holdfast.example:8200. */
  readonly address: string;
  /** Default: none, as it is before a login. */
  readonly token?: string | Secret<string>;
  /** Default: root. */
  readonly namespace?: string;
  /** Longest wait for an answer: text such as "30s" ("30" is the same), or nanoseconds as a bigint. Default
   *  one minute. */
  readonly timeout?: string | Nanos;
  /** Told what the server warns of. Default: nobody; every answer has its warnings too. */
  readonly warn?: (warning: string) => void;
  /** In place of the runtime's. */
  readonly fetch?: typeof fetch;
}

const DEFAULT_TIMEOUT = 60n * SECOND;

const OPTIONS = ["address", "token", "namespace", "timeout", "warn", "fetch"];

export function connect(options: ConnectOptions): Client {
  checkOptions(options, OPTIONS);
  const { address, token = null, namespace = "", timeout = DEFAULT_TIMEOUT, warn, fetch } = options;
  return new Client({
    transport: new FetchTransport({
      address: parseServerAddress(address),
      timeout: nanosOf("timeout", timeout),
      ...(fetch === undefined ? {} : { fetch }),
    }),
    token: typeof token === "string" ? new Secret(token) : token,
    namespace,
    region: "",
    ...(warn === undefined ? {} : { warn }),
  });
}
