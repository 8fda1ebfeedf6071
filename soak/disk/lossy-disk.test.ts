import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { Prng } from "../../sim/prng.ts";
import { CHOICES, LossyDisk, type Choice, type Tree } from "./lossy-disk.ts";
import { TraceError, type TraceRecord } from "./trace.ts";

const flags = { created: false, truncated: false, directory: false };

function create(handle: number, path: string): TraceRecord {
  return { type: "open", handle, path, ...flags, created: true };
}

function openDirectory(handle: number, path = ""): TraceRecord {
  return { type: "open", handle, path, ...flags, directory: true };
}

function write(handle: number, offset: number, data: string | Buffer): TraceRecord {
  return { type: "write", handle, offset, data: Buffer.from(data), cut: false };
}

function sync(handle: number): TraceRecord {
  return { type: "sync", handle };
}

function failedSync(handle: number): TraceRecord {
  return { type: "failed", call: "sync", handle, path: null, error: "EIO", injected: true };
}

/** An existing, durable file "f" open as 1 and the directory open as 9. */
function start(contents: string | Buffer): TraceRecord[] {
  return [openDirectory(9), create(1, "f"), write(1, 0, contents), sync(1), sync(9)];
}

function crash(trace: readonly TraceRecord[], choice: Choice, seed = 1): Tree {
  const disk = new LossyDisk();
  for (const record of trace) disk.apply(record);
  return disk.afterCrash(choice, new Prng(seed));
}

/** Every distinct outcome of many crashes at the end, as text. */
function outcomes(trace: readonly TraceRecord[], ...choices: Choice[]): string[] {
  const seen = new Set<string>();
  for (const choice of choices) {
    for (let seed = 0; seed < 300; seed++) seen.add(text(crash(trace, choice, seed)));
  }
  return [...seen].toSorted();
}

function text({ files }: Tree): string {
  const parts = [...files].map(([path, bytes]) => `${path}=${bytes.toString("latin1")}`);
  return parts.toSorted().join(" ");
}

test("a write that was not synced may be lost or kept", () => {
  const trace = [...start("old"), write(1, 0, "new")];
  assert.equal(text(crash(trace, "none")), "f=old");
  assert.equal(text(crash(trace, "all")), "f=new");
  assert.deepEqual(outcomes(trace, "subset"), ["f=new", "f=old"]);
});

test("a synced write is in every image", () => {
  const trace = [...start("old"), write(1, 0, "new"), sync(1)];
  assert.deepEqual(outcomes(trace, ...CHOICES), ["f=new"]);
});

test("a sync makes one file durable and not another", () => {
  const trace = [
    ...start("old"),
    create(2, "g"),
    sync(9),
    write(1, 0, "new"),
    write(2, 0, "x"),
    sync(2),
  ];
  assert.deepEqual(outcomes(trace, "none", "all"), ["f=new g=x", "f=old g=x"]);
});

test("the name of a new file is durable only after a sync of its directory", () => {
  const trace = [openDirectory(9), create(1, "f"), write(1, 0, "x"), sync(1)];
  assert.deepEqual(outcomes(trace, ...CHOICES), ["", "f=x"]);
  assert.deepEqual(outcomes([...trace, sync(9)], ...CHOICES), ["f=x"]);
});

test("with a prefix everything before some moment is there and nothing after it", () => {
  const trace = [...start(""), create(2, "g"), sync(9)];
  trace.push(write(1, 0, "1"), write(2, 0, "2"), write(1, 1, "3"), write(2, 1, "4"));
  const wanted = ["f= g=", "f=1 g=", "f=1 g=2", "f=13 g=2", "f=13 g=24"];
  assert.deepEqual(outcomes(trace, "prefix"), wanted);
});

test("a subset may hold a later write without an earlier one", () => {
  const trace = [...start("...."), write(1, 0, "1"), write(1, 1, "2")];
  assert.deepEqual(outcomes(trace, "subset"), ["f=....", "f=.2..", "f=1...", "f=12.."]);
});

