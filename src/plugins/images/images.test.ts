// Images that are whole, and images that somebody made to get out of their folder, to fill a disk or to be taken for another.

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, test } from "node:test";
import { gzipSync, zstdCompressSync } from "node:zlib";
import { Failure } from "@holdfast/shared/failure";
import { SystemProgramFiles } from "../../system/program-files.ts";
import { Images } from "./images.ts";
import { IMAGE_LIMITS, type ImageLimits } from "./limits.ts";
import {
  type MadeEntry,
  type MadeImage,
  makeImage,
  type MadeLayer,
  plainLayer,
  tarOf,
} from "./made-image.ts";

const base = mkdtempSync(join(tmpdir(), "holdfast-images-"));
after(() => rmSync(base, { recursive: true, force: true }));
let count = 0;

/** A plugin directory with one image in it, and what unpacks it. */
function placeOf(image: MadeImage, limits: Partial<ImageLimits> = {}) {
  const directory = join(base, String(++count));
  const folder = join(directory, "unpacked");
  const layout = join(directory, "images", "app");
  const put = (path: string, bytes: Uint8Array) => {
    mkdirSync(dirname(join(layout, path)), { recursive: true });
    writeFileSync(join(layout, path), bytes);
  };
  for (const [path, bytes] of image.files) put(path, bytes);
  const parts = {
    files: new SystemProgramFiles(),
    directory,
    folder,
    arch: process.arch,
    limits: { ...IMAGE_LIMITS, reserve: 0, ...limits },
  };
  const images = new Images(parts);
  const take = (sha256 = image.sha256, name = "app") => images.take(name, sha256);
  return { directory, folder, layout, images, put, take, parts };
}

async function refusal(promise: Promise<unknown>): Promise<Failure> {
  try {
    await promise;
  } catch (error) {
    assert.ok(error instanceof Failure, String(error));
    return error;
  }
  assert.fail("it was taken");
}

function imageOf(...layers: (readonly MadeEntry[])[]): MadeImage {
  return makeImage(
    layers.map((entries) => plainLayer(tarOf(entries))),
    {},
    process.arch,
  );
}

function text(content: string): Pick<MadeEntry, "content"> {
  return { content: Buffer.from(content) };
}

/** All that lies below a folder, with what a link says and what a file holds. */
function below(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .toSorted()
    .map((name) => {
      const path = join(folder, name);
      const stats = lstatSync(path);
      if (stats.isSymbolicLink()) return `${name} -> ${readlinkSync(path)}`;
      return stats.isDirectory() ? `${name}/` : `${name} = ${readFileSync(path, "utf8")}`;
    });
}

const OURS = ["dev/", "etc/", "etc/hosts = ", "etc/resolv.conf = ", "proc/", "sys/", "tmp/"];

test("layers lie upon each other, with what is hidden, and rights are those of everybody", async () => {
  const { take, images, folder } = placeOf(
    imageOf(
      [
        { path: "bin/", type: "5" },
        { path: "bin/one", ...text("one"), mode: 0o6711 },
        { path: "bin/two", ...text("two"), mode: 0o600 },
        { path: "bin/uno", type: "1", target: "bin/one" },
        { path: "lib", type: "2", target: "usr/lib" },
        { path: "usr/lib/a", ...text("a") },
        { path: "old/x/y", ...text("y") },
        { path: "emptied/x", ...text("x") },
        { path: `${"long/".repeat(30)}name`, ...text("long") },
      ],
      [
        { path: "./bin/two", ...text("two again") },
        { path: "lib/b", ...text("b") },
        { path: "old/.wh.x" },
        { path: "emptied/kept", ...text("kept") },
        { path: "emptied/.wh..wh..opq" },
        { path: "tmp", type: "2", target: "/etc" },
      ],
    ),
  );
  const image = await take();
  assert.deepEqual(
    below(image.root).filter((line) => !line.startsWith("long/") && !OURS.includes(line)),
    [
      "bin/",
      "bin/one = one",
      "bin/two = two again",
      "bin/uno = one",
      "emptied/",
      "emptied/kept = kept",
      "lib -> usr/lib",
      "lib/a = a", // seen through the link
      "lib/b = b",
      "old/",
      "usr/",
      "usr/lib/",
      "usr/lib/a = a",
      "usr/lib/b = b",
    ],
  );
  for (const line of OURS) assert.ok(below(image.root).includes(line), line);
  assert.equal(readFileSync(join(image.root, `${"long/".repeat(30)}name`), "utf8"), "long");
  assert.equal(statSync(join(image.root, "bin/one")).mode & 0o7777, 0o755, "no set-uid bit");
  assert.equal(statSync(join(image.root, "bin/two")).mode & 0o7777, 0o755);
  assert.equal(statSync(join(image.root, "tmp")).mode & 0o7777, 0o1777);
  assert.equal(statSync(folder).mode & 0o7777, 0o711);
  await image.release();
  await images.close();
  assert.ok(!existsSync(folder));
});

