// An archive in a file without a name, as a source that can be read again: gone when it is closed, and after a crash.

import { createHash } from "node:crypto";
import type { WorkFile, WorkFiles } from "@holdfast/shared/world";
import type { ArchiveMaking } from "../making.ts";
import type { SpooledArchive } from "./attempt.ts";

const PIECE = 256 * 1024;

export interface SpoolOptions {
  readonly making: ArchiveMaking;
  readonly files: WorkFiles;
  readonly directory: string;
}

export async function spooled(
  { making, files, directory }: SpoolOptions,
  signal: AbortSignal,
): Promise<SpooledArchive> {
  const file = await files.createUnnamed(directory);
  try {
    const { meta } = await making.write(file, directory, signal);
    const { size } = file;
    const sum = createHash("sha256");
    for await (const piece of pieces(file, 0, size)) sum.update(piece);
    return {
      source: { size, sha256: sum.digest(), read: (from, to) => pieces(file, from, to) },
      index: meta.index,
      close: () => file.close(),
    };
  } catch (error) {
    await file.close();
    throw error;
  }
}

async function* pieces(
  file: WorkFile,
  from: number,
  to: number,
): AsyncGenerator<Uint8Array, void, void> {
  for (let at = from; at < to;) {
    const piece = await file.read(at, Math.min(PIECE, to - at));
    if (piece.length === 0) throw new Error("a spool is shorter than what was written to it");
    at += piece.length;
    yield piece;
  }
}
