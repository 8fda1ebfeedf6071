// The key/value engine: secrets with versions (version 2, the default) or without (version 1).

import type { Clock } from "@holdfast/shared/world";
import type { EngineNeeds, EngineOptions, EngineType } from "@holdfast/plugin-sdk/engine";
import type { EngineStorage } from "@holdfast/plugin-sdk/storage";
import { dataApi } from "./api/api-data.ts";
import { metadataApi } from "./api/api-metadata.ts";
import { placesApi } from "./api/api-places.ts";
import { plainApi } from "./api/api-plain.ts";
import { Cursors } from "./places/cursor.ts";
import * as failures from "./failures.ts";
import { Plain } from "./plain.ts";
import { RecycleBin } from "./places/recycle.ts";
import { sweep } from "./rows.ts";
import { Versioned } from "./versioned.ts";

/** One mount of the engine. */
export interface Kv {
  readonly versioned: Versioned;
  readonly bin: RecycleBin;
  readonly plain: Plain;
  readonly storage: EngineStorage;
  readonly clock: Clock;
  readonly cursors: Cursors;
  readonly mount: EngineNeeds["mount"];
}

export const kvEngine: EngineType<Kv> = {
  type: "kv",
  kind: "secret",
  summary: "Keeps secrets that callers write, with their versions.",
  version: "v1.0.0+builtin",
  paths: ({ version }) => (version === "1" ? plainApi : [...dataApi, ...metadataApi, ...placesApi]),
  checkOptions,
  canChangeOptions: (before, after) =>
    before["version"] === "2" && after["version"] === "1"
      ? "version 1 has no place for the versions of secrets"
      : null,
  open,
  periodic: async ({ storage, bin }, signal) => {
    await sweep(storage, signal);
    await bin.tidy();
  },
  invalidate: ({ versioned }, keys) => versioned.invalidate(keys),
};

function checkOptions(options: EngineOptions): EngineOptions {
  const { version = "2", ...others } = options;
  const [unknown] = Object.keys(others);
  if (unknown !== undefined) throw failures.optionUnknown(unknown);
  if (version !== "1" && version !== "2") throw failures.versionRefused();
  return { version };
}

async function open(needs: EngineNeeds): Promise<Kv> {
  const { storage, clock, random, mount } = needs;
  const versioned = new Versioned(needs);
  const plain = new Plain(storage);
  if (needs.options["version"] !== "1") {
    await versioned.load();
    if (storage.writtenElsewhere !== true) await plain.upgrade(versioned); // or it comes from there
  }
  const bin = new RecycleBin({ storage, clock }, () => versioned.settings);
  return { versioned, bin, plain, storage, clock, cursors: new Cursors(random), mount };
}