test("an image is unpacked once for all who run it, and goes when others are used", async () => {
  const { take, images, folder } = placeOf(imageOf([{ path: "a", ...text("a") }]));
  const taken = await Promise.all([take(), take(), take()]);
  assert.equal(new Set(taken.map(({ root }) => root)).size, 1);
  assert.equal(readdirSync(folder).length, 1);
  for (const one of taken) await one.release();
  assert.equal((await take()).root, taken[0]?.root, "kept for the next");
  await images.close();
});

test("layers are packed by gzip, by zstd or not at all, in a folder or in one archive of it", async () => {
  const tar = tarOf([{ path: "a", ...text("content") }]);
  const inner = `sha256:${createHash("sha256").update(tar).digest("hex")}`;
  const layers: MadeLayer[] = [
    { bytes: gzipSync(tar), mediaType: "application/vnd.oci.image.layer.v1.tar+gzip", inner },
    {
      bytes: zstdCompressSync(tar),
      mediaType: "application/vnd.oci.image.layer.v1.tar+zstd",
      inner,
    },
    { bytes: gzipSync(tar), mediaType: "application/vnd.docker.image.rootfs.diff.tar.gzip", inner },
  ];
  for (const layer of layers) {
    const { take } = placeOf(makeImage([layer], {}, process.arch));
    assert.equal(readFileSync(join((await take()).root, "a"), "utf8"), "content");
  }
  const image = makeImage(layers.slice(0, 2), {}, process.arch);
  const { layout, images } = placeOf(image);
  rmSync(layout, { recursive: true });
  const entries = [...image.files].map(([path, content]) => ({ path: `./${path}`, content }));
  writeFileSync(`${layout}.tar`, tarOf(entries));
  const { root } = await images.take("app", image.sha256);
  assert.equal(readFileSync(join(root, "a"), "utf8"), "content");
});

test("of several images in a layout the registered one is taken, through indexes of indexes", async () => {
  const [first, second] = [
    imageOf([{ path: "a", ...text("1") }]),
    imageOf([{ path: "a", ...text("2") }]),
  ];
  const { put, take } = placeOf(first);
  for (const [path, bytes] of second.files) if (path.startsWith("blobs/")) put(path, bytes);
  const rows = (image: MadeImage): unknown[] =>
    (
      JSON.parse(Buffer.from(image.files.get("index.json") ?? "").toString()) as {
        manifests: unknown[];
      }
    ).manifests;
  const inner = Buffer.from(JSON.stringify({ manifests: [...rows(first), ...rows(second)] }));
  const digest = createHash("sha256").update(inner).digest("hex");
  put(`blobs/sha256/${digest}`, inner);
  const mediaType = "application/vnd.oci.image.index.v1+json";
  const row = { mediaType, digest: `sha256:${digest}`, size: inner.length };
  put("index.json", Buffer.from(JSON.stringify({ manifests: [row] })));
  assert.equal(readFileSync(join((await take(second.sha256)).root, "a"), "utf8"), "2");
  assert.equal(readFileSync(join((await take(first.sha256)).root, "a"), "utf8"), "1");
});

test("case 151: an image with another digest is refused, and nothing of it is left", async () => {
  const image = imageOf([{ path: "a", ...text("a") }]);
  const { take, folder } = placeOf(image);
  const other = await refusal(take("0".repeat(64)));
  assert.equal(other.code, "plugin-image-other");
  assert.match(
    other.message,
    new RegExp(`holds sha256:${image.sha256}, and sha256:0{64} is registered`),
  );
  assert.equal((await refusal(take(image.sha256, "none"))).code, "plugin-image-missing");
  for (const name of ["../app", "/etc", "app/../app", "", "a b", "app/", "app:1"]) {
    assert.equal((await refusal(take(image.sha256, name))).code, "plugin-image-missing", name);
  }
  assert.deepEqual(readdirSync(folder), []);
});

