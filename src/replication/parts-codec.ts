// Several byte strings in one, each with its length before it: keys never become text, and no two lists are alike.

import { alloc, concat, writeUint64 } from "@holdfast/shared/bytes";
import type { Codec } from "@holdfast/shared/codec";

const LENGTH_BYTES = 8;

export const partsCodec: Codec<readonly Uint8Array[]> = {
  encode: (parts) =>
    concat(
      ...parts.flatMap((part) => {
        const length = alloc(LENGTH_BYTES);
        writeUint64(length, BigInt(part.length), 0);
        return [length, part];
      }),
    ),
  decode: (bytes) => {
    const parts: Uint8Array[] = [];
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    for (let at = 0; at < bytes.length;) {
      const length = Number(view.getBigUint64(at));
      const end = at + LENGTH_BYTES + length;
      parts.push(concat(bytes.subarray(at + LENGTH_BYTES, end)));
      at = end;
    }
    return parts;
  },
};
