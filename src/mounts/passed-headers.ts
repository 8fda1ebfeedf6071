// Headers that pass between clients and the engine of a mount: only those that its operators list, and
// never one that carries a credential or that the server speaks itself.

import * as failures from "./failures.ts";
import type { MountConfig } from "./table/mount-config.ts";

const NAME = /^[A-Za-z0-9!#$&'\-.^_`|~]{1,128}$/;
/** Ours, and those of the two families of older names. */
const SPOKEN = /^x-(?:service|vault|nomad|consul)-/;
const CREDENTIALS = new Set([
  "authorization",
  "proxy-authorization",
  "cookie",
  "x-amz-security-token",
]);
/** What frames an answer, lets pages read it or keeps them safe is the server's alone. */
const FRAMING = new Set(
  (
    "age alt-svc cache-control clear-site-data connection content-disposition content-encoding " +
    "content-length content-security-policy content-type date keep-alive location origin-agent-cluster " +
    "permissions-policy proxy-authenticate referrer-policy refresh retry-after server set-cookie " +
    "strict-transport-security trailer transfer-encoding upgrade vary via www-authenticate " +
    "x-content-type-options x-frame-options"
  ).split(" "),
);

export interface PassedHeaders {
  /** By lower-case name. */
  readonly request: ReadonlySet<string>;
  readonly response: ReadonlySet<string>;
}

export function passedHeaders(config: MountConfig): PassedHeaders {
  const { passthroughRequestHeaders: request, allowedResponseHeaders: response } = config;
  return { request: lower(request), response: lower(response) };
}

/** Refuses names that must not pass. */
export function checkHeaders(config: MountConfig): void {
  for (const name of config.passthroughRequestHeaders) {
    const low = name.toLowerCase();
    const kept = CREDENTIALS.has(low) || SPOKEN.test(low);
    if (!NAME.test(name) || kept) throw failures.headerRefused("passthrough_request_headers");
  }
  for (const name of config.allowedResponseHeaders) {
    const low = name.toLowerCase();
    const ours = FRAMING.has(low) || SPOKEN.test(low) || low.startsWith("access-control-");
    if (!NAME.test(name) || ours) throw failures.headerRefused("allowed_response_headers");
  }
}

function lower(names: readonly string[]): ReadonlySet<string> {
  return new Set(names.map((name) => name.toLowerCase()));
}
