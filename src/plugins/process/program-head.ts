// What the first bytes of a file say of it: a program for this machine, a script whose interpreter is there, or neither.
// Told before anything is started, since the system's own words for it are few, and a shell would try the rest.

import { Buffer } from "node:buffer";

/** So much of a file is looked at. */
export const HEAD_BYTES = 4096;

const MACHINES: Readonly<Record<string, number>> = {
  x64: 62,
  arm64: 183,
  ia32: 3,
  arm: 40,
  riscv64: 243,
  s390x: 22,
  ppc64: 21,
};
const NAMES: ReadonlyMap<number, string> = new Map([
  [3, "32-bit x86"],
  [40, "32-bit ARM"],
  [62, "x86-64"],
  [183, "ARM64"],
  [243, "RISC-V"],
  [22, "IBM Z"],
  [21, "POWER"],
]);

export interface ProgramHead {
  /** Why it cannot run here; null where that cannot be told from it. */
  readonly problem: string | null;
  /** Program that a script is for. */
  readonly interpreter: string | null;
}

export function readProgramHead(bytes: Uint8Array, platform: string, arch: string): ProgramHead {
  const head = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (head.subarray(0, 2).toString("latin1") === "#!") return ofScript(head);
  if (head.subarray(0, 4).toString("latin1") === "\x7fELF") return ofElf(head, platform, arch);
  const isApple = [0xfeedface, 0xfeedfacf, 0xcafebabe].some(
    (magic) =>
      head.length >= 4 && (head.readUInt32LE(0) === magic || head.readUInt32BE(0) === magic),
  );
  if (isApple)
    return {
      problem: platform === "darwin" ? null : "it is a program for macOS",
      interpreter: null,
    };
  if (head.subarray(0, 2).toString("latin1") === "MZ") {
    return { problem: "it is a program for Windows", interpreter: null };
  }
  const what =
    head.length === 0 ? "it is empty" : "it is neither a program nor a script that begins with #!";
  return { problem: what, interpreter: null };
}

function ofScript(head: Buffer): ProgramHead {
  const text = head.toString("latin1");
  const end = text.indexOf("\n");
  if (end < 0 || end > 255)
    return { problem: "its first line, with #!, is longer than 255 bytes", interpreter: null };
  const interpreter = text.slice(2, end).trim().split(/[ \t]/)[0] ?? "";
  if (text[end - 1] === "\r") {
    return {
      problem:
        "its first line ends like those of Windows, which no system here finds an interpreter by",
      interpreter: null,
    };
  }
  if (!interpreter.startsWith("/")) {
    return { problem: "its first line names no whole path of an interpreter", interpreter: null };
  }
  return { problem: null, interpreter };
}

function ofElf(head: Buffer, platform: string, arch: string): ProgramHead {
  if (platform !== "linux") return { problem: "it is a program for Linux", interpreter: null };
  if (head.length < 20) return { problem: "it is cut off", interpreter: null };
  const isLittle = head[5] === 1;
  const machine = isLittle ? head.readUInt16LE(18) : head.readUInt16BE(18);
  const ours = MACHINES[arch];
  if (ours !== undefined && machine !== ours) {
    const name = NAMES.get(machine) ?? `machine ${machine}`;
    return {
      problem: `it is built for ${name}, and this machine is ${NAMES.get(ours) ?? arch}`,
      interpreter: null,
    };
  }
  return { problem: null, interpreter: loaderOf(head) };
}

/** Of programs that are not linked as a whole: 64 bits, little end first, as all of ours are. */
function loaderOf(head: Buffer): string | null {
  if (head[4] !== 2 || head[5] !== 1 || head.length < 64) return null;
  const at = head.readBigUInt64LE(32);
  const size = head.readUInt16LE(54);
  const count = head.readUInt16LE(56);
  for (let row = 0; row < count && row < 64; row++) {
    const place = Number(at) + row * size;
    if (place + 56 > head.length) return null;
    if (head.readUInt32LE(place) !== 3) continue; // PT_INTERP
    const from = Number(head.readBigUInt64LE(place + 8));
    const length = Number(head.readBigUInt64LE(place + 32));
    if (length < 2 || length > 256 || from + length > head.length) return null;
    return head.toString("latin1", from, from + length - 1);
  }
  return null;
}
