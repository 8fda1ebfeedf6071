// Which pages of other origins may call the API: the record, its rules, and the headers that say so
// to a browser. An origin is compared as a whole and exactly; "null", which any sandboxed frame can
// send, is never allowed.

import { jsonCodec } from "@holdfast/shared/codec";
import * as failures from "./failures.ts";
import { isHeaderName } from "./header-syntax.ts";

export interface CorsSettings {
  /** Exact origins, or "*" alone. */
  readonly allowedOrigins: readonly string[];
  /** Beside the standard ones. */
  readonly allowedHeaders: readonly string[];
  readonly allowCredentials: boolean;
}

export const corsCodec = jsonCodec<CorsSettings>();

const METHODS = "GET, POST, PUT, PATCH, DELETE, LIST, OPTIONS";
const MAX_AGE = "300";

/** What a client of this API may send. */
const STANDARD_HEADERS: readonly string[] = [
  "Content-Type",
  "Authorization",
  "X-Requested-With",
  "X-Service-Token",
  "X-Service-Namespace",
  "X-Service-Wrap-TTL",
  "X-Service-Wrap-Format",
  "X-Service-Policy-Override",
  "X-Service-No-Request-Forwarding",
  "X-Service-Forward",
  "X-Service-State",
  "X-Service-Inconsistent",
  "X-Service-Request",
  "X-Service-Recover-Snapshot-Id",
];

/** What a page may read of an answer, beside its body. */
const EXPOSED = [
  "X-Service-Index",
  "X-Service-NextToken",
  "X-Service-State",
  "X-Service-Request-ID",
  "X-Service-Error",
  "X-Service-Warning",
  "Retry-After",
].join(", ");

export function makeCors(settings: CorsSettings): CorsSettings {
  const origins = [...new Set(settings.allowedOrigins)];
  if (origins.length === 0) throw failures.originsMissing();
  const everyone = origins.includes("*");
  if (everyone ? origins.length > 1 : !origins.every(isOrigin)) throw failures.originMalformed();
  if (everyone && settings.allowCredentials) throw failures.credentialsForAll();
  if (!settings.allowedHeaders.every(isHeaderName)) throw failures.corsHeaderMalformed();
  const standard = new Set(STANDARD_HEADERS.map((name) => name.toLowerCase()));
  return {
    allowedOrigins: origins,
    allowedHeaders: settings.allowedHeaders.filter((name) => !standard.has(name.toLowerCase())),
    allowCredentials: settings.allowCredentials,
  };
}

/** Settings with what does not change between requests worked out. */
export class Cors {
  readonly settings: CorsSettings;
  readonly headers: readonly string[];
  readonly #everyone: boolean;
  readonly #origins: ReadonlySet<string>;
  readonly #headersText: string;

  /** `aliases`: further request headers that the listener takes for standard ones. */
  constructor(settings: CorsSettings, aliases: readonly string[]) {
    this.settings = settings;
    this.headers = [...STANDARD_HEADERS, ...settings.allowedHeaders];
    this.#everyone = settings.allowedOrigins.includes("*");
    this.#origins = new Set(settings.allowedOrigins);
    this.#headersText = [...this.headers, ...aliases].join(", ");
  }

  allows(origin: string): boolean {
    return this.#origins.has(origin) || (this.#everyone && isOrigin(origin));
  }

  headersFor(origin: string, preflight: boolean): Record<string, string> {
    return {
      "Access-Control-Allow-Origin": this.#everyone ? "*" : origin,
      // Also for *: a cache must not give one origin's answer to another after a change of settings.
      Vary: "Origin",
      ...(this.settings.allowCredentials ? { "Access-Control-Allow-Credentials": "true" } : {}),
      ...(preflight
        ? {
            "Access-Control-Allow-Methods": METHODS,
            "Access-Control-Allow-Headers": this.#headersText,
            "Access-Control-Max-Age": MAX_AGE,
          }
        : { "Access-Control-Expose-Headers": EXPOSED }),
    };
  }
}

/** Whether text is an origin in the one spelling that browsers send. */
function isOrigin(text: string): boolean {
  if (!/^https?:\/\/[a-z0-9._:[\]-]+$/.test(text) || text.length > 512) return false;
  return URL.canParse(text) && new URL(text).origin === text;
}
