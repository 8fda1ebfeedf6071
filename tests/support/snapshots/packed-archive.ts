// The tar of an archive packed anew, by code that is not that of the server.

import { crc32 } from "node:zlib";

export const GZIP_HEAD: Buffer = Buffer.from("1f8b08000000000000ff", "hex");

/** Our own gzip around any bytes; a snapshot of ours has blocks of 65,535. */
export function stored(data: Buffer, block = 0xffff): Buffer {
  const parts: Buffer[] = [GZIP_HEAD];
  for (let at = 0; at < data.length; at += block) {
    const piece = data.subarray(at, at + block);
    const head = Buffer.alloc(5);
    head.writeUInt16LE(piece.length, 1);
    head.writeUInt16LE(piece.length ^ 0xffff, 3);
    parts.push(head, piece);
  }
  const end = Buffer.alloc(13);
  end.set([1, 0, 0, 0xff, 0xff]);
  end.writeUInt32LE(crc32(data), 5);
  end.writeUInt32LE(data.length, 9);
  return Buffer.concat([...parts, end]);
}

/** As the server writes it, where the blocks are not of another length: its front is a piece of its own. */
export function archiveOf(tar: Buffer, block?: number): Buffer {
  return Buffer.concat([stored(tar.subarray(0, 2048)), stored(tar.subarray(2048), block)]);
}
