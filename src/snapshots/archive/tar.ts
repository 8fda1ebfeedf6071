// Headers of the tar inside an archive, in one fixed form: plain files of mode 0600 that belong to nobody.
// A header is read by making the one that it should be, so there is nothing in it that is ignored.

import { alloc, equalBytes, text, utf8 } from "@holdfast/shared/bytes";
import { archiveDamaged, archiveMembers } from "./failures.ts";

export const BLOCK = 512;
export const MEMBERS = ["meta.json", "state.bin", "SHA256SUMS", "SHA256SUMS.sealed"] as const;
export type MemberName = (typeof MEMBERS)[number];
/** Of every member but state.bin. */
export const MAX_SMALL = 8192;

const NAME = { at: 0, length: 100 };
const SIZE = { at: 124, length: 12 };
const TIME = { at: 136, length: 12 };
const CHECKSUM = { at: 148, length: 8 };
const TYPE = { at: 156, length: 1 };
const MAX_OCTAL = 8 ** 11;

export interface MemberHeader {
  readonly name: MemberName;
  readonly size: number;
  /** Seconds since 1970. */
  readonly time: number;
}

export function encodeHeader({ name, size, time }: MemberHeader): Buffer {
  const header = alloc(BLOCK);
  header.write(name, NAME.at, "latin1");
  header.write("0000600\0", 100, "latin1");
  header.write("0000000\0", 108, "latin1");
  header.write("0000000\0", 116, "latin1");
  writeNumber(header, SIZE, size);
  writeNumber(header, TIME, time);
  header.write("0", TYPE.at, "latin1");
  header.write("ustar\0" + "00", 257, "latin1");
  header.write(`${checksumOf(header).toString(8).padStart(6, "0")}\0 `, CHECKSUM.at, "latin1");
  return header;
}

/** Zeros that fill the last block of a member. */
export function paddingOf(size: number): number {
  return (BLOCK - (size % BLOCK)) % BLOCK;
}

/** Two empty blocks. */
export const END_BYTES: number = 2 * BLOCK;

/** The header that should be here; says what is wrong with any other. */
export function decodeHeader(block: Buffer, place: number): MemberHeader {
  const name = MEMBERS[place];
  if (name === undefined || isZero(block)) throw archiveMembers(`${name ?? "a member"} is missing`);
  const stored = fieldOf(block, CHECKSUM);
  const sum = /^[0-7]{6}\0 $/.test(stored) ? Number.parseInt(stored, 8) : -1;
  if (sum !== checksumOf(block)) {
    throw archiveDamaged(`where the header of ${name} should be is none that adds up`);
  }
  const found = text(block.subarray(NAME.at, NAME.length)).replace(/\0.*$/s, "");
  const quoted = JSON.stringify(found);
  const type = fieldOf(block, TYPE);
  if (type !== "0") throw archiveMembers(`the member ${quoted} is ${kindOf(type)}`);
  if (found !== name) {
    const known = MEMBERS.findIndex((one) => one === found);
    if (known < 0) throw archiveMembers(`the member ${quoted} is unknown`);
    if (known < place) throw archiveMembers(`the member ${quoted} stands twice`);
    throw archiveMembers(`the member ${quoted} comes before ${name}`);
  }
  const size = readNumber(block, SIZE);
  const time = readNumber(block, TIME);
  if (size === null || time === null) throw archiveDamaged(`the header of ${name} has no size`);
  if (name !== "state.bin" && size > MAX_SMALL) {
    throw archiveMembers(`${name} has ${size} bytes, more than ${MAX_SMALL}`);
  }
  if (!equalBytes(block, encodeHeader({ name, size, time }))) {
    throw archiveMembers(`the header of ${name} is not of the form of a snapshot's`);
  }
  return { name, size, time };
}

export function isZero(bytes: Uint8Array): boolean {
  return bytes.every((byte) => byte === 0);
}

function kindOf(type: string): string {
  if (type === "1" || type === "2") return "a link";
  if (type === "5") return "a directory";
  return "no plain file";
}

interface Field {
  readonly at: number;
  readonly length: number;
}

function fieldOf(block: Buffer, { at, length }: Field): string {
  return block.toString("latin1", at, at + length);
}

/** Eleven octal digits, or from 8 GiB on as binary, which every tar of today reads. */
function writeNumber(header: Buffer, { at, length }: Field, value: number): void {
  if (value < MAX_OCTAL) {
    header.write(`${value.toString(8).padStart(length - 1, "0")}\0`, at, "latin1");
    return;
  }
  header[at] = 0x80;
  header.writeBigUInt64BE(BigInt(value), at + length - 8);
}

function readNumber(header: Buffer, field: Field): number | null {
  const digits = fieldOf(header, field);
  if (/^[0-7]{11}\0$/.test(digits)) return Number.parseInt(digits, 8);
  if (header[field.at] !== 0x80) return null;
  const value = Number(header.readBigUInt64BE(field.at + field.length - 8));
  return Number.isSafeInteger(value) ? value : null;
}

/** The sum of all bytes, with those of the checksum taken as spaces. */
function checksumOf(header: Uint8Array): number {
  const end = CHECKSUM.at + CHECKSUM.length;
  let sum = utf8(" ")[0]! * CHECKSUM.length;
  for (let at = 0; at < header.length; at++) {
    if (at < CHECKSUM.at || at >= end) sum += header[at]!;
  }
  return sum;
}
