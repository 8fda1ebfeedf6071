// Who asks, when a proxy stands between. X-Forwarded-For is believed only from addresses that the
// operator named, and is read from its end: what stands further left was written by the client.

import { BlockList, isIP, isIPv6 } from "node:net";
import type { Remote } from "@holdfast/shared/endpoint/request";
import { plainAddress } from "../../base/connection-book.ts";
import { badHeader } from "../failures.ts";
import { isLoopbackAddress, refused } from "../listener-settings.ts";

const MAX_HOPS = 32;

export class ForwardedFor {
  readonly #authorized = new BlockList();
  readonly #any: boolean;

  constructor(authorized: readonly string[]) {
    this.#any = authorized.length > 0;
    for (const entry of authorized) this.#add(entry);
  }

  #add(entry: string): void {
    const [address = "", bits, ...rest] = entry.split("/");
    const family = isIP(address);
    const prefix = bits === undefined ? null : Number(bits);
    const longest = family === 6 ? 128 : 32;
    const known = family !== 0 && rest.length === 0;
    if (!known || (prefix !== null && !(/^\d+$/.test(bits ?? "") && prefix <= longest))) {
      throw refused(
        "x_forwarded_for_authorized_addrs must list addresses or networks such as 10.0.0.0/8",
      );
    }
    const type = family === 6 ? "ipv6" : "ipv4";
    if (prefix === null) this.#authorized.addAddress(address, type);
    else this.#authorized.addSubnet(address, prefix, type);
  }

  believes(address: string): boolean {
    return (
      this.#any &&
      isIP(address) !== 0 &&
      this.#authorized.check(address, isIPv6(address) ? "ipv6" : "ipv4")
    );
  }

  /** The last address that is not one of our proxies. */
  clientOf(peer: Remote, header: string): Remote {
    const hops = header.split(",");
    if (hops.length > MAX_HOPS) throw badHeader("X-Forwarded-For", `at most ${MAX_HOPS} addresses`);
    for (let i = hops.length - 1; i >= 0; i--) {
      const hop = parseHop(hops[i] ?? "");
      if (i === 0 || !this.believes(hop.address)) return hop;
    }
    return peer;
  }
}

function parseHop(text: string): Remote {
  const trimmed = text.trim();
  const match = /^(?:\[([0-9A-Fa-f:.]+)\]|([^:]+))(?::(\d{1,5}))?$/.exec(trimmed);
  const address = plainAddress(isIP(trimmed) !== 0 ? trimmed : (match?.[1] ?? match?.[2] ?? ""));
  if (isIP(address) === 0) throw badHeader("X-Forwarded-For", "a list of addresses");
  const port = isIP(trimmed) === 0 ? Number(match?.[3] ?? 0) : 0;
  return { address, port, loopback: isLoopbackAddress(address) };
}
