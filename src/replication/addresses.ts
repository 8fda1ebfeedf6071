// Addresses of cluster ports as people write them: https://host:port, or host:port alone.

import type { Address } from "@holdfast/shared/world";

const MAX_LENGTH = 300;

/** Null for what is none. */
export function parseClusterAddress(text: string): Address | null {
  if (text.length > MAX_LENGTH) return null;
  const written = text.includes("://") ? text : `https://${text}`;
  if (!URL.canParse(written)) return null;
  const url = new URL(written);
  const isBare = url.pathname === "/" && url.search === "" && url.hash === "";
  if (url.protocol !== "https:" || !isBare || url.username !== "" || url.password !== "")
    return null;
  // A port of 443 is left out of the parsed form; it is one all the same.
  const port = url.port === "" && /:443\/?$/.test(written) ? 443 : Number(url.port);
  const host = url.hostname.replace(/^\[|\]$/g, "");
  return port > 0 && host !== "" ? { host, port } : null;
}

/** In its one form: https://host:port. Null for what is none. */
export function clusterAddressText(text: string): string | null {
  const at = parseClusterAddress(text);
  if (at === null) return null;
  return `https://${at.host.includes(":") ? `[${at.host}]` : at.host}:${at.port}`;
}