test("a torn write is new or old in each whole sector and leaves its neighbours alone", () => {
  const trace = [...start(Buffer.alloc(2048, "o")), write(1, 100, Buffer.alloc(1000, "n"))];
  const short = outcomes(trace, "torn").map((image) =>
    image.slice(2).replaceAll(/(.)\1*/g, (run, letter) => `${letter}${run.length}`),
  );
  assert.deepEqual(
    short.toSorted(),
    [
      // Sectors of the write: 100–512, 512–1024, 1024–1100.
      "o100n1000o948",
      "o100n412o1536",
      "o100n412o512n76o948",
      "o100n924o1024",
      "o1024n76o948",
      "o2048",
      "o512n512o1024",
      "o512n588o948",
    ].toSorted(),
  );
});

test("lost sectors beyond the old end are absent, zero or garbage", () => {
  const trace = [...start("old"), write(1, 0, Buffer.alloc(1024, "n"))];
  const kinds = new Set<string>();
  for (let seed = 0; seed < 300; seed++) {
    const file = crash(trace, "torn", seed).files.get("f") ?? assert.fail("no file");
    const tail = file.subarray(512);
    const known = file.length <= 512 ? "absent" : tail.every((b) => b === 0) ? "zero" : "other";
    kinds.add(known === "other" && tail.every((b) => b === 0x6e) ? "new" : known);
    const first = file.toString("latin1", 0, 3);
    assert.ok(first === "old" || first === "nnn", "what was durable is never garbage");
  }
  assert.deepEqual([...kinds].toSorted(), ["absent", "new", "other", "zero"]);
});

test("a truncation may be lost until it is synced", () => {
  const trace: TraceRecord[] = [...start("long"), { type: "truncate", handle: 1, size: 1 }];
  assert.deepEqual(outcomes(trace, ...CHOICES), ["f=l", "f=long"]);
  assert.deepEqual(outcomes([...trace, sync(1)], ...CHOICES), ["f=l"]);
  const longer: TraceRecord[] = [...trace, { type: "allocate", handle: 1, offset: 1, length: 2 }];
  assert.equal(text(crash(longer, "all")), "f=l\0\0", "bytes cut off do not come back");
});

test("opening with truncation is a truncation", () => {
  const open: TraceRecord = { type: "open", handle: 2, path: "f", ...flags, truncated: true };
  assert.deepEqual(outcomes([...start("old"), open], ...CHOICES), ["f=", "f=old"]);
});

test("after a failed sync a later one that succeeds says nothing about what it covered", () => {
  const trace = [...start(".."), write(1, 0, "1"), failedSync(1), write(1, 1, "2"), sync(1)];
  assert.deepEqual(outcomes(trace, ...CHOICES), ["f=.2", "f=12"]);
});

test("a write after a failed sync covers the doubtful one below it", () => {
  const trace = [...start("."), write(1, 0, "1"), failedSync(1), write(1, 0, "2"), sync(1)];
  assert.deepEqual(outcomes(trace, ...CHOICES), ["f=2"]);
});

test("a rename shows the old file or the new one, never neither", () => {
  const trace: TraceRecord[] = [...start("old"), create(2, "t"), write(2, 0, "new"), sync(2)];
  trace.push({ type: "rename", from: "t", to: "f" });
  assert.deepEqual(outcomes(trace, ...CHOICES), ["f=new", "f=old", "f=old t=new"]);
  assert.deepEqual(outcomes([...trace, sync(9)], ...CHOICES), ["f=new"]);
});

test("a rename may become durable before the contents of the file", () => {
  const trace: TraceRecord[] = [...start("old"), create(2, "t"), write(2, 0, "new")];
  trace.push({ type: "rename", from: "t", to: "f" });
  assert.ok(outcomes(trace, "subset").includes("f="));
});

test("a file moved to another directory has exactly one name in every image", () => {
  const trace: TraceRecord[] = [...start("x"), { type: "mkdir", path: "a" }, sync(9)];
  trace.push(openDirectory(8, "a"), create(2, "other"), create(3, "a/other"));
  trace.push({ type: "rename", from: "f", to: "a/f" });
  for (const image of outcomes(trace, ...CHOICES)) {
    assert.equal(image.match(/f=x/g)?.length, 1, image);
  }
  // Syncing either directory makes the move durable, with what came before it in the other.
  assert.deepEqual(outcomes([...trace, sync(8)], ...CHOICES), ["a/f=x a/other= other="]);
  assert.deepEqual(outcomes([...trace, sync(9)], ...CHOICES), ["a/f=x a/other= other="]);
});

