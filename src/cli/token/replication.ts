// `holdfast acl replication status`: whether global tokens and policies come from another region.

import * as tokens from "@holdfast/client/api/tokens";
import { command } from "../command.ts";
import { plainTime } from "../terminal/relative-time.ts";
import { NONE } from "../terminal/value.ts";

export const aclReplicationStatus = command({
  name: "acl replication status",
  summary: "Show whether global tokens and policies come from another region",
  description:
    "That they do is told to anybody; from where, how far and what went wrong last to management tokens. What the cluster is among others: `holdfast replication status`.",
  examples: ["holdfast acl replication status", "holdfast acl replication status -region a"],
  flags: {},
  args: {},
  takesRegion: () => true,
  async run({ openly, out, clock }) {
    const { data } = await tokens.readAclReplication(openly);
    const { Enabled: isEnabled, Running: runs, SourceRegion: region, ...rest } = data;
    const now = clock.now();
    const time = (text: string | null | undefined) =>
      text === null || text === undefined ? NONE : plainTime(text, now);
    await out.show(data, {
      pairs: [
        ["Enabled", isEnabled ? "yes" : "no: this region is the authoritative one"],
        ["Running", runs ? "yes" : "no"],
        ...(region === undefined
          ? []
          : [
              ["Source Region", region || NONE] as const,
              ["Policy Index", rest.ReplicatedPolicyIndex] as const,
              ["Token Index", rest.ReplicatedTokenIndex] as const,
              ["Last Success", time(rest.LastSuccess)] as const,
              ["Last Error", time(rest.LastError)] as const,
              ["Error", rest.LastErrorMessage || NONE] as const,
            ]),
      ],
    });
  },
});
