// Which numbers of records audit files hold, of which device and in which stretch. A file that somebody has made may have
// a stretch for each line and as many names of devices: nothing here looks through all of them for one.

import type { Stretch } from "./audit-chains.ts";

/** Numbers of the records of a device that a stretch holds, from and to. */
interface Range {
  from: number;
  to: number;
}

/** Records of a checkpoint, and in which stretch its line stands. */
interface Wanted {
  readonly device: string;
  readonly stretch: Stretch;
  readonly first: number;
  readonly last: number;
}

export class RecordRanges {
  readonly #seen = new Map<Stretch, Map<string, Range>>(); // by device
  #groups: Groups | null = null;

  seen(device: string, stretch: Stretch, number: number): void {
    const devices = this.#seen.get(stretch) ?? new Map<string, Range>();
    this.#seen.set(stretch, devices);
    const range = devices.get(device);
    if (range === undefined) devices.set(device, { from: number, to: number });
    else {
      range.from = Math.min(range.from, number);
      range.to = Math.max(range.to, number);
    }
  }

  /** Whether some of these records are there. Whatever the lines around it say, where a checkpoint stands the records are
   *  those of its device. Once all have been seen. */
  holdSomeOf(wanted: Wanted): boolean {
    this.#groups ??= new Groups(this.#seen);
    return this.#groups.holdSomeOf(wanted);
  }
}

class Groups {
  readonly #stretches = new Map<Stretch, Overlaps>();
  readonly #devices = new Map<string, Map<string | null, Overlaps>>(); // by chain
  readonly #all = new Map<string, Overlaps>(); // of a device

  constructor(seen: ReadonlyMap<Stretch, ReadonlyMap<string, Range>>) {
    for (const [stretch, devices] of seen) {
      for (const [device, range] of devices) {
        const chains = this.#devices.get(device) ?? new Map<string | null, Overlaps>();
        this.#devices.set(device, chains);
        addTo(chains, stretch.chain, range);
        addTo(this.#all, device, range);
        addTo(this.#stretches, stretch, range);
      }
    }
  }

  holdSomeOf({ device, stretch, first, last }: Wanted): boolean {
    const chains = this.#devices.get(device);
    const { chain } = stretch;
    const possible =
      chain === null ? [this.#all.get(device)] : [chains?.get(chain), chains?.get(null)];
    return [this.#stretches.get(stretch), ...possible].some((one) => one?.has(first, last));
  }
}

function addTo<K>(groups: Map<K, Overlaps>, key: K, range: Range): void {
  const group = groups.get(key) ?? new Overlaps();
  groups.set(key, group);
  group.add(range);
}

/** Answers whether one of many ranges has a number in common with another, by a search. */
class Overlaps {
  readonly #ranges: Range[] = [];
  #reach: number[] | null = null; // how far those up to there go, in the order in which they begin

  add(range: Range): void {
    this.#ranges.push(range);
    this.#reach = null;
  }

  has(first: number, last: number): boolean {
    const reach = (this.#reach ??= this.#sort());
    let [low, high] = [0, reach.length]; // how many begin up to `last`
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#ranges[middle]!.from <= last) low = middle + 1;
      else high = middle;
    }
    return low > 0 && reach[low - 1]! >= first;
  }

  #sort(): number[] {
    this.#ranges.sort((a, b) => a.from - b.from);
    let furthest = 0;
    return this.#ranges.map(({ to }) => (furthest = Math.max(furthest, to)));
  }
}
