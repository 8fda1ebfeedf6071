// Large answers go out in pieces, each after the one before it is with the system: that is how progress can
// be seen, and no more than a piece waits in the process for a client that does not read.

import type { Writable } from "node:stream";

export const PIECE = 64 * 1024;

export function endInPieces(
  stream: Writable,
  body: Buffer,
  { progress, done }: { readonly progress: () => void; readonly done: () => void },
): void {
  const sendFrom = (from: number) => {
    const to = from + PIECE;
    if (to >= body.length) {
      stream.end(body.subarray(from), done);
      return;
    }
    stream.write(body.subarray(from, to), (error) => {
      if (error || stream.destroyed) return;
      progress();
      sendFrom(to);
    });
  };
  sendFrom(0);
}
