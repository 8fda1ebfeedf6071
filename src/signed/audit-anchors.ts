// Looks in audit files for the records at which evidence says that it was made: found as it says, found otherwise,
// or not there.

import { parseChainLine, parseLine } from "./audit-line.ts";
import type { CheckedReport, Finding } from "./evidence-check.ts";
import type { AuditAnchor } from "./report.ts";

export class AnchorSearch {
  readonly #wanted = new Map<string, AuditAnchor[]>();
  readonly #found = new Map<string, Set<string>>(); // MACs in the lines: chains of one device may have one number each
  #device: string | null = null;

  constructor(reports: readonly CheckedReport[]) {
    for (const anchor of reports.flatMap(({ report }) => report.audit)) {
      const place = placeOf(anchor);
      this.#wanted.set(place, [...(this.#wanted.get(place) ?? []), anchor]);
    }
  }

  /** Another file begins. */
  begin(): void {
    this.#device = null;
  }

  /** A line without its end. */
  take(line: string): void {
    const sealed = parseLine(line);
    if (sealed === null) return;
    const chained = parseChainLine(line);
    if (chained !== null) this.#device = chained.device;
    if (this.#device === null) return;
    const place = placeOf({ device: this.#device, number: sealed.number });
    if (!this.#wanted.has(place)) return;
    this.#found.set(place, (this.#found.get(place) ?? new Set()).add(sealed.mac));
  }

  findings(): Finding[] {
    return Array.from(this.#wanted, ([place, anchors]): Finding => {
      const macs = this.#found.get(place);
      const about = `audit record ${place}`;
      if (macs === undefined) return { state: "missing", about, text: "it is not in the files" };
      return anchors.every(({ digest }) => macs.has(digest))
        ? { state: "good", about, text: "it is as the evidence says" }
        : { state: "bad", about, text: "it is not the record that the evidence names" };
    });
  }
}

function placeOf({ device, number }: Pick<AuditAnchor, "device" | "number">): string {
  return `${device} ${number}`;
}
