// Whose bucket a request draws from. One subscriber usually has a whole /64 of IPv6, so all its
// addresses count as one client; an IPv4 address counts as the same client in both of its spellings.

export function clientOf(address: string): string {
  if (!address.includes(":")) return address;
  const groups = groupsOf(address.split("%", 1)[0]!);
  if (groups === null) return address;
  const [a, b, c, d, e, f, g = 0, h = 0] = groups;
  if (a === 0 && b === 0 && c === 0 && d === 0 && e === 0 && f === 0xffff) {
    return `${g >> 8}.${g & 255}.${h >> 8}.${h & 255}`;
  }
  return `${[a, b, c, d].map((group) => (group ?? 0).toString(16)).join(":")}::/64`;
}

/** The eight groups of an IPv6 address, or null when it is none. */
function groupsOf(text: string): number[] | null {
  const [head = "", tail, more] = text.split("::");
  if (more !== undefined) return null;
  const front = readGroups(head);
  const back = tail === undefined ? [] : readGroups(tail);
  if (front === null || back === null) return null;
  const missing = 8 - front.length - back.length;
  if (tail === undefined ? missing !== 0 : missing < 1) return null;
  return [...front, ...Array.from({ length: missing }, () => 0), ...back];
}

function readGroups(text: string): number[] | null {
  if (text === "") return [];
  const groups: number[] = [];
  for (const part of text.split(":")) {
    const quad = /^(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})$/.exec(part);
    if (quad !== null) {
      const [w = 0, x = 0, y = 0, z = 0] = quad.slice(1).map(Number);
      groups.push(w * 256 + x, y * 256 + z);
    } else if (/^[0-9a-fA-F]{1,4}$/.test(part)) {
      groups.push(Number.parseInt(part, 16));
    } else {
      return null;
    }
  }
  return groups;
}
