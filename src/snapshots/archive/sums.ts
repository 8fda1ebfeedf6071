// SHA256SUMS of an archive, as sha256sum writes and checks it, and the same text sealed under the root key:
// who cannot open the seal cannot make an archive that passes for one of ours.

import type { KeyObject } from "node:crypto";
import { hex, text, utf8 } from "@holdfast/shared/bytes";
import type { Random } from "@holdfast/shared/world";
import { openUnderRootKey, sealUnderRootKey } from "../../barrier/root-seal.ts";

const PURPOSE = "holdfast snapshot sums 1";

export interface Sums {
  readonly meta: Uint8Array;
  readonly state: Uint8Array;
}

export function sumsText({ meta, state }: Sums): string {
  return `${hex(meta)}  meta.json\n${hex(state)}  state.bin\n`;
}

export function sealSums(rootKey: KeyObject, sums: string, random: Random): Buffer {
  return sealUnderRootKey(rootKey, PURPOSE, utf8(sums), random);
}

/** The text that was sealed, or null when it was sealed under another root key, or changed since. */
export function openSums(rootKey: KeyObject, sealed: Uint8Array): string | null {
  const opened = openUnderRootKey(rootKey, PURPOSE, sealed);
  return opened === null ? null : text(opened);
}
