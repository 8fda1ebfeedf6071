// Sizes as people read them, and how far along work on so many bytes is.

const UNITS = ["bytes", "KiB", "MiB", "GiB", "TiB"];

export function sizeText(bytes: number): string {
  let [value, unit] = [bytes, 0];
  while (value >= 1024 && unit < UNITS.length - 1) {
    value /= 1024;
    unit++;
  }
  return `${unit === 0 ? value : value.toFixed(1)} ${UNITS[unit]!}`;
}

const WIDTH = 24;

/** [######------------------] 25 %, 1.0 MiB of 4.0 MiB; without the whole, how much it is so far. */
export function bytesBar(done: number, of: number | null): string {
  if (of === null || of === 0) return sizeText(done);
  const share = Math.min(1, done / of);
  const filled = Math.round(share * WIDTH);
  const bar = `[${"#".repeat(filled)}${"-".repeat(WIDTH - filled)}]`;
  return `${bar} ${Math.floor(share * 100)} %, ${sizeText(done)} of ${sizeText(of)}`;
}
