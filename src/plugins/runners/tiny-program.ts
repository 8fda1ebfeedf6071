// A program of some 150 bytes that says "ok" and ends: whether containers run here is tried with it, by an image around it.

import { concat, utf8 } from "@holdfast/shared/bytes";
import { type MadeImage, makeImage, plainLayer, tarOf } from "../images/made-image.ts";

const BASE = 0x400000;
const HEADS = 64 + 56;
export const SAYS = "ok\n";

/** Machine of the ELF head, and what it does: write(1, "ok\n", 3), then exit(0). */
const CODE: Readonly<Record<string, readonly [machine: number, code: string]>> = {
  x64: [62, "bf01000000488d3515000000ba03000000b8010000000f0531ffb83c0000000f05"],
  arm64: [183, "200080d2e1000010620080d2080880d2010000d4000080d2a80b80d2010000d4"],
};

/** Null for a machine that none was written for. */
export function tinyImage(arch: string): MadeImage | null {
  const known = CODE[arch];
  if (known === undefined) return null;
  const [machine, code] = known;
  const tar = tarOf([{ path: "ok", content: programOf(machine, Buffer.from(code, "hex")) }]);
  return makeImage([plainLayer(tar)], { Entrypoint: ["/ok"] }, arch);
}

function programOf(machine: number, code: Buffer): Buffer {
  const heads = Buffer.alloc(HEADS);
  const size = BigInt(HEADS + code.length + SAYS.length);
  heads.write("\x7fELF\x02\x01\x01", 0, "latin1"); // 64 bits, little end first
  heads.writeUInt16LE(2, 16); // at a fixed place
  heads.writeUInt16LE(machine, 18);
  heads.writeUInt32LE(1, 20);
  heads.writeBigUInt64LE(BigInt(BASE + HEADS), 24);
  heads.writeBigUInt64LE(64n, 32);
  heads.writeUInt16LE(64, 52);
  heads.writeUInt16LE(56, 54);
  heads.writeUInt16LE(1, 56);
  heads.writeUInt16LE(64, 58);
  heads.writeUInt32LE(1, 64); // loaded as it is
  heads.writeUInt32LE(5, 68); // read and run
  heads.writeBigUInt64LE(BigInt(BASE), 80);
  heads.writeBigUInt64LE(BigInt(BASE), 88);
  heads.writeBigUInt64LE(size, 96);
  heads.writeBigUInt64LE(size, 104);
  heads.writeBigUInt64LE(4096n, 112);
  return concat(heads, code, utf8(SAYS));
}