test("case 151: every part is what its digest says, or the image is refused", async () => {
  const image = imageOf([{ path: "a", ...text("what is in it") }]);
  for (const [path, bytes] of image.files) {
    if (!path.startsWith("blobs/")) continue;
    for (const damaged of [
      Buffer.from(bytes).fill(0x20, bytes.length - 2, bytes.length - 1),
      Buffer.concat([bytes, Buffer.from(" ")]),
      bytes.subarray(0, -1),
      Buffer.alloc(0),
    ]) {
      const { put, take, folder } = placeOf(image);
      put(path, damaged);
      const { code, message } = await refusal(take());
      assert.equal(code, "plugin-image-refused", message);
      assert.match(message, /^plugin image app: .*(?:is damaged|cut off)/);
      assert.deepEqual(readdirSync(folder), []);
    }
    const { layout, take } = placeOf(image);
    rmSync(join(layout, path));
    assert.match((await refusal(take())).message, /it is no OCI layout, or not all of one/);
  }
  const tar = tarOf([{ path: "a", ...text("a") }]);
  const inner = `sha256:${"0".repeat(64)}`;
  const { take } = placeOf(makeImage([{ ...plainLayer(tar), inner }], {}, process.arch));
  assert.match((await refusal(take())).message, /what is in a layer has another digest/);
});

const HOSTILE: readonly (readonly [name: string, entries: readonly MadeEntry[], says: RegExp])[] = [
  ["a name that leads out", [{ path: "../out", ...text("x") }], /leads out of the image/],
  ["one in its middle", [{ path: "a/../../out", ...text("x") }], /leads out of the image/],
  ["a whole path", [{ path: "/etc/out", ...text("x") }], /no name below the image/],
  ["a device", [{ path: "dev/sda", type: "4" }], /is a device/],
  ["a device of characters", [{ path: "dev/mem", type: "3" }], /is a device/],
  ["a pipe", [{ path: "p", type: "6" }], /is a pipe/],
  ["a sparse file", [{ path: "s", type: "S" }], /is a sparse file/],
  ["what nobody knows", [{ path: "s", type: "Z" }], /unknown kind/],
  ["a folder with content", [{ path: "s", type: "5", ...text("x") }], /has content/],
  ["another name of what is outside", [{ path: "p", type: "1", target: "../out" }], /leads out/],
  [
    "another name by a whole path",
    [{ path: "p", type: "1", target: "/etc/passwd" }],
    /no name below/,
  ],
  ["another name of nothing", [{ path: "p", type: "1", target: "nothing" }], /no file in it/],
  ["another name of a folder", [{ path: "p", type: "1", target: "d" }], /no file in it/],
  ["a file below a file", [{ path: "f" }, { path: "f/g" }], /below a file/],
  ["links without end", [{ path: "l", type: "2", target: "l" }, { path: "l/x" }], /too many links/],
  ["what is too deep", [{ path: "d/".repeat(200) + "x" }], /too deep/],
  ["what hides nothing", [{ path: "a/.wh." }], /hides nothing/],
  ["what hides its own folder", [{ path: "a/.wh..." }], /hides nothing/],
];

test("case 152: what leads out of an image, is no file or cannot be read is refused, and leaves nothing", async () => {
  for (const [name, entries, says] of HOSTILE) {
    const { directory, take, folder } = placeOf(imageOf([{ path: "d/", type: "5" }], entries));
    const { code, message } = await refusal(take());
    assert.equal(code, "plugin-image-refused", name);
    assert.match(message, says, name);
    assert.deepEqual(readdirSync(folder), [], name);
    assert.deepEqual(readdirSync(directory).toSorted(), ["images", "unpacked"], name);
  }
});

test("case 152: links in an image are followed inside of it alone", async () => {
  const outside = join(base, "outside");
  mkdirSync(outside, { recursive: true });
  const { take } = placeOf(
    imageOf(
      [
        { path: "whole", type: "2", target: outside },
        { path: "above", type: "2", target: "../../../../../../../../../.." },
        { path: "deep/er/here", type: "2", target: `../../../..${outside}` },
        { path: "chain", type: "2", target: "above" },
      ],
      [
        { path: "whole/a", ...text("a") },
        { path: "chain/b", ...text("b") },
        { path: "deep/er/here/c", ...text("c") },
        { path: "whole/.wh.nothing" },
        { path: "named", type: "1", target: "whole/a" },
      ],
    ),
  );
  const { root } = await take();
  assert.deepEqual(readdirSync(outside), []);
  const inside = join(root, outside.slice(1));
  assert.deepEqual(readdirSync(inside).toSorted(), ["a", "c"]);
  assert.equal(readFileSync(join(root, "b"), "utf8"), "b");
  assert.equal(readFileSync(join(root, "named"), "utf8"), "a");
  chmodSync(root, 0o755);
});

