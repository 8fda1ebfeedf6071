// Whose name the caller used. A page of a foreign site can make a browser reach a listener on this
// machine under the site's own name (DNS rebinding): such a request names a host that is not ours.
// Also tells our own pages from foreign ones.

import { malformed, wrongHost } from "../failures.ts";
import { isLoopbackAddress, refused, type FullSettings } from "../listener-settings.ts";

const HOST = /^(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]{1,253})(?::(\d{1,5}))?$/;

/** Ports are compared only where an entry names one: a tunnel or a mapped port changes them. */
interface Entry {
  readonly name: string;
  readonly port: string | null;
}

export class HostRule {
  readonly #enforced: boolean;
  readonly #entries: readonly Entry[];
  #last = ""; // the header that was accepted last: nearly always the next one

  constructor(settings: FullSettings, apiAddress: string | null) {
    const { kind, host, allowedHosts } = settings;
    const loopback = kind === "tcp" && isLoopbackAddress(host);
    this.#enforced = loopback || allowedHosts.length > 0;
    const own = loopback ? ["localhost", "127.0.0.1", "[::1]"] : [];
    const listener = kind === "tcp" ? [host.includes(":") ? `[${host}]` : host] : [];
    const api = apiAddress === null ? [] : [/^[a-z]+:\/\/([^/?#]+)/.exec(apiAddress)?.[1] ?? ""];
    this.#entries = [
      ...[...own, ...listener, ...api].map((text) => ({ ...readEntry(text), port: null })),
      ...allowedHosts.map(readEntry),
    ];
  }

  check(host: string | undefined): void {
    if (host === this.#last && host !== "") return;
    const match = host === undefined ? null : HOST.exec(host);
    if (match === null || host === undefined) {
      throw malformed("the header Host must be a host name or address, with a port or without");
    }
    if (this.#enforced) {
      const name = match[1]?.toLowerCase();
      const port = match[2] ?? null;
      const known = this.#entries.some(
        (entry) => entry.name === name && (entry.port === null || entry.port === port),
      );
      if (!known) throw wrongHost();
    }
    this.#last = host;
  }
}

function readEntry(text: string): Entry {
  const match = HOST.exec(text);
  if (match === null) {
    throw refused("allowed_hosts must list host names or addresses, with a port or without");
  }
  return { name: (match[1] ?? "").toLowerCase(), port: match[2] ?? null };
}

/**
 * Whether a page of ours asks. Behind a proxy that ends TLS a page's origin is https while the
 * listener is not, hence the second form.
 */
export function isOwnOrigin(origin: string, host: string, secure: boolean): boolean {
  return origin === `https://${host}` || (!secure && origin === `http://${host}`);
}
