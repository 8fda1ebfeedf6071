// `holdfast doctor`

import { command } from "../command.ts";
import { examine } from "../examination.ts";

export const doctor = command({
  name: "doctor",
  summary: "Check address, TLS, seal, clock, token, audit and versions, and say what to do",
  description: "Changes nothing. Exit code 1 when something is wrong.",
  examples: ["holdfast doctor", "holdfast doctor -format json"],
  flags: {},
  args: {},
  async run(context) {
    const findings = await examine(context);
    const data = findings.map((finding) => ({ ...finding }));
    await context.out.show(data, {
      columns: ["Check", "Result", "Found", "What to do"],
      rows: findings.map(({ check, result, found, next }) => [check, result, found, next || "–"]),
    });
    return findings.some(({ result }) => result === "wrong") ? 1 : 0;
  },
});
