// What the HTTP front is handed: the pipeline, the world, and the rules that rooms keep.

import type { Log } from "@holdfast/shared/log";
import type { Clock, Fs, Nanos, Random, Timers } from "@holdfast/shared/world";
import type { Core } from "../core/incoming.ts";
import type { Operation } from "@holdfast/shared/endpoint/request";

type Headers = Readonly<Record<string, string>>;

/** What browsers may do here: sys/config/cors and sys/config/ui. */
export interface BrowserRules {
  /** Whether pages of this origin may call us. Our own origin is not asked about. */
  allows(origin: string): boolean;
  /** Access-Control-… and Vary for an origin that is allowed. */
  corsHeaders(origin: string, preflight: boolean): Headers;
  /** Headers of the console's files, those included that it has by default. */
  consoleHeaders(): Headers;
}

/** One request, for metrics. */
export interface RequestFacts {
  readonly operation: Operation | null; // null when no route was found
  readonly mountType: string;
  readonly status: number;
  readonly nanos: Nanos;
}

export interface HttpOptions {
  readonly core: Core;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly random: Random;
  readonly fs: Fs;
  readonly log: Log;
  readonly browser: BrowserRules;
  /** Whether headers of other products' clients are understood. */
  readonly compat: boolean;
  /** Whether a request may ask for the active node. Default false. */
  readonly forwardsByHeader?: boolean | undefined;
  /** Whether /ui/ is served. */
  readonly ui: boolean;
  /** How others reach us, such as https://holdfast.example:8200; null: as the listener says. */
  readonly apiAddress: string | null;
  readonly observe: (facts: RequestFacts) => void;
}
