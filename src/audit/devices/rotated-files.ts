// Names of files that rotation has moved away: the file's own, the time, and the number of the last
// record inside, by which they are in order.

import { basename } from "node:path";
import { SECOND } from "@holdfast/shared/text/duration";
import { showTime } from "@holdfast/shared/text/time";
import type { Instant } from "@holdfast/shared/world";

/** Such as audit.log.20260101T000000Z.51234 */
export function rotatedPath(path: string, now: Instant, lastNumber: number): string {
  const time = showTime((now / SECOND) * SECOND).replace(/[-:]/g, "");
  return `${path}.${time}.${lastNumber}`;
}

/** Those of one file among the names in its directory, the oldest first. */
export function rotatedFiles(path: string, names: readonly string[]): string[] {
  const own = `${basename(path)}.`;
  return names
    .flatMap((name) => {
      if (!name.startsWith(own)) return [];
      const number = /^\d{8}T\d{6}Z\.([1-9]\d{0,11})$/.exec(name.slice(own.length))?.[1];
      return number === undefined ? [] : [{ name, number: Number(number) }];
    })
    .toSorted((a, b) => a.number - b.number)
    .map(({ name }) => name);
}
