// Another server with the same API that the rows of the API are also run against, for comparison.

import type { Context } from "../row.ts";

export interface Target {
  /** Scheme, host and port. */
  readonly url: string;
  readonly token: string;
}

export interface ApiContext extends Context {
  readonly target?: Target;
}

/** Reads what `--target` and `--token` gave; undefined without both. */
export function targetOf(url: string | undefined, token: string | undefined): Target | undefined {
  if (url === undefined && token === undefined) return undefined;
  if (url === undefined || token === undefined) {
    throw new Error("--target and --token belong together");
  }
  const parsed = URL.parse(url);
  // Ours is asked without TLS, so the other must be too: otherwise ciphers would be compared.
  if (parsed?.protocol !== "http:" || parsed.pathname !== "/" || parsed.search !== "") {
    throw new Error(`--target is an address such as http://127.0.0.1:8200, not ${url}`);
  }
  if (!/^[\x21-\x7e]+$/.test(token)) throw new Error("--token holds what no header can carry");
  return { url: parsed.origin, token };
}
