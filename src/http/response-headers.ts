// What every answer of a listener carries, worked out once for each status, and the second spelling of
// our headers for clients that ask in another family of names.

import { validateHeaderName, validateHeaderValue } from "../base/node-http.ts";
import { refused, type ResponseHeaders as Configured } from "./listener-settings.ts";
import { NOMAD, VAULT } from "./request/header-names.ts";

const HSTS = "Strict-Transport-Security";
const ONE_YEAR = "max-age=31536000";
/** On every answer, whatever else is set for it. */
export const EVERYWHERE = /^(?:cache-control|x-content-type-options)$/i;
// Ours to set. Two Content-Lengths are two answers.
const RESERVED =
  /^(?:x-service-|x-vault-|x-nomad-|access-control-)|^(?:cache-control|content-(?:type|length|encoding)|x-content-type-options|transfer-encoding|connection|keep-alive|date|location|trailer|upgrade)$/i;

export class ResponseHeaders {
  readonly #secure: boolean;
  #configured: Configured = {};
  readonly #byStatus = new Map<number, readonly string[]>();

  constructor(secure: boolean, configured: Configured) {
    this.#secure = secure;
    this.use(configured);
  }

  /** New ones, from the next answer on. */
  use(configured: Configured): void {
    for (const [key, headers] of Object.entries(configured)) {
      if (!/^(?:default|[1-5]xx|[1-5]\d\d)$/.test(key)) {
        throw refused('custom_response_headers are set for "default", "4xx" or "404" and the like');
      }
      for (const [name, value] of Object.entries(headers)) checkHeader(name, value);
    }
    this.#configured = configured;
    this.#byStatus.clear();
  }

  /** A list of its own, to be added to. */
  start(status: number): string[] {
    let found = this.#byStatus.get(status);
    if (found === undefined) {
      found = this.#build(status);
      this.#byStatus.set(status, found);
    }
    return found.slice();
  }

  #build(status: number): string[] {
    const headers = new Map([
      ["cache-control", ["Cache-Control", "no-store"]],
      ["x-content-type-options", ["X-Content-Type-Options", "nosniff"]],
    ]);
    if (this.#secure) headers.set(HSTS.toLowerCase(), [HSTS, ONE_YEAR]);
    for (const key of ["default", `${Math.floor(status / 100)}xx`, String(status)]) {
      for (const [name, value] of Object.entries(this.#configured[key] ?? {})) {
        headers.set(name.toLowerCase(), [name, value]);
      }
    }
    return [...headers.values()].flat();
  }
}

/** Adds to a finished list what the families of the request call our headers. */
export function addAliases(headers: string[], families: number): void {
  const length = headers.length;
  for (let at = 0; at < length; at += 2) {
    const name = headers[at] ?? "";
    if (!name.startsWith("X-Service-")) continue;
    const rest = name.slice("X-Service-".length);
    const value = headers[at + 1] ?? "";
    // The word "Index" means the opaque state in one family and the number in the other.
    if ((families & VAULT) !== 0 && rest !== "Index") {
      headers.push(`X-Vault-${rest === "State" ? "Index" : rest}`, value);
    }
    if ((families & NOMAD) !== 0 && rest !== "State") headers.push(`X-Nomad-${rest}`, value);
  }
}

function checkHeader(name: string, value: string): void {
  try {
    validateHeaderName(name);
    validateHeaderValue(name, value);
  } catch {
    throw refused("custom_response_headers has a name or value that cannot be sent as a header");
  }
  if (RESERVED.test(name)) throw refused(`custom_response_headers may not set ${name}`);
}
