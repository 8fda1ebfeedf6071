// What somebody who has the disk can do to what was carried there.

import { CLEAR, type KeptGenerations } from "../../support/stores/kept-generations.ts";
import { payloadOf, type WireEnvelope } from "./evidence-stage.ts";
import { WAITING } from "./exchanged-server.ts";
import { ForgedSet } from "./forged-set.ts";

const SEALED = `${CLEAR}sealed/`;
export const REPORT = `${CLEAR}rows/reports/000000000003`;

export interface Tampering {
  readonly name: string;
  readonly change: (kept: KeptGenerations) => void;
  /** What a process that holds nothing still finds. */
  readonly letter?: false;
  readonly ring?: false;
  /** Whether the rows are those that were signed for. */
  readonly rows?: false;
  /** Leases that cannot be taken over, by who holds their key. */
  readonly lost?: number;
}

const json = (kept: KeptGenerations, key: string) =>
  JSON.parse(Buffer.from(kept.disk.rows.get(key)!).toString()) as Record<string, unknown>;
const put = (kept: KeptGenerations, key: string, value: unknown) =>
  kept.write([{ key, value: Buffer.from(JSON.stringify(value)) }]);
export const remove = (kept: KeptGenerations, keys: readonly string[]) =>
  kept.write(keys.map((key) => ({ key, value: null })));
export const sealedRows = (kept: KeptGenerations) =>
  kept.clear.filter((key) => key.startsWith(SEALED));
export const STRANGE = ["rows//x", "rows/a\u0001b", `rows/${"x".repeat(5000)}`, "rows/reports/7/"];
export const STRANGE_SEALED = [
  "sealed//x",
  "sealed/leases/records/z\u0001",
  `sealed/leases/records/${"x".repeat(5000)}`,
  "zzz",
  "/",
];
const LONG = Buffer.alloc(3 << 20, 7);

export const TAMPERINGS: readonly Tampering[] = [
  { name: "nothing", change: () => {} },
  { name: "the letter removed", change: (kept) => remove(kept, [`${CLEAR}letter`]), letter: false },
  { name: "the letter changed", change: (kept) => kept.change(`${CLEAR}letter`), letter: false },
  {
    name: "the letter too long",
    change: (kept) => kept.write([{ key: `${CLEAR}letter`, value: LONG }]),
    letter: false,
  },
  {
    name: "the letter padded",
    change: (kept) => {
      const value = Buffer.from(kept.disk.rows.get(`${CLEAR}letter`)!);
      kept.write([
        { key: `${CLEAR}letter`, value: Buffer.concat([value, Buffer.alloc(1 << 20, " ")]) },
      ]);
    },
    letter: false,
  },
  {
    name: "another number in the letter",
    change: (kept) => {
      const envelope = json(kept, `${CLEAR}letter`) as unknown as WireEnvelope;
      const payload = Buffer.from(JSON.stringify({ ...payloadOf(envelope), number: 3 }));
      put(kept, `${CLEAR}letter`, { ...envelope, payload: payload.toString("base64") });
    },
    letter: false,
  },
  { name: "a row removed", change: (kept) => remove(kept, [REPORT]), rows: false },
  { name: "a row changed", change: (kept) => kept.change(REPORT), rows: false },
  {
    name: "a row added",
    change: (kept) => kept.write([{ key: `${CLEAR}rows/ids/a`, value: Buffer.from("1") }]),
    rows: false,
  },
  ...STRANGE.map((name) => ({
    name: `a strange name ${JSON.stringify(name.slice(0, 20))}`,
    change: (kept: KeptGenerations) => kept.write([{ key: CLEAR + name, value: Buffer.from("x") }]),
    rows: false as const,
  })),
  ...STRANGE_SEALED.map((name) => ({
    name: `a strange name ${JSON.stringify(name.slice(0, 40))}`,
    change: (kept: KeptGenerations) => kept.write([{ key: CLEAR + name, value: Buffer.from("x") }]),
  })),
  {
    name: "a long value",
    change: (kept) => kept.write([{ key: `${CLEAR}rows/ids/b`, value: LONG }]),
    rows: false,
  },
  {
    name: "a long sealed value",
    change: (kept) => kept.write([{ key: `${SEALED}leases/records/root/x`, value: LONG }]),
  },
  {
    name: "a private half",
    change: (kept) =>
      kept.write([{ key: `${CLEAR}rows/secrets/${"ab".repeat(32)}`, value: Buffer.from("half") }]),
    rows: false,
  },
  {
    name: "another number in the head",
    change: (kept) =>
      put(kept, `${CLEAR}rows/head`, { ...json(kept, `${CLEAR}rows/head`), number: 2 }),
    rows: false,
  },
  {
    name: "another ring",
    change: (kept) => put(kept, `${CLEAR}rows/ring`, new ForgedSet().ring),
    rows: false,
    ring: false,
  },
  {
    name: "a key of somebody else in the ring",
    change: (kept) => {
      const ring = json(kept, `${CLEAR}rows/ring`) as { keys: unknown[] };
      put(kept, `${CLEAR}rows/ring`, {
        ...ring,
        keys: [...new ForgedSet().ring.keys, ...ring.keys],
      });
    },
    rows: false,
  },
  { name: "sealed rows removed", change: (kept) => remove(kept, sealedRows(kept)), lost: WAITING },
  {
    name: "a sealed row changed",
    change: (kept) => kept.change(sealedRows(kept)[0] ?? ""),
    lost: 1,
  },
  {
    name: "a sealed row under another name",
    change: (kept) => {
      const [first = ""] = sealedRows(kept);
      const value = Buffer.from(kept.disk.rows.get(first) ?? []);
      kept.write([{ key: `${first}x`, value }]);
    },
  },
  {
    name: "everything removed",
    change: (kept) => kept.replaceClear([]),
    letter: false,
    rows: false,
    lost: WAITING,
  },
];