test("what lies in a directory that was lost is lost with it", () => {
  const trace: TraceRecord[] = [
    { type: "mkdir", path: "a" },
    create(1, "a/f"),
    openDirectory(8, "a"),
  ];
  trace.push(sync(1), sync(8));
  assert.deepEqual(crash(trace, "none"), { files: new Map(), directories: [] });
  assert.deepEqual(crash(trace, "all").directories, ["a"]);
});

test("a removed file may come back until its directory is synced", () => {
  const trace: TraceRecord[] = [...start("x"), { type: "unlink", path: "f" }];
  assert.deepEqual(outcomes(trace, ...CHOICES), ["", "f=x"]);
  assert.deepEqual(outcomes([...trace, sync(9)], ...CHOICES), [""]);
});

test("a file removed and made again is a different file", () => {
  const trace: TraceRecord[] = [...start("first"), { type: "unlink", path: "f" }, create(2, "f")];
  trace.push(write(2, 0, "second"), sync(2));
  assert.deepEqual(outcomes(trace, ...CHOICES), ["", "f=first", "f=second"]);
});

test("two names of one file show the same contents", () => {
  const trace: TraceRecord[] = [...start("x"), { type: "link", from: "f", to: "g" }, sync(9)];
  trace.push(write(1, 0, "y"), sync(1));
  assert.deepEqual(outcomes(trace, ...CHOICES), ["f=y g=y"]);
});

test("the index that SQLite rebuilds is in no image", () => {
  const trace = [openDirectory(9), create(1, "data.db-shm"), write(1, 0, "x"), sync(9)];
  assert.deepEqual(outcomes(trace, ...CHOICES), [""]);
});

test("a trace that cannot have happened is refused", () => {
  const impossible: TraceRecord[][] = [
    [write(1, 0, "x")],
    [create(1, "f"), { type: "close", handle: 1 }, sync(1)],
    [create(1, "f"), create(2, "f")],
    [{ type: "unlink", path: "f" }],
    [{ type: "rename", from: "f", to: "g" }],
    [create(1, "a/f")],
    [create(1, "f"), openDirectory(2, "f")],
  ];
  for (const trace of impossible) assert.throws(() => crash(trace, "all"), TraceError);
});

test("for any trace: nothing at risk means one image, and a synced trace is never at risk", () => {
  const step = fc.oneof(
    fc
      .record({ offset: fc.nat(3000), length: fc.nat(2000) })
      .map(({ offset, length }) => write(1, offset, Buffer.alloc(length, offset % 251))),
    fc.nat(4000).map((size): TraceRecord => ({ type: "truncate", handle: 1, size })),
    fc.constant(sync(1)),
  );
  const property = fc.property(
    fc.array(step),
    fc.nat(),
    fc.constantFrom(...CHOICES),
    (steps, seed, choice) => {
      const trace = [...start("old"), ...steps, sync(1)];
      assert.deepEqual(crash(trace, choice, seed), crash(trace, "all"));
      // Against a plain array of bytes: the model keeps what the process wrote.
      let plain = Buffer.from("old");
      for (const record of steps) {
        if (record.type === "sync") continue;
        const end = record.type === "write" ? record.offset + record.data.length : 0;
        const size = record.type === "truncate" ? record.size : Math.max(plain.length, end);
        const isEmpty = record.type === "write" && record.data.length === 0;
        if (isEmpty) continue;
        plain = Buffer.concat([plain, Buffer.alloc(Math.max(0, size - plain.length))]).subarray(
          0,
          size,
        );
        if (record.type === "write") plain.set(record.data, record.offset);
      }
      assert.deepEqual(crash(trace, "none", seed).files.get("f"), Buffer.from(plain));
    },
  );
  fc.assert(property, { numRuns: 200 });
});
