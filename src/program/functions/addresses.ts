// Addresses and ranges for `ip_in`, with its refusals.

import { isWithin, readAddress, readRange } from "@holdfast/shared/text/addresses";
import { Problem } from "../running/meter.ts";

/** Whether an address lies in a range such as `10.0.0.0/8`, or is the one that is given instead. */
export function isInRange(address: string, range: string): boolean {
  const at = readAddress(address);
  if (at === null) throw new Problem("ip_in() needs an IP address");
  const read = readRange(range);
  if (read === null) {
    throw new Problem('ip_in() needs a range such as "10.0.0.0/8" or "2001:db8::/32"');
  }
  return isWithin(at, read);
}

export function isRange(text: string): boolean {
  return readRange(text) !== null;
}
