// IP addresses and ranges as numbers. The runtime's own reader lives with the sockets; this one reads
// text and nothing else, and a test holds it against the other.

export interface Address {
  readonly value: bigint;
  readonly bits: 32 | 128;
}

export interface AddressRange extends Address {
  /** How many of its first bits count. */
  readonly length: number;
}

export function isWithin({ value, bits }: Address, range: AddressRange): boolean {
  if (range.bits !== bits) return false;
  const rest = BigInt(range.bits - range.length);
  return range.value >> rest === value >> rest;
}

/** Such as `10.0.0.0/8`, or one address; null when the text is neither. */
export function readRange(text: string): AddressRange | null {
  const slash = text.indexOf("/");
  const address = readAddress(slash === -1 ? text : text.slice(0, slash));
  if (address === null) return null;
  if (slash === -1) return { ...address, length: address.bits };
  const digits = text.slice(slash + 1);
  if (!/^(?:0|[1-9][0-9]{0,2})$/.test(digits) || Number(digits) > address.bits) return null;
  return { ...address, length: Number(digits) };
}

/** The one form of all texts that mean the same range: as a network, in full. Null for no range. */
export function showRange(text: string): string | null {
  const range = readRange(text);
  if (range === null) return null;
  const rest = BigInt(range.bits - range.length);
  const value = (range.value >> rest) << rest;
  const parts = (count: number, width: bigint) =>
    Array.from({ length: count }, (_, i) => {
      const shift = width * BigInt(count - 1 - i);
      return (value >> shift) & ((1n << width) - 1n);
    });
  const address =
    range.bits === 32
      ? parts(4, 8n).join(".")
      : parts(8, 16n)
          .map((part) => part.toString(16))
          .join(":");
  return `${address}/${range.length}`;
}

const POINT = 0x2e;
const ZERO = 0x30;
const MAPPED = 0xffffn; // what stands above the last 32 bits

export function readAddress(text: string): Address | null {
  if (text.length > 64) return null;
  if (!text.includes(":")) {
    const value = readV4(text);
    return value === null ? null : { value: BigInt(value), bits: 32 };
  }
  const zone = text.indexOf("%");
  const value = readV6(zone === -1 ? text : text.slice(0, zone));
  if (value === null) return null;
  // How a socket of both families names a caller of the older one.
  if (value >> 32n === MAPPED) return { value: value & 0xffffffffn, bits: 32 };
  return { value, bits: 128 };
}

function readV4(text: string): number | null {
  let value = 0;
  let part = 0;
  let digits = 0;
  let parts = 1;
  for (let i = 0; i < text.length; i += 1) {
    const unit = text.charCodeAt(i);
    if (unit === POINT) {
      if (digits === 0 || parts === 4) return null;
      value = value * 256 + part;
      part = 0;
      digits = 0;
      parts += 1;
      continue;
    }
    if (unit < ZERO || unit > ZERO + 9) return null;
    // A leading zero is octal to some readers and decimal to others.
    if (digits > 0 && part === 0) return null;
    part = part * 10 + unit - ZERO;
    digits += 1;
    if (part > 255) return null;
  }
  return parts === 4 && digits > 0 ? value * 256 + part : null;
}

function readV6(text: string): bigint | null {
  const halves = text.split("::");
  if (halves.length > 2) return null;
  const [front, back] = halves.map(readGroups);
  if (front === null || front === undefined || back === null) return null;
  const missing = 8 - front.length - (back?.length ?? 0);
  if (back === undefined ? missing !== 0 : missing < 1) return null;
  const groups = [...front, ...Array<number>(missing).fill(0), ...(back ?? [])];
  return groups.reduce((value, group) => (value << 16n) | BigInt(group), 0n);
}

/** Groups of 16 bits; the last two may be written as four decimal bytes. */
function readGroups(text: string): number[] | null {
  if (text === "") return [];
  const groups: number[] = [];
  const parts = text.split(":");
  for (const [i, part] of parts.entries()) {
    if (/^[0-9A-Fa-f]{1,4}$/.test(part)) groups.push(parseInt(part, 16));
    else {
      const v4 = i === parts.length - 1 ? readV4(part) : null;
      if (v4 === null) return null;
      groups.push(Math.floor(v4 / 65_536), v4 % 65_536);
    }
  }
  return groups;
}
