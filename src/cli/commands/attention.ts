// `holdfast attention` and `holdfast attention snooze`.

import * as attention from "@holdfast/client/api/attention";
import { showTime } from "@holdfast/shared/text/time";
import { DR_TOKEN_FLAG, DR_TOKEN_HELP, readingClient } from "../replication/operation-secret.ts";
import { command } from "../command.ts";
import { argument } from "../line/argument.ts";
import { flag } from "../line/flag.ts";
import { UsageError } from "../line/usage-error.ts";

const SEVERITIES = ["act", "soon", "note"] as const;
type Severity = (typeof SEVERITIES)[number];
type Item = attention.ReadAttentionAnswer["items"][number];

// Apart from 1, for pipelines: the server answers, and something is the matter.
const FAILED = 2;

export const attentionShow = command({
  name: "attention",
  summary: "Show what needs attention on the server, and what to do about it",
  description:
    "act: now. soon: before it hurts. note: to be known. With -fail-on the exit code is 2 when there is " +
    "something of that severity or above that was not put off, or when a check could not be made. " +
    DR_TOKEN_HELP,
  examples: [
    "holdfast attention",
    "holdfast attention -fail-on act",
    "holdfast attention -format json",
    "holdfast attention -dr-token dr-token",
  ],
  flags: { failOn: flag.oneOf(SEVERITIES, "Exit code 2 from this severity on"), ...DR_TOKEN_FLAG },
  args: {},
  async run(context, { failOn, drToken }) {
    const { out, settings } = context;
    const { data } = await attention.readAttention(await readingClient(context, drToken));
    const { items, complete } = data;
    if (items.length > 0 || !out.forPeople) {
      const rows = items.map(rowOf);
      const columns = ["Severity", "Code", "Subject", "Since", "What is the matter", "What to do"];
      await out.show(data, { columns, rows, unbroken: ["What to do"] });
      const { address } = settings.chosen;
      if (out.forPeople && address !== null) {
        out.hint(`Commands that are named here are for this server: with -address ${address}.`);
      }
    }
    if (!complete) out.warn("a check could not be made: this is not all there is to know");
    else if (items.length === 0) out.hint("Nothing needs attention.");
    return failOn !== undefined && (!complete || items.some((item) => counts(item, failOn)))
      ? FAILED
      : 0;
  },
});

export const attentionSnooze = command({
  name: "attention snooze",
  summary: "Put off something that needs attention",
  description:
    "It is still shown, and fails no pipeline until then. What has to be acted on now cannot be put off.",
  examples: ["holdfast attention snooze -for 72h -reason 'second disk is ordered' audit.single"],
  flags: {
    for: flag.duration("For how long: 30 days at most"),
    reason: flag.string("Why", "TEXT"),
    subject: flag.string("What it is about, as `holdfast attention` shows it", "SUBJECT"),
  },
  args: { code: argument.required("What it is, as `holdfast attention` shows it") },
  async run({ client, out, clock }, { for: length, reason, subject, code }) {
    if (length === undefined) throw new UsageError("-for is missing: for how long, such as 72h");
    if (reason === undefined)
      throw new UsageError("-reason is missing: whoever comes next wants to know");
    const until = showTime(clock.now() + length);
    await attention.snoozeAttention(client, {
      code,
      until,
      reason,
      ...(subject === undefined ? {} : { subject }),
    });
    out.done(`Success! Put off until ${until}: ${code}`);
  },
});

export function counts({ severity, snoozed_until: snoozed }: Item, from: Severity): boolean {
  return snoozed === null && SEVERITIES.indexOf(severity) <= SEVERITIES.indexOf(from);
}

function rowOf(item: Item) {
  const { severity, code, since, text, remedy, snoozed_until: until } = item;
  const subject = item.subject === null ? "(not shown to you)" : item.subject || "–";
  const place = item.namespace === "" ? subject : `${item.namespace}/ ${subject}`;
  const put = until === null ? text : `${text} (put off until ${until}: ${item.snooze_reason})`;
  return [severity, code, place, since, put, remedy];
}
