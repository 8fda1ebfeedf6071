// Addresses as they stand in settings: host and port, networks, base URLs. Pure text: nothing is
// looked up.

import { BlockList, isIP } from "node:net";

export interface HostPort {
  readonly host: string;
  readonly port: number;
}

/** `host:port` or `[v6]:port`; null when it is neither. Port 0 takes a free one. */
export function parseHostPort(text: string): HostPort | null {
  const match = /^(?:\[([0-9A-Fa-f:.]+)\]|([^[\]:/?#@\s]+)):([0-9]{1,5})$/.exec(text);
  if (match === null) return null;
  const [, six, name, digits = ""] = match;
  const port = Number(digits);
  if (port > 65_535) return null;
  if (six !== undefined) return isIP(six) === 6 ? { host: six, port } : null;
  return name !== undefined && isHost(name) ? { host: name, port } : null;
}

export function showHostPort({ host, port }: HostPort): string {
  return host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
}

/** A name or an IPv4 address. All digits and dots must be an address, not a name that looks like one. */
export function isHost(text: string): boolean {
  if (/^[0-9.]+$/.test(text)) return isIP(text) === 4;
  return (
    text.length <= 253 &&
    /^[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?)*\.?$/.test(
      text,
    )
  );
}

/** The name localhost counts: it is what people write, and systems bind it to loopback. */
export function isLoopback(host: string): boolean {
  if (host.toLowerCase() === "localhost") return true;
  const family = isIP(host);
  if (family !== 6) return family === 4 && host.startsWith("127.");
  const one = new BlockList(); // knows every spelling of ::1
  one.addAddress("::1", "ipv6");
  return one.check(host, "ipv6");
}

/** An address, or a network in the form address/bits. */
export function isNetwork(text: string): boolean {
  const [address = "", bits, more] = text.split("/");
  const family = isIP(address);
  if (family === 0 || more !== undefined) return false;
  if (bits === undefined) return true;
  return /^[0-9]{1,3}$/.test(bits) && Number(bits) <= (family === 4 ? 32 : 128);
}

/** http(s)://host[:port] and nothing behind it; gives it without a slash at the end. */
export function baseUrl(text: string): string | null {
  const match = /^(https?):\/\/([^/?#@\s]+)\/?$/.exec(text);
  if (match === null) return null;
  const [, scheme = "", authority = ""] = match;
  const known =
    parseHostPort(authority) !== null ||
    isHost(authority) ||
    parseHostPort(`${authority}:1`) !== null;
  return known ? `${scheme}://${authority}` : null;
}

/** https://host:port of a cluster port, and nothing behind it; gives it without a slash at the end. Other clusters take no other form. */
export function clusterUrl(text: string): string | null {
  const authority = /^https:\/\/([^/?#@\s]+)\/?$/.exec(text)?.[1];
  if (authority === undefined) return null;
  const at = parseHostPort(authority);
  return at === null || at.port === 0 ? null : `https://${showHostPort(at)}`;
}
