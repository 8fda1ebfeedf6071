// What the daemon needs of the server it runs.

import type { Log, LogDial } from "@holdfast/shared/log";
import type { Fs, World } from "@holdfast/shared/world";
import type { Config } from "../config/config.ts";
import type { Attachment } from "../plugins/ports.ts";
import type { Initialised, InitOptions } from "../seal/init.ts";
import type { UnsealRequest } from "../seal/keeper.ts";
import type { SealStatus } from "../seal/status.ts";

export interface ServerPart {
  readonly keeper: KeeperPart;
  /** `https://host:port` of each listener, as it was bound. */
  readonly addresses: readonly string[];
  /** Resolves with the cause when the storage fails; never otherwise. */
  readonly failed: Promise<unknown>;
  /** Takes over what can be taken over; gives what could not be, in words. */
  reload(config: Config): Promise<readonly string[]>;
  /** Takes no more requests, lets running ones end, flushes audit, seals. */
  stop(): Promise<void>;
}

export interface KeeperPart {
  status(): SealStatus;
  init(options?: InitOptions): Promise<Initialised>;
  unseal(request: UnsealRequest): Promise<SealStatus>;
}

export interface ServerParts {
  readonly world: World;
  readonly log: Log;
  readonly version: string;
  readonly buildDate: string;
  /** For files that the configuration names: it follows links, unlike that of the world. */
  readonly operatorFiles: Fs;
  /** How much the log tells. */
  readonly dial: LogDial;
  /** Does what SIGHUP does; rejects with a Failure that says what could not be taken over. */
  readonly reload: () => Promise<void>;
  /** Development mode: insecure by definition. A root token may be chosen. */
  readonly dev?: {
    readonly rootToken: string | null;
    /** Plugins that run already, by name. Default: none. */
    readonly attached?: ReadonlyMap<string, Attachment>;
  };
  /** Variables that engines look for. */
  readonly environment: Readonly<Record<string, string | undefined>>;
}

/** The composition root, loaded only when a server is really started. */
export interface ServerModule {
  readonly openServer: (config: Config, parts: ServerParts) => Promise<ServerPart>;
  /** 3 when the storage is in use by another process, 2 when a setting is to blame, else 1. */
  readonly exitCodeOf: (error: unknown) => number;
}
