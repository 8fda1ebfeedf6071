// `holdfast evidence list`, `read` and `keys`.

import * as evidence from "@holdfast/client/api/evidence";
import { isObject, type JsonValue } from "@holdfast/shared/json/json";
import { readKeyList } from "../../signed/key-list.ts";
import { ApiError } from "@holdfast/client/api-error";
import { command } from "../command.ts";
import { argument } from "../line/argument.ts";
import { flag } from "../line/flag.ts";
import { longTime } from "../terminal/relative-time.ts";

export const evidenceList = command({
  name: "evidence list",
  summary: "List the reports that the server has signed",
  description:
    "The oldest first, of this namespace. They are kept for 400 days, and 64 MiB of them.",
  examples: ["holdfast evidence list", "holdfast evidence list -after 120"],
  flags: {
    after: flag.string("Only those after this number or id", "NUMBER"),
    limit: flag.integer("How many at most", { min: 1, max: 1000 }),
  },
  args: {},
  async run({ client, out }, { after, limit }) {
    try {
      const { data } = await evidence.listEvidence(client, { after, limit });
      const rows = data.keys.map((id) => {
        const info = data.key_info?.[id];
        const { number, kind, made_at: made } = isObject(info) ? info : {};
        return [number, kind, made, id];
      });
      await out.show(data, { columns: ["Number", "Kind", "Made", "Id"], rows, whole: ["Id"] });
      return 0;
    } catch (error) {
      if (!(error instanceof ApiError) || error.kind !== "not-found") throw error;
      out.hint("No evidence found.");
      return 3;
    }
  },
});

export const evidenceRead = command({
  name: "evidence read",
  summary: "Read a report, to look at it or to keep it",
  description:
    "-format json prints the answer with its envelope: what `holdfast evidence verify` checks, on any " +
    "machine and at any time.",
  examples: ["holdfast evidence read 17", "holdfast evidence read -format json 17 > report.json"],
  flags: {},
  args: { id: argument.required("Its number or id, as in `holdfast evidence list`") },
  async run({ client, out, clock }, { id }) {
    const { data } = await evidence.readEvidence(client, { id });
    const { report } = data;
    const notProven = Array.isArray(report["not_proven"]) ? report["not_proven"] : [];
    const result = isObject(report["result"]) ? report["result"]["state"] : undefined;
    await out.show(data, {
      pairs: [
        ["Number", data.number],
        ["Id", data.id],
        ["Kind", data.kind],
        ["Made", longTime(data.made_at, clock.now())],
        ["Result", result],
        ["Statement", report["statement"]],
        ...notProven.map((text, i): [string, typeof text] => [i === 0 ? "Not Proven" : "", text]),
        ["Digest", data.digest],
      ],
    });
  },
});

export const evidenceKeys = command({
  name: "evidence keys",
  summary: "Read the public keys that evidence is checked with",
  description:
    "Needs no token. The fingerprint of any of them is what an auditor notes: from one key all others " +
    "can be followed, as each new one was signed by the one before it.",
  examples: ["holdfast evidence keys", "holdfast evidence keys -format json > keys.json"],
  flags: {},
  args: {},
  async run({ client, out }) {
    const { data } = await evidence.readEvidenceKeys(client.inRoot());
    const known = readKeyList(data as unknown as JsonValue).keys;
    const rows = data.keys.map(({ fingerprint, made_at: made }, i) => {
      // A key that leads to itself alone is the first, or one that no key before it has named.
      const isLinked = i === 0 || known.get(fingerprint)?.root !== fingerprint;
      const state = i === data.keys.length - 1 ? "signs" : "retired";
      return [fingerprint, made, state, i === 0 ? "first" : isLinked ? "linked" : "broken"];
    });
    const columns = ["Fingerprint", "Made", "State", "Chain"];
    await out.show(data, { columns, rows, whole: ["Fingerprint"] });
    if (rows.some((row) => row.at(-1) === "broken")) {
      out.hint(
        "Broken: no key before it has named it. Note its fingerprint anew, from a source that you trust.",
      );
    }
  },
});
