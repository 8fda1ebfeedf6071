// Plugins that run as processes of their own: what they cost when they start, at each request and at rest, and whom they hold up.

import type { Row } from "../row.ts";
import { memory, unused } from "./memory.ts";
import { others } from "./others.ts";
import { largeAnswers, LONGEST, overhead, transactions } from "./requests.ts";
import { starts } from "./start.ts";

export const pluginRows: readonly Row[] = [
  {
    name: "plugins/start",
    what: "a plugin of our SDK, one file: from its start until it is well",
    unit: "ms",
    budget: { atMost: 350 },
    run: starts,
  },
  {
    name: "plugins/request",
    what: "server's processor time for a request to a plugin above that of a built-in read, 16 clients",
    unit: "µs",
    budget: { atMost: 400 },
    run: overhead,
  },
  {
    name: "plugins/transactions",
    what: "transactions of a plugin of our SDK, each on a key of its own, 16 clients",
    unit: "/s",
    budget: { atLeast: 700 },
    run: transactions,
  },
  {
    name: "plugins/answers",
    what: "longest block of the event loop by answers of 4 MB",
    unit: "ms",
    budget: LONGEST,
    run: largeAnswers,
  },
  {
    name: "plugins/memory",
    what: "RSS of a plugin of our SDK at rest",
    unit: "MB",
    budget: { atMost: 75 },
    run: memory,
  },
  {
    name: "plugins/unused",
    what: "more RSS 2 s after the start, with a catalog of plugins and none at work",
    unit: "MB",
    budget: { atMost: 3 },
    run: unused,
  },
  {
    name: "plugins/others",
    what: "p99 of a built-in read, 200/s, while a plugin floods its log",
    unit: "ms",
    run: others,
  },
];