test("T-H10: bombs end at their limit and leave nothing on the disk", async () => {
  const large = tarOf([{ path: "a", content: Buffer.alloc(8 * 2 ** 20) }]);
  const inner = plainLayer(large).inner;
  const bomb = makeImage(
    [{ bytes: gzipSync(large), mediaType: "application/vnd.oci.image.layer.v1.tar+gzip", inner }],
    {},
    process.arch,
  );
  const many = imageOf(Array.from({ length: 200 }, (_, i) => ({ path: `f${i}` })));
  const rows: [MadeImage, Partial<ImageLimits>, RegExp][] = [
    [bomb, { slack: 2 ** 20 }, /more than 100 times as large/],
    [bomb, { ratio: 10_000, bytes: 2 ** 20 }, /more than 1048576 bytes/],
    [bomb, { ratio: 10_000, reserve: 2 ** 60 }, /too little room/],
    [many, { entries: 100 }, /more than 100 entries/],
    [many, { nameBytes: 100 }, /names in it are too long/],
    [many, { document: 10 }, /a document (?:in it has more than|may have) 10/],
    [imageOf([], [], []), { layers: 2 }, /3 layers; there may be 2/],
    [imageOf([], [], []), { manifests: 1 }, /more than 1 manifests/],
  ];
  for (const [image, limits, says] of rows) {
    const { take, folder } = placeOf(image, limits);
    const { code, message } = await refusal(take());
    assert.equal(code, "plugin-image-refused");
    assert.match(message, says);
    assert.deepEqual(readdirSync(folder), []);
  }
});

test("documents that are none, and images for other machines, are refused", async () => {
  const image = imageOf([{ path: "a" }]);
  const indexes: [unknown, RegExp][] = [
    ["no document", /no document that describes an image/],
    [[], /no document that describes an image/],
    [{}, /manifests is no list/],
    [{ manifests: [{}] }, /without its digest/],
    [{ manifests: [{ digest: "sha256:../../x", size: 1 }] }, /something else than sha256/],
    [{ manifests: [{ digest: "sha512:00", size: 1 }] }, /something else than sha256/],
    [{ manifests: [] }, /holds no image/],
  ];
  for (const [index, says] of indexes) {
    const { put, take } = placeOf(image);
    put("index.json", Buffer.from(JSON.stringify(index)));
    assert.match((await refusal(take())).message, says);
  }
  const foreign = makeImage([plainLayer(tarOf([]))], {}, "mips");
  assert.match(
    (await refusal(placeOf(foreign).take())).message,
    /it is for linux on mips, and this/,
  );
  for (const config of [
    { Env: ["=x"] },
    { Env: "x" },
    { Entrypoint: [1] },
    { WorkingDir: "../x" },
    { User: "a\0b" },
  ]) {
    const made = makeImage([plainLayer(tarOf([]))], config, process.arch);
    assert.equal((await refusal(placeOf(made).take())).code, "plugin-image-refused");
  }
});

test("archives with any byte of them changed are read or refused, and never leave their folder", async () => {
  const entries: MadeEntry[] = [
    { path: "d/", type: "5" },
    { path: "d/a", ...text("content of a") },
    { path: "l", type: "2", target: "d/a" },
    { path: "n", type: "1", target: "d/a" },
    { path: `d/${"long".repeat(30)}`, ...text("x") },
  ];
  const whole = tarOf(entries);
  let taken = 0;
  let refused = 0;
  let seed = 1;
  const random = (below: number) => {
    seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31;
    return seed % below;
  };
  for (let round = 0; round < 60; round++) {
    const tar = Buffer.from(whole);
    for (let i = 0; i <= round % 4; i++) {
      const at = random(tar.length);
      tar[at] = [0, 0x2f, 0x2e, 0xff, 0x37][random(5)] ?? 0;
      mendSum(tar, Math.floor(at / 512) * 512);
    }
    const { directory, take, folder, images } = placeOf(
      makeImage([plainLayer(tar)], {}, process.arch),
    );
    try {
      await take();
      taken++;
    } catch (error) {
      assert.ok(error instanceof Failure, `round ${round}: ${String(error)}`);
      refused++;
      assert.deepEqual(readdirSync(folder), []);
    }
    assert.deepEqual(readdirSync(directory).toSorted(), ["images", "unpacked"]);
    await images.close();
    rmSync(directory, { recursive: true });
  }
  assert.ok(taken > 5 && refused > 20, `${taken} taken, ${refused} refused`);
});

/** So that a change is seen behind the sum, too. */
function mendSum(tar: Buffer, at: number): void {
  if (tar.toString("latin1", at + 257, at + 262) !== "ustar") return;
  tar.fill(0x20, at + 148, at + 156);
  let sum = 0;
  for (const byte of tar.subarray(at, at + 512)) sum += byte;
  tar.write(`${sum.toString(8).padStart(6, "0")}\0`, at + 148, "latin1");
}
