// What an image says of itself: which of an index it is, its layers, and what is run of it.

import { isObject, type JsonObject } from "@holdfast/shared/json/json";
import { imageRefused } from "./failures.ts";
import { type Layout, type Part, partOf, readDocument } from "./layout.ts";
import type { ImageLimits } from "./limits.ts";

const MAX_INDEXES = 3; // one in another
const MAX_WORDS = 1024;
const MAX_WORD = 32 * 1024;

export interface Layer extends Part {
  /** Of what is in it, unpacked. */
  readonly inner: string;
}

export interface ImageConfig {
  /** As it stands there: UID, UID:GID, or names; empty where it says nothing. */
  readonly user: string;
  readonly env: readonly string[];
  readonly entrypoint: readonly string[];
  readonly words: readonly string[];
  readonly folder: string;
}

export interface ImageDocuments {
  readonly config: ImageConfig;
  readonly layers: readonly Layer[];
}

export interface Machine {
  readonly arch: string;
}

/** The one whose configuration has this digest; else the digests of those that are there. */
export async function findImage(
  layout: Layout,
  sha256: string,
  limits: ImageLimits,
  machine: Machine,
): Promise<ImageDocuments | readonly string[]> {
  const found: string[] = [];
  const left = new Documents(layout, limits);
  const wanted = `sha256:${sha256}`;
  const visit = async (index: JsonObject, depth: number): Promise<ImageDocuments | null> => {
    if (depth > MAX_INDEXES) throw imageRefused("its indexes lie too deep in each other");
    for (const row of listOf(index["manifests"], "manifests")) {
      const part = partOf(row);
      if (isIndex(part.mediaType)) {
        const inner = await visit(await left.read(part), depth + 1);
        if (inner !== null) return inner;
        continue;
      }
      // What stands beside images: signatures, lists of what is in them.
      if (!isManifest(part.mediaType)) continue;
      const manifest = await left.read(part);
      const config = partOf(manifest["config"]);
      if (config.digest === wanted)
        return await documentsOf(left, manifest, config, limits, machine);
      if (!found.includes(config.digest)) found.push(config.digest);
    }
    return null;
  };
  return (await visit(await layout.index(limits.document), 1)) ?? found;
}

class Documents {
  readonly #layout: Layout;
  readonly #limits: ImageLimits;
  #count = 0;

  constructor(layout: Layout, limits: ImageLimits) {
    this.#layout = layout;
    this.#limits = limits;
  }

  read(part: Part): Promise<JsonObject> {
    const { manifests, document } = this.#limits;
    if (++this.#count > manifests) throw imageRefused(`it has more than ${manifests} manifests`);
    return readDocument(this.#layout, part, document);
  }
}

async function documentsOf(
  documents: Documents,
  manifest: JsonObject,
  configPart: Part,
  limits: ImageLimits,
  { arch }: Machine,
): Promise<ImageDocuments> {
  const config = await documents.read(configPart);
  const { os, architecture } = config;
  const ours = ARCHITECTURES[arch] ?? arch;
  if (os !== "linux" || architecture !== ours) {
    throw imageRefused(
      `it is for ${plain(os)} on ${plain(architecture)}, and this machine is linux on ${ours}`,
    );
  }
  const packed = listOf(manifest["layers"], "layers").map(partOf);
  const rootfs = config["rootfs"];
  const inner = isObject(rootfs) ? listOf(rootfs["diff_ids"], "diff_ids") : [];
  if (packed.length === 0) throw imageRefused("it has no layers");
  if (packed.length > limits.layers) {
    throw imageRefused(`it has ${packed.length} layers; there may be ${limits.layers}`);
  }
  if (inner.length !== packed.length) {
    throw imageRefused("its configuration knows another number of layers than its manifest");
  }
  const layers = packed.map((part, i): Layer => {
    const digest = inner[i];
    if (typeof digest !== "string" || !/^sha256:[0-9a-f]{64}$/.test(digest)) {
      throw imageRefused("its configuration names a layer by something else than sha256");
    }
    return { ...part, inner: digest };
  });
  return { config: readConfig(config["config"]), layers };
}

const ARCHITECTURES: Readonly<Record<string, string>> = {
  x64: "amd64",
  arm64: "arm64",
  ia32: "386",
  arm: "arm",
  riscv64: "riscv64",
  s390x: "s390x",
  ppc64: "ppc64le",
};

function readConfig(value: unknown): ImageConfig {
  const fields = isObject(value) ? value : {};
  const folder = textOf(fields["WorkingDir"], "WorkingDir");
  const env = wordsOf(fields["Env"], "Env");
  if (!env.every((one) => one.indexOf("=") > 0)) throw imageRefused("a variable of it has no name");
  if (folder !== "" && (!folder.startsWith("/") || folder.split("/").includes(".."))) {
    throw imageRefused("its WorkingDir is no whole path");
  }
  return {
    user: textOf(fields["User"], "User"),
    env,
    entrypoint: wordsOf(fields["Entrypoint"], "Entrypoint"),
    words: wordsOf(fields["Cmd"], "Cmd"),
    folder: folder === "" ? "/" : folder,
  };
}

function wordsOf(value: unknown, what: string): string[] {
  if (value === undefined || value === null) return [];
  return listOf(value, what).map((word) => textOf(word, what));
}

function textOf(value: unknown, what: string): string {
  if (value === undefined || value === null) return "";
  if (typeof value !== "string" || value.length > MAX_WORD || value.includes("\0")) {
    throw imageRefused(`its ${what} is no text`);
  }
  return value;
}

function listOf(value: unknown, what: string): readonly unknown[] {
  if (!Array.isArray(value) || value.length > MAX_WORDS)
    throw imageRefused(`its ${what} is no list`);
  return value;
}

function isIndex(type: string): boolean {
  return /^application\/vnd\.(?:oci\.image\.index\.v1|docker\.distribution\.manifest\.list\.v2)\+json$/.test(
    type,
  );
}

function isManifest(type: string): boolean {
  return /^application\/vnd\.(?:oci\.image\.manifest\.v1|docker\.distribution\.manifest\.v2)\+json$/.test(
    type,
  );
}

function plain(value: unknown): string {
  return typeof value === "string" && /^[a-z0-9_]{1,32}$/.test(value) ? value : "something unknown";
}
