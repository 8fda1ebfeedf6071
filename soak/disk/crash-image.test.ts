import assert from "node:assert/strict";
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { finalTree, imageAt, images, parsePoint, readTree, writeImage } from "./crash-image.ts";
import { CHOICES } from "./lossy-disk.ts";
import type { TraceRecord } from "./trace.ts";

/** A log that is appended to, synced and acknowledged, as a sound program does it. */
function log(entries: number, order: "sync first" | "acknowledge first"): TraceRecord[] {
  const open = { created: false, truncated: false, directory: false };
  const trace: TraceRecord[] = [
    { type: "open", handle: 1, path: "log", ...open, created: true },
    { type: "open", handle: 2, path: "", ...open, directory: true },
    { type: "sync", handle: 2 },
  ];
  for (let i = 0; i < entries; i++) {
    const line = Buffer.from(`${i}\n`);
    const sync: TraceRecord = { type: "sync", handle: 1 };
    const ack: TraceRecord = { type: "ack", text: String(i) };
    trace.push({ type: "write", handle: 1, offset: i * 2, data: line, cut: false });
    trace.push(...(order === "sync first" ? [sync, ack] : [ack, sync]));
  }
  return trace;
}

function lost(trace: readonly TraceRecord[], seed: number): number {
  let count = 0;
  for (const image of images(trace, { seed, count: 100 })) {
    const lines = image.files.get("log")?.toString("latin1").split("\n") ?? [];
    if (!image.acks.every((ack) => lines.includes(ack))) count++;
  }
  return count;
}

test("no image of a program that syncs before it acknowledges lacks an acknowledged entry", () => {
  assert.equal(lost(log(9, "sync first"), 1), 0);
});

test("some images of a program that acknowledges before it syncs lack an acknowledged entry", () => {
  assert.ok(lost(log(9, "acknowledge first"), 1) > 0);
});

test("an image names exactly what was acknowledged before its crash, in order", () => {
  const trace = log(9, "sync first");
  for (const { acks, point } of images(trace, { seed: 3, count: 60 })) {
    const before = trace.slice(0, point.position).filter((record) => record.type === "ack");
    assert.deepEqual(
      acks,
      before.map((record) => record.text),
    );
  }
});

test("the same seed gives the same images and another seed others", () => {
  const trace = log(9, "acknowledge first");
  const once = [...images(trace, { seed: 5, count: 50 })];
  assert.deepEqual([...images(trace, { seed: 5, count: 50 })], once);
  const other = [...images(trace, { seed: 6, count: 50 })];
  assert.notDeepEqual(
    other.map((image) => image.files),
    once.map((image) => image.files),
  );
});

test("a description is enough to make its image again", () => {
  const trace = log(9, "acknowledge first");
  for (const image of images(trace, { seed: 7, count: 40 })) {
    assert.deepEqual(imageAt(trace, parsePoint(image.description)), image);
  }
  assert.throws(() => parsePoint("seed=1 position=2 choice=wet draw=3"), /not a crash point/);
});

test("exactly as many images as asked for come, in order of position", () => {
  for (const count of [0, 1, 7, 1000]) {
    const points = [...images(log(3, "sync first"), { seed: 1, count })].map((i) => i.point);
    assert.equal(points.length, count);
    assert.deepEqual(
      points.toSorted((a, b) => a.position - b.position),
      points,
    );
    assert.equal(new Set(points.map((point) => point.draw)).size, count);
  }
});

test("every sync and every acknowledgement is visited, the risky ones with every choice", () => {
  const trace = log(5, "sync first");
  const visited = new Set<string>();
  for (const { point } of images(trace, { seed: 2, count: 200 })) {
    visited.add(`${point.position} ${point.choice}`);
  }
  trace.forEach((record, i) => {
    if (record.type === "sync") {
      for (const choice of CHOICES) assert.ok(visited.has(`${i} ${choice}`), `${i} ${choice}`);
    }
    // After an acknowledgement nothing is at risk here, so one image says it all.
    if (record.type === "ack") assert.ok(visited.has(`${i + 1} none`), `${i + 1}`);
  });
});

test("what was there before the trace is in the images", () => {
  const open = { created: false, truncated: false, directory: false };
  const initial = {
    files: new Map([["a/old", Buffer.from("before")]]),
    directories: ["a"],
  };
  const trace: TraceRecord[] = [
    { type: "open", handle: 1, path: "a/old", ...open },
    { type: "write", handle: 1, offset: 0, data: Buffer.from("B"), cut: false },
  ];
  const seen = new Set<string>();
  for (const image of images(trace, { seed: 1, count: 20, initial })) {
    seen.add(image.files.get("a/old")?.toString() ?? "nothing");
  }
  assert.deepEqual([...seen].toSorted(), ["Before", "before"]);
  assert.throws(() => finalTree(trace), /pass the initial tree/);
});

test("an image on disk can be read by its owner alone and holds the same files", (t) => {
  const place = mkdtempSync(join(tmpdir(), "hf-image-"));
  t.after(() => rmSync(place, { recursive: true }));
  const image = {
    files: new Map([
      ["data.db", Buffer.from("d")],
      ["lock.db", Buffer.alloc(0)],
      ["audit/log", Buffer.from("a")],
    ]),
    directories: ["audit", "empty"],
  };
  const directory = join(place, "image");
  writeImage(image, directory);
  const back = readTree(directory);
  assert.deepEqual(back.files, image.files); // whatever the order of names
  assert.deepEqual(back.directories.toSorted(), image.directories);
  for (const path of ["", "audit", "empty"]) {
    assert.equal(statSync(join(directory, path)).mode & 0o777, 0o700);
  }
  for (const path of image.files.keys()) {
    assert.equal(statSync(join(directory, path)).mode & 0o777, 0o600);
  }
});
