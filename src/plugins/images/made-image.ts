// Images that are made here: of few files, for trying whether they can be run.

import { createHash } from "node:crypto";
import { concat, utf8 } from "@holdfast/shared/bytes";

const BLOCK = 512;

export interface MadeEntry {
  readonly path: string;
  /** As archives have it: "0" a file, "1" another name, "2" a link, "5" a folder. Default: a file. */
  readonly type?: string;
  readonly mode?: number;
  readonly target?: string;
  readonly content?: Uint8Array;
}

export function tarOf(entries: readonly MadeEntry[]): Buffer {
  return concat(...entries.flatMap(entryOf), Buffer.alloc(2 * BLOCK));
}

function entryOf({ path, type = "0", mode = 0o755, target = "", content }: MadeEntry): Buffer[] {
  const bytes = content ?? Buffer.alloc(0);
  const name = utf8(path);
  const head = Buffer.alloc(BLOCK);
  const said: Buffer[] = [];
  if (name.length > 100) {
    const long = Buffer.alloc(Math.ceil((name.length + 1) / BLOCK) * BLOCK);
    name.copy(long);
    said.push(headOf("L", "././@LongLink", name.length + 1, 0), long);
  }
  headOf(type, path, bytes.length, mode, target).copy(head);
  return [
    ...said,
    head,
    Buffer.from(bytes),
    Buffer.alloc((BLOCK - (bytes.length % BLOCK)) % BLOCK),
  ];
}

function headOf(type: string, path: string, size: number, mode: number, target = ""): Buffer {
  const head = Buffer.alloc(BLOCK);
  const octal = (value: number, at: number, digits: number) =>
    head.write(`${value.toString(8).padStart(digits, "0")}\0`, at, "latin1");
  utf8(path).copy(head, 0, 0, 100);
  octal(mode, 100, 7);
  octal(0, 108, 7);
  octal(0, 116, 7);
  octal(size, 124, 11);
  octal(0, 136, 11);
  head.fill(0x20, 148, 156);
  head.write(type, 156, "latin1");
  utf8(target).copy(head, 157, 0, 100);
  head.write("ustar\0" + "00", 257, "latin1");
  let sum = 0;
  for (const byte of head) sum += byte;
  octal(sum, 148, 6);
  return head;
}

export interface MadeLayer {
  /** As it lies in the image. */
  readonly bytes: Uint8Array;
  readonly mediaType: string;
  /** Digest of what is in it, unpacked. */
  readonly inner: string;
}

export function plainLayer(tar: Uint8Array): MadeLayer {
  return {
    bytes: tar,
    mediaType: "application/vnd.oci.image.layer.v1.tar",
    inner: `sha256:${sumOf(tar)}`,
  };
}

export interface MadeImage {
  /** Of its configuration: what is registered. */
  readonly sha256: string;
  /** By their paths in the layout. */
  readonly files: ReadonlyMap<string, Uint8Array>;
}

const ARCHITECTURES: Readonly<Record<string, string>> = { x64: "amd64" };

/** `config` as images have it: User, Env, Entrypoint, Cmd, WorkingDir. */
export function makeImage(layers: readonly MadeLayer[], config: object, arch: string): MadeImage {
  const files = new Map<string, Uint8Array>();
  const keep = (bytes: Uint8Array, mediaType: string) => {
    const digest = sumOf(bytes);
    files.set(`blobs/sha256/${digest}`, bytes);
    return { mediaType, digest: `sha256:${digest}`, size: bytes.length };
  };
  const configPart = keep(
    json({
      architecture: ARCHITECTURES[arch] ?? arch,
      os: "linux",
      config,
      rootfs: { type: "layers", diff_ids: layers.map(({ inner }) => inner) },
    }),
    "application/vnd.oci.image.config.v1+json",
  );
  const manifest = keep(
    json({
      schemaVersion: 2,
      mediaType: "application/vnd.oci.image.manifest.v1+json",
      config: configPart,
      layers: layers.map(({ bytes, mediaType }) => keep(bytes, mediaType)),
    }),
    "application/vnd.oci.image.manifest.v1+json",
  );
  files.set("index.json", json({ schemaVersion: 2, manifests: [manifest] }));
  files.set("oci-layout", json({ imageLayoutVersion: "1.0.0" }));
  return { sha256: configPart.digest.slice("sha256:".length), files };
}

function json(value: object): Buffer {
  return utf8(JSON.stringify(value));
}

function sumOf(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}
