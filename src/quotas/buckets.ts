// Token buckets by client, in memory of this node alone. A bucket that has filled up again is the
// same as none, so what has not been seen for long can be forgotten. All meters share one bound:
// clients are kept in a young and an old generation, and when the young one is full it becomes the
// old one and what was old is dropped. Whoever drives others out by coming from very many addresses
// had as many allowances to begin with; at 2 × 65,536 clients that is some 25 MB.

const YOUNG_CLIENTS = 65_536;

// Sums of small parts fall a little short of the whole.
const NEARLY = 1 - 1e-9;

export interface Allowance {
  /** Requests in an interval. What is saved up is at most one interval's worth, and at least one. */
  readonly rate: number;
  readonly interval: number; // ns
  /** How long whoever asks too often is refused altogether, in ns; 0 for not at all. */
  readonly block: number;
}

export interface Verdict {
  readonly admitted: boolean;
  readonly limit: number;
  readonly remaining: number;
  /** Until the bucket is full again, in ns. */
  readonly reset: number;
  /** Until the next request may pass, in ns; 0 when this one did. */
  readonly retry: number;
}

interface Bucket {
  tokens: number;
  at: number;
  blockedUntil: number;
}

/** The meters of all quotas, and the bound on what they remember. */
export class Meters {
  readonly #meters = new Set<Meter>();
  readonly #youngClients: number;
  #young = 0;

  /** `youngClients`: half of what is remembered. Default 65,536. */
  constructor(youngClients = YOUNG_CLIENTS) {
    this.#youngClients = youngClients;
  }

  /** How many clients are remembered, over all meters. */
  get size(): number {
    let size = 0;
    for (const meter of this.#meters) size += meter.size;
    return size;
  }

  meter(allowance: Allowance): Meter {
    const meter = new Meter(allowance, () => this.#grown());
    this.#meters.add(meter);
    return meter;
  }

  drop(meter: Meter): void {
    this.#meters.delete(meter);
  }

  #grown(): void {
    if (++this.#young < this.#youngClients) return;
    this.#young = 0;
    for (const meter of this.#meters) meter.age();
  }
}

/** The buckets of one quota. */
export class Meter {
  readonly #capacity: number;
  readonly #perNano: number;
  readonly #block: number;
  readonly #grown: () => void;
  #young = new Map<string, Bucket>();
  #old = new Map<string, Bucket>();

  constructor({ rate, interval, block }: Allowance, grown: () => void) {
    this.#capacity = Math.max(1, rate);
    this.#perNano = rate / interval;
    this.#block = block;
    this.#grown = grown;
  }

  get size(): number {
    return this.#young.size + this.#old.size;
  }

  /** Counts one request at `now`, in ns of a clock that never goes back. */
  take(client: string, now: number): Verdict {
    const bucket = this.#bucket(client, now);
    bucket.tokens = Math.min(this.#capacity, bucket.tokens + (now - bucket.at) * this.#perNano);
    bucket.at = now;
    if (bucket.blockedUntil > now) return this.#verdict(bucket, bucket.blockedUntil - now);
    if (bucket.tokens >= NEARLY) {
      bucket.tokens = Math.max(0, bucket.tokens - 1);
      return this.#verdict(bucket, 0);
    }
    if (this.#block > 0) {
      bucket.blockedUntil = now + this.#block;
      return this.#verdict(bucket, this.#block);
    }
    return this.#verdict(bucket, Math.max(1, Math.ceil((1 - bucket.tokens) / this.#perNano)));
  }

  /** What is old is forgotten, what is young becomes old. */
  age(): void {
    this.#old = this.#young;
    this.#young = new Map();
  }

  #bucket(client: string, now: number): Bucket {
    const young = this.#young.get(client);
    if (young !== undefined) return young;
    const old = this.#old.get(client);
    const bucket = old ?? { tokens: this.#capacity, at: now, blockedUntil: 0 };
    if (old !== undefined) this.#old.delete(client);
    this.#young.set(client, bucket);
    this.#grown(); // after it is in its place: it may be moved on at once
    return bucket;
  }

  #verdict(bucket: Bucket, retry: number): Verdict {
    return {
      admitted: retry === 0,
      limit: Math.floor(this.#capacity),
      remaining: retry > 0 ? 0 : Math.floor(bucket.tokens),
      reset: Math.max(retry, Math.ceil((this.#capacity - bucket.tokens) / this.#perNano)),
      retry,
    };
  }
}
